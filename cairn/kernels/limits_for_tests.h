// What micro-benchmarks compare themselves with: the least time that work takes on one thread of
// this machine. Limits are measured once in a process, when they are first asked for.
#ifndef CAIRN_KERNELS_LIMITS_FOR_TESTS_H_
#define CAIRN_KERNELS_LIMITS_FOR_TESTS_H_

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>

#include "cairn/kernels/machine_limits.h"

namespace cairn {

// More than the caches of a small machine hold; benchmarks of what a model reads from memory cycle
// through so much.
inline constexpr int64_t kWorkingSetBytes = int64_t{64} << 20;

class OneThreadLimits {
 public:
  static OneThreadLimits& Get() {
    static OneThreadLimits limits;
    return limits;
  }

  double Operations(Arithmetic kind) {
    double& peak = peaks_[static_cast<size_t>(kind)];
    if (peak == 0) peak = meter_.Operations(kind).best;
    return peak;
  }
  // Bytes per second out of a working set.
  double Reading(int64_t working_set_bytes) {
    double& rate = reading_[working_set_bytes];
    if (rate == 0) rate = meter_.Reading(working_set_bytes).best;
    return rate;
  }

  // The least seconds for operations at their peaks and bytes at their bandwidth.
  double Bound(const OperationCounts& operations, int64_t bytes, int64_t working_set_bytes) {
    double seconds = 0;
    for (const Arithmetic kind : {Arithmetic::kInt8, Arithmetic::kBf16, Arithmetic::kF32}) {
      if (operations[kind] == 0) continue;
      seconds += static_cast<double>(operations[kind]) / Operations(kind);
    }
    return std::max(seconds, static_cast<double>(bytes) / Reading(working_set_bytes));
  }

 private:
  ThreadPool pool_{1};
  LimitMeter meter_{pool_};
  std::array<double, kArithmetics> peaks_ = {};
  std::map<int64_t, double> reading_;
};

}  // namespace cairn

#endif  // CAIRN_KERNELS_LIMITS_FOR_TESTS_H_
