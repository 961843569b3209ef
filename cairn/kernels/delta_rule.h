// Recurrences that correct a matrix by its own prediction: the gated delta rule and RWKV 7.
//
// One call moves one head through a run of tokens; heads are independent. The state is
// [key_width][value_width]; sums over the keys run from channel 0 upwards with one rounding a
// step, so that any split of a run into calls and of the columns into vectors gives the same bits.
// Subnormal numbers count as zero. Thread-safe.
#ifndef CAIRN_KERNELS_DELTA_RULE_H_
#define CAIRN_KERNELS_DELTA_RULE_H_

#include <cstdint>

#include "cairn/kernels/linear_attention.h"
#include "cairn/kernels/token_rows.h"

namespace cairn {

// Gated DeltaNet (a decay for each head) and KDA (one for each channel of the keys). Per token:
//   S = decay * S;  delta = beta (v - S^T k);  S = S + k delta^T;  out = S^T q
// The caller normalizes queries and keys and scales the queries. Value head h of a model reads
// the queries and keys of key head h / (value_heads / key_heads).
struct DeltaRuleHead {
  int64_t key_width = 0;
  int64_t value_width = 0;
  float* state = nullptr;
  TokenRows queries = {};
  TokenRows keys = {};
  TokenRows values = {};
  TokenRows betas = {};  // one number a token
  DecayWidth decay_width = DecayWidth::kHead;
  TokenRows decays = {};  // factors in [0, 1], not their logarithms
  MutableTokenRows out = {};
};

void DeltaRule(const DeltaRuleHead& head, int64_t tokens);

// RWKV 7. Per token, with removal key kk (of length 1) and learning rate a:
//   removed = S^T kk;  S = diag(decay) S - (kk * a) removed^T + k v^T;  out = S^T r
// The prediction is taken before the decay, unlike the delta rule's. The state is the transpose of
// the [value][key] that others keep.
struct Wkv7Head {
  int64_t key_width = 0;
  int64_t value_width = 0;
  float* state = nullptr;
  TokenRows receptances = {};
  TokenRows keys = {};  // replacement keys
  TokenRows values = {};
  TokenRows decays = {};        // [key_width], factors
  TokenRows removal_keys = {};  // [key_width]
  TokenRows rates = {};         // [key_width]
  MutableTokenRows out = {};
};

void Wkv7(const Wkv7Head& head, int64_t tokens);

}  // namespace cairn

#endif  // CAIRN_KERNELS_DELTA_RULE_H_
