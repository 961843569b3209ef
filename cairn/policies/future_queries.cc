#include "cairn/policies/future_queries.h"

#include <cmath>
#include <complex>

namespace cairn {
namespace {

// Of a pair of channels as one complex number.
std::complex<double> MeanTurn(double frequency, const PositionsAhead& ahead) {
  std::complex<double> sum;
  for (int64_t i = 0; i < ahead.count; ++i) {
    sum += std::polar(ahead.amplitude, frequency * static_cast<double>(ahead.from + i));
  }
  return sum / static_cast<double>(ahead.count);
}

// Elements `stride` apart are one vector.
void Turn(const TurningChannels& pair, std::complex<double> turn, int64_t stride, double* vector) {
  double& a = vector[pair.first * stride];
  double& b = vector[pair.second * stride];
  const std::complex<double> turned = std::complex<double>(a, b) * turn;
  a = turned.real();
  b = turned.imag();
}

}  // namespace

QueryMoments TurnedAhead(const QueryMoments& moments, std::span<const TurningChannels> pairs,
                         const PositionsAhead& ahead) {
  QueryMoments turned = moments;
  const auto width = static_cast<int64_t>(moments.mean.size());
  for (const TurningChannels& pair : pairs) {
    const std::complex<double> turn = MeanTurn(pair.frequency, ahead);
    Turn(pair, turn, 1, turned.mean.data());
    if (turned.covariance.empty()) continue;
    for (int64_t i = 0; i < width; ++i) {
      Turn(pair, turn, width, turned.covariance.data() + i);
    }
    for (int64_t i = 0; i < width; ++i) {
      Turn(pair, turn, 1, turned.covariance.data() + i * width);
    }
  }
  return turned;
}

}  // namespace cairn
