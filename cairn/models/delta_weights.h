// The tensors of a gated delta rule: Gated DeltaNet in its packed and separate spellings, and KDA.
//
// Immutable after loading; thread-safe.
#ifndef CAIRN_MODELS_DELTA_WEIGHTS_H_
#define CAIRN_MODELS_DELTA_WEIGHTS_H_

#include <string_view>
#include <vector>

#include "cairn/models/linear.h"
#include "cairn/models/tensor_loader.h"
#include "cairn/spec/model_spec.h"

namespace cairn {

// A projection at once, or through fewer channels.
struct LowRankLinear {
  Linear down;  // [rank, input]; empty: `up` reads the input
  Linear up;
};

struct DeltaWeights {
  Linear query;  // [key_heads * key_width, hidden]
  Linear key;
  Linear value;                    // [value_heads * value_width, hidden]
  LowRankLinear gate;              // [value_heads * value_width]
  LowRankLinear decay;             // [value_heads], or a channel of the keys each
  Linear beta;                     // [value_heads, hidden]
  Linear output;                   // [hidden, value_heads * value_width]
  std::vector<float> conv;         // [kernel][queries, keys and values]
  std::vector<float> step_bias;    // as wide as decay
  std::vector<float> rates;        // [value_heads]: -exp(A_log), or exp(A_log) of a bounded decay
  std::vector<float> norm;         // [value_width]
  bool key_heads_in_turn = false;  // as in FamilyTensors

  static Result<DeltaWeights> Load(const PartLoader& loader, const DeltaRuleSpec& spec);
};

}  // namespace cairn

#endif  // CAIRN_MODELS_DELTA_WEIGHTS_H_
