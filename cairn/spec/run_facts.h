// What a model computes besides what it keeps, for families that are described for sizing first.
//
// Sizing must not depend on it: where a file says something that can't be run, the model stays one
// that can be sized, with the reason. Pure functions; thread-safe.
#ifndef CAIRN_SPEC_RUN_FACTS_H_
#define CAIRN_SPEC_RUN_FACTS_H_

#include <string_view>

#include "cairn/base/status.h"
#include "cairn/spec/decoder_shape.h"
#include "cairn/spec/model_spec.h"
#include "cairn/spec/rope.h"

namespace cairn {

// Class defaults and spellings of a family.
struct RunFacts {
  double rope_base = 10000;
  RopePairs pairs = RopePairs::kHalfSplit;
  bool partial_rotation = false;  // partial_rotary_factor means something
  double rotated_part = 1;        // where the file names no partial_rotary_factor
  bool rotates = true;
  double norm_epsilon = 1e-6;
  std::string_view norm_key = "rms_norm_eps";
  std::string_view activation_key = "hidden_act";  // empty: the family has one of its own
  std::string_view activation = "silu";            // without the key
  bool bounded = true;                             // the file must name a context length
};

// What most decoders have in common: epsilon, rotation and scale of attention, activations,
// norm_topk_prob. Says that the model can be run.
Status DescribeDecoder(const ConfigSource& source, const RunFacts& facts, ModelSpec& model);

using DescribeRun = Status (*)(const ConfigSource& source, ModelSpec& model);
// What is sized, with what `describe` adds; where that fails, sized only, for that reason.
Result<ModelSpec> WithRun(const ConfigSource& source, Result<ModelSpec> sized,
                          DescribeRun describe);

// A row of sized_families.h that can be run as well.
template <Result<ModelSpec> (*sized)(const ConfigSource&), DescribeRun describe>
Result<ModelSpec> Runs(const ConfigSource& source) {
  return WithRun(source, sized(source), describe);
}

}  // namespace cairn

#endif  // CAIRN_SPEC_RUN_FACTS_H_
