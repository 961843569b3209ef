// Stored number formats: plain floats and integers, and the block formats of GGUF.
//
// A block format stores `block_elements` consecutive elements in `block_bytes` bytes. This table is
// the only place that knows these sizes. Thread safety: constant data.
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
};

inline constexpr int kDTypeCount = static_cast<int>(DType::kF8E4M3) + 1;

struct DTypeInfo {
  std::string_view name;  // lower case: "f32", "q4_k"
  int block_elements;
  int block_bytes;
};

const DTypeInfo& InfoOf(DType dtype);

// REQUIRES: elements is a multiple of the format's block.
Bytes BytesOf(DType dtype, ElementCount elements);

// Case-insensitive: "f16", "F16", "Q4_K".
std::optional<DType> DTypeFromName(std::string_view name);

}  // namespace cairn

#endif  // CAIRN_BASE_DTYPE_H_
