// ClaimRanges: the indices of a parallel loop, shared out so that each thread walks one range.
//
// Memory that is read ahead, or that a core has just written, serves the thread that goes on there.
// Every thread owns a range of neighbouring indices and takes them in order; one that has no more
// makes the later half of the longest range its own, so a thread without a core holds nobody up,
// and what it leaves is walked in order, too.
//
// Used inside ThreadPool::ParallelFor(count, body): each call of the body claims one index in place
// of the one it was given. Thread safety: Claim by many threads at once; Reset by one, while nobody
// claims.
#ifndef CAIRN_BASE_CLAIM_RANGES_H_
#define CAIRN_BASE_CLAIM_RANGES_H_

#include <atomic>
#include <cstdint>
#include <memory>

namespace cairn {

class ClaimRanges {
 public:
  // The first `owners` of the threads get ranges, the others begin with what they take from them.
  // REQUIRES: 0 <= count < 2^32 and 1 <= owners <= threads.
  void Reset(int64_t count, int threads, int owners);
  void Reset(int64_t count, int threads) { Reset(count, threads, threads); }
  // An index that nobody has claimed. REQUIRES: fewer than `count` claims since Reset.
  int64_t Claim(int thread);

 private:
  // The unclaimed indices [first, end): end in the upper half, first in the lower.
  struct alignas(64) Range {
    std::atomic<uint64_t> ends{0};
  };

  static bool TakeFirst(Range& range, int64_t& index);
  bool StealHalf(int thread, int64_t& index);

  std::unique_ptr<Range[]> ranges_;
  int threads_ = 0;
  int capacity_ = 0;
};

}  // namespace cairn

#endif  // CAIRN_BASE_CLAIM_RANGES_H_
