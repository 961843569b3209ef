#include "cairn/eval/statistics.h"

#include <algorithm>
#include <cmath>

#include "cairn/base/check.h"

namespace cairn {

double MeanOf(std::span<const double> values) {
  CAIRN_CHECK(!values.empty());
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

double StandardErrorOf(std::span<const double> values) {
  const double mean = MeanOf(values);
  if (values.size() == 1) return 0;
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  const auto count = static_cast<double>(values.size());
  return std::sqrt(squares / (count - 1) / count);
}

double PercentileOf(std::vector<double> values, double percent) {
  CAIRN_CHECK(!values.empty() && percent > 0 && percent <= 100);
  const double rank = std::ceil(percent / 100 * static_cast<double>(values.size()));
  const auto at = values.begin() + static_cast<ptrdiff_t>(std::max(rank, 1.0)) - 1;
  std::ranges::nth_element(values, at);
  return *at;
}

double MedianOf(std::vector<double> values) {
  CAIRN_CHECK(!values.empty());
  std::ranges::sort(values);
  const size_t middle = values.size() / 2;
  if (values.size() % 2 == 1) return values[middle];
  return (values[middle - 1] + values[middle]) / 2;
}

int64_t AgreementOf(std::span<const TokenId> a, std::span<const TokenId> b) {
  return std::ranges::mismatch(a, b).in1 - a.begin();
}

}  // namespace cairn
