#include "cairn/eval/statistics.h"

#include <doctest/doctest.h>

#include <cmath>

namespace cairn {

TEST_CASE("mean, error, median and percentiles are those worked out by hand") {
  const std::vector<double> values = {4, 1, 3, 2};
  CHECK(MeanOf(values) == 2.5);
  CHECK(StandardErrorOf(values) == doctest::Approx(std::sqrt(5.0 / 3 / 4)));
  CHECK(StandardErrorOf(std::vector<double>{7}) == 0);
  CHECK(MedianOf(values) == 2.5);
  CHECK(MedianOf({9, 1, 5}) == 5);
  CHECK(PercentileOf(values, 25) == 1);
  CHECK(PercentileOf(values, 26) == 2);
  CHECK(PercentileOf(values, 100) == 4);
  CHECK(PercentileOf(values, 0.1) == 1);
  std::vector<double> hundred;
  for (int i = 0; i < 100; ++i) hundred.push_back(i + 1);
  CHECK(PercentileOf(hundred, 99) == 99);
}

TEST_CASE("agreement ends at the first difference or with the shorter one") {
  const auto ids = [](std::initializer_list<int> values) {
    std::vector<TokenId> result;
    for (const int value : values) result.emplace_back(value);
    return result;
  };
  CHECK(AgreementOf(ids({1, 2, 3}), ids({1, 2, 3})) == 3);
  CHECK(AgreementOf(ids({1, 2, 3}), ids({1, 9, 3})) == 1);
  CHECK(AgreementOf(ids({4}), ids({1, 2})) == 0);
  CHECK(AgreementOf(ids({1, 2}), ids({1})) == 1);
  CHECK(AgreementOf({}, ids({1})) == 0);
}

}  // namespace cairn
