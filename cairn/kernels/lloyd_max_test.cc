#include "cairn/kernels/lloyd_max.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <span>
#include <vector>

namespace cairn {
namespace {

// The least mean squared error that so many levels can have for a Gaussian of variance 1, and the
// magnitudes of the levels that have it (Max 1960, computed to more digits).
struct Ideal {
  double error;
  std::vector<double> magnitudes;
};

const Ideal kIdeals[] = {
    {0.11748185, {0.4528, 1.5104}},
    {0.034547761, {0.24509, 0.75601, 1.34391, 2.15195}},
    {0.009501008, {0.12840, 0.38805, 0.65676, 0.94234, 1.25623, 1.61805, 2.06902, 2.73259}},
    {0.0025046684,
     {0.06589, 0.19805, 0.33138, 0.46670, 0.60493, 0.74714, 0.89457, 1.04878, 1.21180, 1.38634,
      1.57623, 1.78723, 2.02873, 2.31774, 2.69112, 3.26073}}};

// The mean squared error of a Gaussian of variance 1 that becomes the nearest of +-scale x
// magnitude: the integral of its square over the density, by the midpoint rule.
double ErrorOf(std::span<const int8_t> magnitudes, double scale) {
  constexpr double kStep = 1e-3;
  double sum = 0;
  for (double x = kStep / 2; x < 9; x += kStep) {
    double nearest = std::numeric_limits<double>::infinity();
    for (const int8_t m : magnitudes) nearest = std::min(nearest, std::abs(x - scale * m));
    sum += nearest * nearest * std::exp(-x * x / 2);
  }
  return 2 * sum * kStep / std::sqrt(2 * std::numbers::pi);
}

// Over all that a row's variance can be between two scales.
double MeanErrorOf(std::span<const int8_t> magnitudes, double scale) {
  constexpr int kPoints = 8;
  double sum = 0;
  for (int i = 0; i < kPoints; ++i) {
    sum += ErrorOf(magnitudes, scale * std::exp2(((i + 0.5) / kPoints - 0.5) / 8));
  }
  return sum / kPoints;
}

template <class Body>
void ForAllBits(const Body& body) {
  body.template operator()<2>();
  body.template operator()<3>();
  body.template operator()<4>();
  body.template operator()<5>();
}

}  // namespace

TEST_CASE("levels are as good for a Gaussian as any of so many, within one per cent") {
  ForAllBits([]<int kBits>() {
    CAPTURE(kBits);
    const Ideal& ideal = kIdeals[kBits - 2];
    const auto& magnitudes = LloydMax<kBits>::kMagnitudes;
    const double scale = LloydMax<kBits>::kScale;
    CHECK(ErrorOf(magnitudes, scale) < ideal.error * (kBits == 5 ? 1.007 : 1.001));
    CHECK(MeanErrorOf(magnitudes, scale) < ideal.error * (kBits == 5 ? 1.0098 : 1.0038));
    for (size_t i = 0; i < magnitudes.size(); ++i) {
      CHECK(std::abs(magnitudes[i] * scale - ideal.magnitudes[i]) < scale);
    }
  });
}

TEST_CASE("no other integer beside a level, nor another scale, is better") {
  ForAllBits([]<int kBits>() {
    CAPTURE(kBits);
    auto magnitudes = LloydMax<kBits>::kMagnitudes;
    const double scale = LloydMax<kBits>::kScale;
    const double own = MeanErrorOf(magnitudes, scale);
    CHECK(MeanErrorOf(magnitudes, scale * 1.005) > own);
    CHECK(MeanErrorOf(magnitudes, scale * 0.995) > own);
    for (int8_t& magnitude : magnitudes) {
      for (const int other : {-1, 1}) {
        magnitude = static_cast<int8_t>(magnitude + other);
        CHECK(MeanErrorOf(magnitudes, scale) > own);
        magnitude = static_cast<int8_t>(magnitude - other);
      }
    }
  });
}

TEST_CASE("levels rise, each with one of the other sign, and fit a byte") {
  ForAllBits([]<int kBits>() {
    const auto& levels = kLloydMaxLevels<kBits>;
    CHECK(levels.size() == size_t{1} << kBits);
    CHECK(std::ranges::adjacent_find(levels, std::greater_equal()) == levels.end());
    for (size_t i = 0; i < levels.size(); ++i) {
      CHECK(levels[i] == -levels[levels.size() - 1 - i]);
    }
    CHECK(levels[0] < -100);
  });
}

TEST_CASE("scales are eight steps an octave around 1, of few enough bits for exact products") {
  CHECK(LloydMaxScale(0) == 0);
  CHECK(LloydMaxTwoByScale(0) == 0);
  CHECK(LloydMaxScale(160) == 1);
  for (int e = 1; e < 256; ++e) {
    const auto byte = static_cast<uint8_t>(e);
    const float scale = LloydMaxScale(byte);
    CHECK(scale == doctest::Approx(std::exp2((e - 160) / 8.0)).epsilon(1e-5));
    CHECK((std::bit_cast<uint32_t>(scale) & 0xFF) == 0);
    CHECK(LloydMaxTwoByScale(byte) == doctest::Approx(2 / scale).epsilon(1e-7));
  }
}

TEST_CASE("a row's scale is the nearest to its deviation, in octaves") {
  ForAllBits([]<int kBits>() {
    for (int e = 1; e < 256; ++e) {
      for (const double off : {-0.49, -0.2, 0.0, 0.3, 0.49}) {
        const double deviation = std::exp2((e + off - 160) / 8) / LloydMax<kBits>::kScale;
        const auto mean_square = static_cast<float>(deviation * deviation);
        CHECK(LloydMaxScaleByte(mean_square * kLloydMaxSquare<kBits>) == e);
      }
    }
  });
  CHECK(LloydMaxScaleByte(0) == 0);
  CHECK(LloydMaxScaleByte(1e-30f) == 0);
  CHECK(LloydMaxScaleByte(1e30f) == 255);
  CHECK(LloydMaxScaleByte(std::numeric_limits<float>::infinity()) == 255);
}

}  // namespace cairn
