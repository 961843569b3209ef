// cairn bench --roofline: what the machine allows beside what a test reached.
//
// The bound of a part is the least time that its operations take at the machine's peak and its
// bytes at the machine's bandwidth, whichever is longer; the share reached is bound over time. The
// limits are measured in the same process, on the same threads.
#ifndef CAIRN_TOOLS_BENCH_ROOFLINE_H_
#define CAIRN_TOOLS_BENCH_ROOFLINE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cairn/base/status.h"
#include "cairn/base/work_log.h"
#include "cairn/kernels/machine_limits.h"
#include "cairn/models/model.h"
#include "tools/bench_runner.h"

namespace cairn {

// A prompt or an answer that was measured.
struct MeasuredTest {
  BenchTest test;
  int64_t elapsed_us = 0;
  WorkLog log;
};

// One part of a test's time and the least that it could take.
struct BoundPart {
  std::string_view name;  // "matrix products", "attention", "all"
  int64_t time_us = 0;
  OperationCounts operations = {};
  int64_t bytes = 0;         // that must be read
  double operations_us = 0;  // at the peaks
  double executed_us = 0;    // the same with 16-bit products as the two of 8 bits that they take
  double bytes_us = 0;       // at the bandwidth
  double bound_us = 0;
  std::optional<double> target = std::nullopt;  // share of the bound to reach

  double Share() const { return time_us == 0 ? 0 : bound_us / static_cast<double>(time_us); }
  double ExecutedShare() const {
    return time_us == 0 ? 0 : executed_us / static_cast<double>(time_us);
  }
  bool Met() const { return !target || Share() >= *target; }
};

struct TestBounds {
  MeasuredTest test = {};
  MachineLimits limits = {};
  int64_t weight_bytes = 0;  // read for each step of an answer, or for the whole prompt
  int64_t state_bytes = 0;   // the same
  Rate reading = {};         // of a buffer as large as both
  std::vector<BoundPart> parts = {};
};

// Of one model on one pool. Thread safety: that of the pool.
class Roofline {
 public:
  // Measures the limits: about a second.
  Roofline(ThreadPool& pool, const Model& model, StateCodecs codecs)
      : model_(model), codecs_(codecs), meter_(pool), limits_(meter_.All()) {}

  // Errors: bytes of the state that can't be counted.
  Result<TestBounds> BoundsOf(const MeasuredTest& test);

 private:
  Result<int64_t> StateBytes(const MeasuredTest& test) const;
  BoundPart PartOf(std::string_view name, const WorkDone& done, int64_t bytes,
                   double bytes_per_second) const;

  const Model& model_;
  const StateCodecs codecs_;
  LimitMeter meter_;
  MachineLimits limits_;
};

// Tests of one pool as a table, and one test as a JSON object.
std::string RooflineMarkdown(const std::vector<TestBounds>& tests);
std::string RooflineJson(const TestBounds& bounds);

}  // namespace cairn

#endif  // CAIRN_TOOLS_BENCH_ROOFLINE_H_
