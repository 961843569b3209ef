// Whether a request can be answered at all, whoever else is there: before it waits for anything.
#ifndef CAIRN_ENGINE_CHECK_REQUEST_H_
#define CAIRN_ENGINE_CHECK_REQUEST_H_

#include "cairn/base/status.h"
#include "cairn/engine/engine.h"
#include "cairn/spec/model_spec.h"

namespace cairn {

// kInvalidArgument with what is out of range.
Status CheckRequest(const GenerationRequest& request, const ModelSpec& spec, TokenCount context);

}  // namespace cairn

#endif  // CAIRN_ENGINE_CHECK_REQUEST_H_
