#include "cairn/base/claim_ranges.h"

#include <algorithm>

#include "cairn/base/check.h"

namespace cairn {
namespace {

constexpr uint64_t kFirstMask = 0xFFFFFFFFu;

uint64_t First(uint64_t ends) { return ends & kFirstMask; }
uint64_t End(uint64_t ends) { return ends >> 32; }
uint64_t Left(uint64_t ends) { return End(ends) - First(ends); }

}  // namespace

void ClaimRanges::Reset(int64_t count, int threads, int owners) {
  CAIRN_CHECK(count >= 0 && count <= static_cast<int64_t>(kFirstMask));
  CAIRN_CHECK(owners >= 1 && owners <= threads);
  if (threads > capacity_) {
    ranges_ = std::make_unique<Range[]>(static_cast<size_t>(threads));
    capacity_ = threads;
  }
  threads_ = threads;
  for (int thread = 0; thread < threads; ++thread) {
    const auto first = static_cast<uint64_t>(count * std::min(thread, owners) / owners);
    const auto end = static_cast<uint64_t>(count * std::min(thread + 1, owners) / owners);
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

// Takes the later half of the longest range as the thread's own, whose range is empty: nobody else
// writes to it until it is stored. No index ever comes back, so a range's ends don't either.
bool ClaimRanges::StealHalf(int thread, int64_t& index) {
  Range* longest = nullptr;
  uint64_t most = 0;
  for (int other = 0; other < threads_; ++other) {
    Range& range = ranges_[static_cast<size_t>(other)];
    const uint64_t left = Left(range.ends.load(std::memory_order_relaxed));
    if (left <= most) continue;
    most = left;
    longest = &range;
  }
  if (longest == nullptr) return false;
  uint64_t ends = longest->ends.load(std::memory_order_relaxed);
  while (Left(ends) > 0) {
    const uint64_t middle = First(ends) + Left(ends) / 2;
    if (longest->ends.compare_exchange_weak(ends, First(ends) | (middle << 32),
                                            std::memory_order_relaxed)) {
      index = static_cast<int64_t>(middle);
      Range& own = ranges_[static_cast<size_t>(thread)];
      own.ends.store((middle + 1) | (End(ends) << 32), std::memory_order_relaxed);
      return true;
    }
  }
  return false;
}

int64_t ClaimRanges::Claim(int thread) {
  CAIRN_DCHECK(thread >= 0 && thread < threads_);
  int64_t index = 0;
  if (TakeFirst(ranges_[static_cast<size_t>(thread)], index)) return index;
  // Whoever took the longest range's last index made another the longest; one is left somewhere,
  // for there are as many claims as indices.
  while (!StealHalf(thread, index)) {
  }
  return index;
}

}  // namespace cairn
