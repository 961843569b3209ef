// Recurrences that add k v^T to a decayed matrix and read it with a query, token after token.
//
// One call moves one head through a run of tokens; heads are independent. The state is
// [key_width][value_width]. Per token, channel i of the keys and column j of the values:
//   S[i][j] = fma(k[i], v[j], decay * S[i][j]);  out[j] = sum over i of q[i] * S[i][j],
// the sum from i = 0 upwards with one rounding a step, so that any split of a run into calls and
// of the columns into vectors gives the same bits. Subnormal numbers count as zero. Thread-safe.
#ifndef CAIRN_KERNELS_LINEAR_ATTENTION_H_
#define CAIRN_KERNELS_LINEAR_ATTENTION_H_

#include <cstdint>

#include "cairn/kernels/token_rows.h"

namespace cairn {

enum class DecayWidth : uint8_t {
  kHead,     // one factor for the whole matrix
  kChannel,  // one for each channel of the keys
};

// Lightning attention and retention keep one decay for all tokens (stride 0), gated linear
// attention a channel's each.
//
// Mamba 2 (SSD) is this too: keys are B, queries C (of the head's group), values x, value_scales
// the step widths, decays exp(step * A), skip is D. Its state is the transpose of the
// [head_dim][state] that others keep.
struct LinearAttentionHead {
  int64_t key_width = 0;
  int64_t value_width = 0;
  float* state = nullptr;
  TokenRows queries = {};
  TokenRows keys = {};
  TokenRows values = {};
  DecayWidth decay_width = DecayWidth::kHead;
  TokenRows decays = {};  // factors in [0, 1], not their logarithms
  TokenRows value_scales =
      {};          // null: 1; one number that multiplies a token's values before they enter
  float skip = 0;  // out[j] += skip * v[j], of the values before their scale
  MutableTokenRows out = {};
};

void LinearAttention(const LinearAttentionHead& head, int64_t tokens);

// RWKV 5 and 6: a token reads the state before it is added, plus its own k v^T times a bonus:
//   out[j] = sum over i of r[i] * (S[i][j] + bonus[i] k[i] v[j]);  S[i][j] = decay[i] S[i][j] + k v
// Version 5's decays are the same for all tokens (stride 0).
struct Wkv6Head {
  int64_t key_width = 0;
  int64_t value_width = 0;
  float* state = nullptr;      // [key_width][value_width]
  TokenRows receptances = {};  // [key_width]
  TokenRows keys = {};
  TokenRows values = {};
  TokenRows decays = {};         // [key_width]
  const float* bonus = nullptr;  // [key_width]
  MutableTokenRows out = {};
};

void Wkv6(const Wkv6Head& head, int64_t tokens);

// exp(-slope) of lightning attention; slope = 2^(-8 (head + 1) / heads) times a factor that falls
// from 1 in the first layer to near 0 in the last.
float LightningDecay(int64_t head, int64_t heads, int64_t layer, int64_t layers);

// 1 - 2^(-5 - head) of retention.
float RetentionDecay(int64_t head);

}  // namespace cairn

#endif  // CAIRN_KERNELS_LINEAR_ATTENTION_H_
