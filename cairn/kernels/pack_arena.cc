#include "cairn/kernels/pack_arena.h"

#include <algorithm>

#include "cairn/base/check.h"

namespace cairn {
namespace {

// Sixteen huge pages; what the last matrix of a chunk leaves over is never touched.
constexpr size_t kChunkBytes = size_t{32} << 20;

}  // namespace

std::byte* PackArena::Allocate(int64_t bytes) {
  CAIRN_CHECK(bytes > 0);
  const size_t rounded = (static_cast<size_t>(bytes) + AlignedBuffer::kAlignment - 1) /
                         AlignedBuffer::kAlignment * AlignedBuffer::kAlignment;
  if (chunks_.empty() || chunks_.back().size() - used_ < rounded) {
    chunks_.emplace_back(std::max(kChunkBytes, rounded));
    chunks_.back().PreferHugePages();
    used_ = 0;
  }
  std::byte* data = chunks_.back().data() + used_;
  used_ += rounded;
  return data;
}

}  // namespace cairn
