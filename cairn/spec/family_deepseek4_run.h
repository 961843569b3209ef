// What DeepSeek V4 computes, beyond what it keeps: rotations, routers, residual streams.
//
// Included by family_deepseek4.cc only.
#ifndef CAIRN_SPEC_FAMILY_DEEPSEEK4_RUN_H_
#define CAIRN_SPEC_FAMILY_DEEPSEEK4_RUN_H_

#include "cairn/base/status.h"
#include "cairn/spec/decoder_shape.h"
#include "cairn/spec/model_spec.h"

namespace cairn {

// Completes a model that is described for sizing; an error says what can't be run.
Status DescribeDeepSeekV4Run(const ConfigSource& source, ModelSpec& model);

}  // namespace cairn

#endif  // CAIRN_SPEC_FAMILY_DEEPSEEK4_RUN_H_
