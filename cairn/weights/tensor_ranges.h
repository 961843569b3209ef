// The arithmetic of tensors in files, with every overflow seen. Pure functions; thread-safe.
#ifndef CAIRN_WEIGHTS_TENSOR_RANGES_H_
#define CAIRN_WEIGHTS_TENSOR_RANGES_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cairn/base/dtype.h"
#include "cairn/base/status.h"

namespace cairn {

// The product of the sizes, 1 for none; absent above 2^63 - 1. REQUIRES: sizes >= 0.
std::optional<int64_t> ElementsOf(std::span<const int64_t> shape);

// Absent above 2^63 - 1. REQUIRES: elements is a multiple of the dtype's block.
std::optional<uint64_t> BytesIn(DType dtype, int64_t elements);

// Bytes [begin, end) of a file belong to the tensor.
struct TensorRange {
  std::string_view name;
  uint64_t begin = 0;
  uint64_t end = 0;
};

// An error names two tensors that share bytes.
Status CheckNoOverlap(std::vector<TensorRange> ranges, const std::string& where);

}  // namespace cairn

#endif  // CAIRN_WEIGHTS_TENSOR_RANGES_H_
