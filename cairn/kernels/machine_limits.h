// What this machine can do at most with the threads of a pool: arithmetic and reading.
//
// Every limit is measured several times, warm. The best is the limit: whatever slowed the others
// was not the machine's own. The median says how much of it was to be had meanwhile.
#ifndef CAIRN_KERNELS_MACHINE_LIMITS_H_
#define CAIRN_KERNELS_MACHINE_LIMITS_H_

#include <array>
#include <cstdint>
#include <vector>

#include "cairn/base/aligned_buffer.h"
#include "cairn/base/thread_pool.h"
#include "cairn/base/work_log.h"

namespace cairn {

// Of bytes or operations per second.
struct Rate {
  double best = 0;
  double median = 0;
};
// REQUIRES: at least one sample.
Rate RateOf(std::vector<double> samples);

// Far more than any cache holds.
inline constexpr int64_t kMemoryBytes = int64_t{512} << 20;

struct MachineLimits {
  int threads = 0;
  Rate memory;  // bytes read from a buffer of kMemoryBytes
  std::array<Rate, kArithmetics> arithmetic;

  const Rate& operator[](Arithmetic kind) const { return arithmetic[static_cast<size_t>(kind)]; }
};

// Measures for one pool; takes about a second. Thread safety: that of the pool.
class LimitMeter {
 public:
  explicit LimitMeter(ThreadPool& pool) : pool_(pool) {}

  // Bytes per second of reading a buffer of `bytes` again and again: faster than memory where a
  // cache holds it. REQUIRES: bytes > 0.
  Rate Reading(int64_t bytes);
  Rate Operations(Arithmetic kind);
  MachineLimits All();

 private:
  ThreadPool& pool_;
  AlignedBuffer buffer_;
};

}  // namespace cairn

#endif  // CAIRN_KERNELS_MACHINE_LIMITS_H_
