// Stored number formats: plain floats and integers, the block formats of GGUF, and Lloyd-Max codes.
//
// A block format stores `block_elements` consecutive elements in `block_bytes` bytes. Lloyd-Max
// codes (lm2 to lm5, cairn/kernels/lloyd_max.h) have one scale for a whole row besides: how many
// bytes they take depends on rows, not only on elements. This table is the only place that knows
// these sizes. Thread safety: constant data.
#ifndef CAIRN_BASE_DTYPE_H_
#define CAIRN_BASE_DTYPE_H_

#include <cstdint>
#include <optional>
#include <string_view>

#include "cairn/base/ids.h"

namespace cairn {

enum class DType : uint8_t {
  kF32,
  kF16,
  kBF16,
  kQ8_0,
  kQ4_0,
  kQ4_1,
  kQ5_0,
  kQ5_1,
  kQ2_K,
  kQ3_K,
  kQ4_K,
  kQ5_K,
  kQ6_K,
  kIQ4_NL,
  kI32,
  kI64,
  kI8,
  kU8,
  kF8E4M3,
  kLM2,
  kLM3,
  kLM4,
  kLM5,
};

inline constexpr int kDTypeCount = static_cast<int>(DType::kLM5) + 1;

struct DTypeInfo {
  std::string_view name;  // lower case: "f32", "q4_k"
  int block_elements;
  int block_bytes;
  int row_bytes = 0;  // of every row, besides its blocks
};

const DTypeInfo& InfoOf(DType dtype);

// REQUIRES: elements is a multiple of the format's block, and rows have no bytes besides blocks.
Bytes BytesOf(DType dtype, ElementCount elements);

// One row of `width` elements in any format. REQUIRES: width is a multiple of the format's block.
Bytes RowBytesOf(DType dtype, int64_t width);

// Case-insensitive: "f16", "F16", "Q4_K".
std::optional<DType> DTypeFromName(std::string_view name);

}  // namespace cairn

#endif  // CAIRN_BASE_DTYPE_H_
