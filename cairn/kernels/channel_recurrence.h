// Recurrences whose channels are independent: RWKV 4's weighted average and the RG-LRU of Griffin.
//
// Any split of a run into calls and of the channels into tasks gives the same bits. Subnormal
// numbers count as zero. Thread-safe for disjoint channels.
#ifndef CAIRN_KERNELS_CHANNEL_RECURRENCE_H_
#define CAIRN_KERNELS_CHANNEL_RECURRENCE_H_

#include <cstdint>

#include "cairn/kernels/token_rows.h"

namespace cairn {

// What RWKV 4's largest exponent is before the first token; numerator and denominator are 0.
inline constexpr float kWkv4EmptyExponent = -1e38f;

// The average of all values so far, weighted by exp(key) and decayed, the token's own weight times
// exp(bonus); sums are kept divided by exp(max_exponent). The pointers are at the first of the
// task's channels.
struct Wkv4Task {
  int64_t channels = 0;
  float* numerator = nullptr;
  float* denominator = nullptr;
  float* max_exponent = nullptr;
  const float* decay = nullptr;  // logarithm of a step's decay: -exp(time_decay)
  const float* bonus = nullptr;  // time_first
  TokenRows keys = {};
  TokenRows values = {};
  MutableTokenRows out = {};  // may be the keys or the values
};

void Wkv4(const Wkv4Task& task, int64_t tokens);

// Per token and channel, with gates r and i before their sigmoids:
//   log a = rate * sigmoid(r);  h = a h + sqrt(1 - a^2) * sigmoid(i) * x;  out = h
// The first token of a sequence enters unscaled: h = sigmoid(i) * x.
struct RgLruTask {
  int64_t channels = 0;
  float* state = nullptr;
  const float* rates = nullptr;  // -8 * softplus(Lambda)
  TokenRows inputs = {};
  TokenRows input_gates = {};
  TokenRows recurrence_gates = {};
  MutableTokenRows out = {};     // may be the inputs
  bool starts_sequence = false;  // the first token of this call is at position 0
};

void RgLru(const RgLruTask& task, int64_t tokens);

}  // namespace cairn

#endif  // CAIRN_KERNELS_CHANNEL_RECURRENCE_H_
