// Rows of consecutive tokens in a larger array: how recurrences are handed their inputs.
#ifndef CAIRN_KERNELS_TOKEN_ROWS_H_
#define CAIRN_KERNELS_TOKEN_ROWS_H_

#include <cstdint>

namespace cairn {

// Row t begins `stride` floats after row t - 1; with stride 0 every token has the same row.
struct TokenRows {
  const float* first = nullptr;
  int64_t stride = 0;

  const float* Row(int64_t token) const { return first + token * stride; }
};

struct MutableTokenRows {
  float* first = nullptr;
  int64_t stride = 0;

  float* Row(int64_t token) const { return first + token * stride; }
};

}  // namespace cairn

#endif  // CAIRN_KERNELS_TOKEN_ROWS_H_
