// Statistics: what a report says of many numbers. Pure functions; thread-safe.
#ifndef CAIRN_EVAL_STATISTICS_H_
#define CAIRN_EVAL_STATISTICS_H_

#include <cstdint>
#include <span>
#include <vector>

#include "cairn/base/ids.h"

namespace cairn {

// All of them: REQUIRES at least one value.
double MeanOf(std::span<const double> values);
// Of the mean: standard deviation / sqrt(count); 0 of one value. As if the values were independent.
double StandardErrorOf(std::span<const double> values);
// The smallest value that at least `percent` of a hundred are not above. REQUIRES 0 < percent <=
// 100.
double PercentileOf(std::vector<double> values, double percent);
// The middle value, or the mean of the two in the middle.
double MedianOf(std::vector<double> values);

// How many tokens both begin with.
int64_t AgreementOf(std::span<const TokenId> a, std::span<const TokenId> b);

}  // namespace cairn

#endif  // CAIRN_EVAL_STATISTICS_H_
