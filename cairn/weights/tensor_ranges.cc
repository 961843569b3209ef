#include "cairn/weights/tensor_ranges.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "cairn/base/check.h"
#include "cairn/spec/quoted.h"

namespace cairn {

std::optional<int64_t> ElementsOf(std::span<const int64_t> shape) {
  int64_t elements = 1;
  for (const int64_t size : shape) {
    CAIRN_CHECK(size >= 0);
    if (size != 0 && elements > std::numeric_limits<int64_t>::max() / size) return std::nullopt;
    elements *= size;
  }
  return elements;
}

std::optional<uint64_t> BytesIn(DType dtype, int64_t elements) {
  const DTypeInfo& info = InfoOf(dtype);
  CAIRN_CHECK(elements % info.block_elements == 0);
  const int64_t blocks = elements / info.block_elements;
  if (blocks > std::numeric_limits<int64_t>::max() / info.block_bytes) return std::nullopt;
  return static_cast<uint64_t>(BytesOf(dtype, ElementCount(elements)).value());
}

Status CheckNoOverlap(std::vector<TensorRange> ranges, const std::string& where) {
  std::erase_if(ranges, [](const TensorRange& range) { return range.begin == range.end; });
  std::ranges::sort(ranges, [](const TensorRange& a, const TensorRange& b) {
    return std::pair(a.begin, a.name) < std::pair(b.begin, b.name);
  });
  for (size_t i = 1; i < ranges.size(); ++i) {
    if (ranges[i].begin < ranges[i - 1].end) {
      return Fail(ErrorCode::kCorrupt, "{}: tensors {} and {} overlap", where,
                  Quoted(ranges[i - 1].name), Quoted(ranges[i].name));
    }
  }
  return {};
}

}  // namespace cairn
