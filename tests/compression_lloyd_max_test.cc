// The example of Lloyd-Max codes: levels, borders, errors, entropies, and levels that go wrong.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "cairn/kernels/lloyd_max.h"
#include "tests/compression_example_for_tests.h"

namespace cairn {
namespace {

// Of one coordinate of a point on the unit sphere in d dimensions; of a Gaussian for d = 0.
double DensityOf(int d, double x) {
  if (d == 0) return std::exp(-x * x / 2) / std::sqrt(2 * std::numbers::pi);
  if (std::abs(x) >= 1) return 0;
  const double logarithm =
      std::lgamma(d / 2.0) - std::lgamma((d - 1) / 2.0) - std::log(std::numbers::pi) / 2;
  return std::exp(logarithm + (d - 3) / 2.0 * std::log1p(-x * x));
}

// Mass, first moment and second moment of [a, b], by Simpson's rule.
std::array<double, 3> MomentsOf(int d, double a, double b) {
  constexpr int kSteps = 400;
  std::array<double, 3> moments = {};
  for (int i = 0; i <= kSteps; ++i) {
    const double x = a + (b - a) * i / kSteps;
    const double weight = (i == 0 || i == kSteps ? 1 : i % 2 == 0 ? 2 : 4) * (b - a) / kSteps / 3;
    const double mass = weight * DensityOf(d, x);
    moments[0] += mass;
    moments[1] += mass * x;
    moments[2] += mass * x * x;
  }
  return moments;
}

// What nearest-level codes cost.
struct Codebook {
  std::vector<double> borders;    // between levels
  std::vector<double> centroids;  // of each level's cell
  double error = 0;               // mean square
  double entropy = 0;             // of codes, in bits
};

Codebook Judge(int d, const std::vector<double>& levels) {
  const double end = d == 0 ? 9 : std::min(1.0, 12 / std::sqrt(d));
  Codebook book;
  double from = -end;
  for (size_t i = 0; i < levels.size(); ++i) {
    const bool last = i + 1 == levels.size();
    const double to = last ? end : (levels[i] + levels[i + 1]) / 2;
    if (!last) book.borders.push_back(to);
    const auto [mass, first, second] = MomentsOf(d, from, to);
    book.centroids.push_back(first / mass);
    book.error += second - 2 * levels[i] * first + levels[i] * levels[i] * mass;
    book.entropy -= mass * std::log2(mass);
    from = to;
  }
  return book;
}

// The engine's levels at their best scale for a mean square of 1 / d, or of 1.
std::vector<double> EngineLevels(int bits, int d) {
  std::vector<double> levels;
  const auto take = [&]<int kBits>() {
    for (const int8_t level : kLloydMaxLevels<kBits>) {
      levels.push_back(level * LloydMax<kBits>::kScale / (d == 0 ? 1 : std::sqrt(d)));
    }
  };
  if (bits == 2) take.operator()<2>();
  if (bits == 3) take.operator()<3>();
  if (bits == 4) take.operator()<4>();
  if (bits == 5) take.operator()<5>();
  return levels;
}

}  // namespace

TEST_CASE("the best levels for a sphere's coordinate are the example's, the engine's as good") {
  const Example example = CompressionExample("03_lloyd_max");
  for (const int d : {64, 128, 256, 0}) {
    for (int bits = 1; bits <= (d == 0 ? 5 : 4); ++bits) {
      CAPTURE(d);
      CAPTURE(bits);
      const std::string name = (d == 0 ? "gauss" : "d" + std::to_string(d)) + "_b";
      const Example& theirs = example.at(name + std::to_string(bits));
      const std::vector<double> levels =
          NumbersOf(theirs.at(d == 0 ? "centroids_sigma1" : "centroids"));
      const Codebook book = Judge(d, levels);
      const double scale = d == 0 ? 1 : 1 / std::sqrt(d);
      CheckNear(book.centroids, theirs.at(d == 0 ? "centroids_sigma1" : "centroids"),
                1e-7 * scale);  // each level is the mean of its cell
      if (d != 0) CheckNear(book.borders, theirs.at("boundaries_inner"), 1e-8);
      const double error =
          theirs.at(d == 0 ? "D_mse" : "D_mse_unit_vector = d*E[(x-c)^2]").Number();
      CHECK(book.error / scale / scale == doctest::Approx(error).epsilon(1e-6));
      CHECK(book.entropy ==
            doctest::Approx(theirs.at("index_entropy_bits").Number()).epsilon(1e-6));
      if (bits == 1) continue;
      const Codebook ours = Judge(d, EngineLevels(bits, d));
      CHECK(ours.error / scale / scale < error * 1.03);
      CHECK(ours.entropy == doctest::Approx(book.entropy).epsilon(0.01));
    }
  }
}

TEST_CASE("levels of equal probability, or all too small, lose what the example says") {
  const Example example = CompressionExample("03_lloyd_max");
  constexpr int kWidth = 128;
  constexpr int kPoints = 100000;
  const double end = 12 / std::sqrt(kWidth);
  for (int bits = 1; bits <= 4; ++bits) {
    const int count = 1 << bits;
    std::vector<double> sums(static_cast<size_t>(count));
    double mass = 0;
    for (int i = 0; i < kPoints; ++i) {
      const double x = end * ((2 * i + 1.0) / kPoints - 1);
      const double part = DensityOf(kWidth, x) * 2 * end / kPoints;
      sums[static_cast<size_t>(std::min(count - 1, static_cast<int>(mass * count)))] += part * x;
      mass += part;
    }
    for (double& level : sums) level *= count;
    const auto& theirs = example.at("pitfall_equal_probability_cells_d128_Dmse");
    const double error = theirs.at(std::to_string(bits)).Number();
    CHECK(kWidth * Judge(kWidth, sums).error == doctest::Approx(error).epsilon(1e-3));
  }
  std::vector<double> levels = NumbersOf(example.at("gauss_b4").at("centroids_sigma1"));
  for (double& level : levels) level *= 0.1739 / 0.2402;
  CHECK(Judge(0, levels).error ==
        doctest::Approx(
            example.at("pitfall_centroids_x0.724_narrow_b4_gauss (outer .1739/.2402)").Number())
            .epsilon(1e-5));
}

}  // namespace cairn
