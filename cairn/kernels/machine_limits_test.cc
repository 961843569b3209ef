#include "cairn/kernels/machine_limits.h"

#include <doctest/doctest.h>

#include <cmath>

namespace cairn {

TEST_CASE("a rate keeps the best and the middle of its samples") {
  const Rate rate = RateOf({3, 9, 1, 7, 5});
  CHECK_EQ(rate.best, 9);
  CHECK_EQ(rate.median, 5);
  CHECK_THROWS(RateOf({}));
}

TEST_CASE("reading and multiplying have finite limits, for any size and number of threads") {
  for (const int threads : {1, 3}) {
    ThreadPool pool(threads);
    LimitMeter meter(pool);
    for (const int64_t bytes : {1, 100, 70'000, 1 << 20, 999}) {
      const Rate rate = meter.Reading(bytes);
      CHECK_GT(rate.median, 0);
      CHECK_GE(rate.best, rate.median);
      CHECK(std::isfinite(rate.best));
    }
    for (const Arithmetic kind : {Arithmetic::kInt8, Arithmetic::kBf16, Arithmetic::kF32}) {
      CHECK_GT(meter.Operations(kind).median, 0);
    }
  }
}

}  // namespace cairn
