// The selective scan of Mamba 1: a state of `state_width` numbers for each channel.
//
// Per token, channel c and state element n, with step = steps[c] (after softplus):
//   S[n][c] = fma(B[n], step * x[c], exp(step * A[n][c]) * S[n][c])
//   out[c] = fma(skip[c], x[c], sum over n of C[n] * S[n][c])
// the sum from n = 0 upwards with one rounding a step, so that any split of a run into calls and of
// the channels into tasks gives the same bits. Subnormal numbers count as zero. Thread-safe for
// disjoint channels.
#ifndef CAIRN_KERNELS_SELECTIVE_SCAN_H_
#define CAIRN_KERNELS_SELECTIVE_SCAN_H_

#include <cstdint>

#include "cairn/kernels/token_rows.h"

namespace cairn {

// Some or all channels of one sequence; the pointers are at the first of them. State and A are the
// transposes of the [channels][state] that others keep.
struct SelectiveScanTask {
  int64_t channels = 0;
  int64_t state_width = 0;
  int64_t channel_stride = 0;    // floats between rows of the state and of A: all channels
  float* state = nullptr;        // [state_width][channel_stride]
  const float* rates = nullptr;  // A, negative: [state_width][channel_stride]
  const float* skip = nullptr;   // D: [channels]
  TokenRows inputs = {};         // x: [channels]
  TokenRows steps = {};          // [channels]
  TokenRows input_keys = {};     // B: [state_width]
  TokenRows output_keys = {};    // C: [state_width]
  MutableTokenRows out = {};     // may be the inputs
};

void SelectiveScan(const SelectiveScanTask& task, int64_t tokens);

}  // namespace cairn

#endif  // CAIRN_KERNELS_SELECTIVE_SCAN_H_
