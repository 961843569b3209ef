#include "cairn/base/work_log.h"

#include <doctest/doctest.h>

namespace cairn {
namespace {

// Returns after the clock has moved on by `us` at least.
void WaitFor(int64_t us) {
  const int64_t start_us = NowMicroseconds();
  while (NowMicroseconds() - start_us < us) {
  }
}

}  // namespace

TEST_CASE("scopes add calls, time and amounts to their own kind while a log is set") {
  ThreadPool pool(1);
  WorkLog log;
  pool.set_work_log(&log);
  const int64_t start_us = NowMicroseconds();
  for (int i = 0; i < 2; ++i) {
    const WorkScope work(pool, WorkKind::kAttention);
    REQUIRE(work.done() != nullptr);
    work.done()->operations[Arithmetic::kBf16] += 7;
    WaitFor(300);
  }
  const int64_t elapsed_us = NowMicroseconds() - start_us;
  const WorkDone& attention = log[WorkKind::kAttention];
  CHECK_EQ(attention.calls, 2);
  CHECK_GE(attention.time_us, 600);
  CHECK_LE(attention.time_us, elapsed_us);
  CHECK_EQ(attention.operations[Arithmetic::kBf16], 14);
  CHECK_EQ(attention.operations[Arithmetic::kF32], 0);
  CHECK_EQ(log[WorkKind::kMatrixProduct].calls, 0);
}

TEST_CASE("without a log, and after it was taken away, nothing is noted") {
  ThreadPool pool(1);
  CHECK(WorkScope(pool, WorkKind::kAttention).done() == nullptr);
  WorkLog log;
  pool.set_work_log(&log);
  pool.set_work_log(nullptr);
  CHECK(WorkScope(pool, WorkKind::kAttention).done() == nullptr);
  CHECK_EQ(log[WorkKind::kAttention].calls, 0);
}

}  // namespace cairn
