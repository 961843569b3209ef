// The mean of consecutive stored rows, as sparse attention scores a block of keys (Qwen 4).
//
// Rows are added one after the other, from the first to the last, then scaled: the same bits
// however many were stored since. Thread-safe.
#ifndef CAIRN_KERNELS_MEAN_OF_ROWS_H_
#define CAIRN_KERNELS_MEAN_OF_ROWS_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "cairn/base/dtype.h"

namespace cairn {

// Row r lies in block r / 16 of the table, in a row-major tile [16][width] at byte `offset`.
struct StoredRows {
  std::span<std::byte* const> blocks;
  int64_t first_block = 0;
  int64_t offset = 0;
  int64_t width = 0;
  DType codec = DType::kF16;
};

// out = the mean of rows [first, first + count). `room` has place for a row.
void MeanOfRows(const StoredRows& rows, int64_t first, int64_t count, float* room, float* out);

}  // namespace cairn

#endif  // CAIRN_KERNELS_MEAN_OF_ROWS_H_
