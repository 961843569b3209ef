// What of the models that can be described can also be run.
//
// A model may be sized from its config long before there are kernels for its layers. Pure function;
// thread-safe.
#ifndef CAIRN_MODELS_RUNNABLE_H_
#define CAIRN_MODELS_RUNNABLE_H_

#include "cairn/base/status.h"
#include "cairn/spec/model_spec.h"

namespace cairn {

// kUnsupported, naming the first layer or the property that isn't there yet.
Status CheckRunnable(const ModelSpec& model);

}  // namespace cairn

#endif  // CAIRN_MODELS_RUNNABLE_H_
