// One row of several: in each channel a mean of the rows, weighed by a softmax over them.
//
// Sums run over the rows in order, each channel by itself: no thread, cut or instruction set
// changes a bit. Thread-safe.
#ifndef CAIRN_KERNELS_POOLED_ROW_H_
#define CAIRN_KERNELS_POOLED_ROW_H_

#include <cstdint>

namespace cairn {

struct RowsToPool {
  int64_t count = 0;              // at least 1
  int64_t width = 0;              // channels
  int64_t stride = 0;             // floats from a row to the next one, values and gates alike
  const float* values = nullptr;  // [count][stride], of which `width` are read
  const float* gates = nullptr;   // the same: what the softmax is of
  const float* bias = nullptr;    // of the gates, [count] rows `bias_stride` apart; null: none
  int64_t bias_stride = 0;
};

// out[c] = sum over rows r of softmax over rows(gates[r][c] + bias[r][c]) * values[r][c]. With one
// row that is the row. `out` has `width` floats, outside of the rows.
void PooledRow(const RowsToPool& rows, float* out);

}  // namespace cairn

#endif  // CAIRN_KERNELS_POOLED_ROW_H_
