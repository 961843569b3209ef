// Where queries to come point to: moments of queries before rotation, turned to positions ahead.
//
// Pure functions; thread-safe.
#ifndef CAIRN_POLICIES_FUTURE_QUERIES_H_
#define CAIRN_POLICIES_FUTURE_QUERIES_H_

#include <cstdint>
#include <span>
#include <vector>

namespace cairn {

// Two channels that turn together, by so many radians a position.
struct TurningChannels {
  int64_t first = 0;
  int64_t second = 0;
  double frequency = 0;
};

struct QueryMoments {
  std::vector<double> mean;        // [width]
  std::vector<double> covariance;  // [width][width]
};

// Positions [from, from + count); a turned vector is `amplitude` times as long.
struct PositionsAhead {
  int64_t from = 0;
  int64_t count = 1;
  double amplitude = 1;
};

// R mean and R covariance R', where R is the mean of the rotations to these positions. Channels in
// no pair stay.
QueryMoments TurnedAhead(const QueryMoments& moments, std::span<const TurningChannels> pairs,
                         const PositionsAhead& ahead);

}  // namespace cairn

#endif  // CAIRN_POLICIES_FUTURE_QUERIES_H_
