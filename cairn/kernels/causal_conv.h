// Depthwise causal convolution over tokens, as recurrent mixers put before their state.
//
// Per token t and channel c, from the oldest input to the token's own, one rounding a step:
//   out[t][c] = bias[c] + sum over k of weights[k][c] * input[t - (kernel - 1 - k) * dilation][c]
// Inputs of earlier calls come from the tail: the last (kernel - 1) * dilation rows, oldest first.
// Any split of a run into calls gives the same bits. Subnormal numbers count as zero. Thread-safe
// for disjoint channels.
#ifndef CAIRN_KERNELS_CAUSAL_CONV_H_
#define CAIRN_KERNELS_CAUSAL_CONV_H_

#include <cstdint>

#include "cairn/kernels/token_rows.h"

namespace cairn {

enum class ConvActivation : uint8_t { kNone, kSilu };

// Some or all channels of one sequence; the pointers are at the first of them.
struct CausalConvTask {
  int64_t channels = 0;
  int64_t kernel = 0;
  int64_t dilation = 1;
  int64_t channel_stride = 0;      // floats between rows of weights and of the tail: all channels
  const float* weights = nullptr;  // [kernel][channel_stride]: the transpose of what files hold
  const float* bias = nullptr;     // null: none
  ConvActivation activation = ConvActivation::kNone;
  float* tail = nullptr;  // [(kernel - 1) * dilation][channel_stride], zeros at the start
  TokenRows inputs = {};
  MutableTokenRows out = {};  // must not overlap the inputs
};

// Moves the tail on. A tail that is stored in fewer bits needs inputs rounded to them beforehand.
void CausalConv(const CausalConvTask& task, int64_t tokens);

}  // namespace cairn

#endif  // CAIRN_KERNELS_CAUSAL_CONV_H_
