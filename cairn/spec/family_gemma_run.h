// What Gemma 3n and 4 compute, beyond what they keep: rotations, networks, inputs of each layer.
//
// Included by family_gemma4.cc only.
#ifndef CAIRN_SPEC_FAMILY_GEMMA_RUN_H_
#define CAIRN_SPEC_FAMILY_GEMMA_RUN_H_

#include "cairn/base/status.h"
#include "cairn/spec/decoder_shape.h"
#include "cairn/spec/model_spec.h"

namespace cairn {

// Both complete a model that is described for sizing; an error says what can't be run.
Status DescribeGemma3nRun(const ConfigSource& source, ModelSpec& model);
Status DescribeGemma4Run(const ConfigSource& source, ModelSpec& model);

}  // namespace cairn

#endif  // CAIRN_SPEC_FAMILY_GEMMA_RUN_H_
