#include "cairn/base/claim_ranges.h"

#include "cairn/base/check.h"

namespace cairn {
namespace {

constexpr uint64_t kFirstMask = 0xFFFFFFFFu;

uint64_t First(uint64_t ends) { return ends & kFirstMask; }
uint64_t End(uint64_t ends) { return ends >> 32; }
uint64_t Left(uint64_t ends) { return End(ends) - First(ends); }

}  // namespace

void ClaimRanges::Reset(int64_t count, int threads) {
  CAIRN_CHECK(count >= 0 && count <= static_cast<int64_t>(kFirstMask) && threads >= 1);
  if (threads > capacity_) {
    ranges_ = std::make_unique<Range[]>(static_cast<size_t>(threads));
    capacity_ = threads;
  }
  threads_ = threads;
  for (int thread = 0; thread < threads; ++thread) {
    const auto first = static_cast<uint64_t>(count * thread / threads);
    const auto end = static_cast<uint64_t>(count * (thread + 1) / threads);
    ranges_[static_cast<size_t>(thread)].ends.store(first | (end << 32), std::memory_order_relaxed);
  }
}

bool ClaimRanges::TakeFirst(Range& range, int64_t& index) {
  uint64_t ends = range.ends.load(std::memory_order_relaxed);
  while (Left(ends) > 0) {
    if (range.ends.compare_exchange_weak(ends, ends + 1, std::memory_order_relaxed)) {
      index = static_cast<int64_t>(First(ends));
      return true;
    }
  }
  return false;
}

bool ClaimRanges::StealLast(int64_t& index) {
  Range* richest = nullptr;
  uint64_t most = 0;
  for (int thread = 0; thread < threads_; ++thread) {
    Range& range = ranges_[static_cast<size_t>(thread)];
    const uint64_t left = Left(range.ends.load(std::memory_order_relaxed));
    if (left <= most) continue;
    most = left;
    richest = &range;
  }
  if (richest == nullptr) return false;
  uint64_t ends = richest->ends.load(std::memory_order_relaxed);
  while (Left(ends) > 0) {
    const uint64_t shorter = ends - (uint64_t{1} << 32);
    if (richest->ends.compare_exchange_weak(ends, shorter, std::memory_order_relaxed)) {
      index = static_cast<int64_t>(End(shorter));
      return true;
    }
  }
  return false;
}

int64_t ClaimRanges::Claim(int thread) {
  CAIRN_DCHECK(thread >= 0 && thread < threads_);
  int64_t index = 0;
  if (TakeFirst(ranges_[static_cast<size_t>(thread)], index)) return index;
  // Whoever took the last index of the richest made another the richest; one is left somewhere, for
  // there are as many claims as indices.
  while (!StealLast(index)) {
  }
  return index;
}

}  // namespace cairn
