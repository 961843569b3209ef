// The example of TurboQuant's two forms: all bits in the code of a rotated row, or one of them in
// the sign of what the code left (QJL). Its draws are NumPy's, these our own.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "tests/compression_example_for_tests.h"

namespace cairn {
namespace {

double Dot(const std::vector<float>& a, const std::vector<float>& b) {
  double sum = 0;
  for (size_t c = 0; c < a.size(); ++c) sum += static_cast<double>(a[c]) * b[c];
  return sum;
}

void Normalize(std::vector<float>& row) {
  const auto inverse = static_cast<float>(1 / std::sqrt(Dot(row, row)));
  for (float& x : row) x *= inverse;
}

double ErrorOf(const Matrix& ours, const Matrix& exact) {
  double error = 0;
  for (size_t r = 0; r < exact.size(); ++r) {
    for (size_t c = 0; c < exact[r].size(); ++c) {
      error += std::pow(static_cast<double>(ours[r][c]) - exact[r][c], 2);
    }
  }
  return error / static_cast<double>(exact.size());
}

// Unit keys, signs and a rotation, as TurboQuant takes them; queries that look at them sharply.
struct Turbo {
  static constexpr size_t kWidth = 128;
  static constexpr double kGain = 24;
  Matrix keys;
  Matrix queries;
  Matrix signs_of;  // S, for the residual's signs

  Turbo() {
    Gaussians random(5);
    std::vector<float> signs(kWidth);
    for (float& s : signs) s = random() < 0 ? -1.0f : 1.0f;
    keys = random.Rows(2000, kWidth);
    queries = random.Rows(64, kWidth);
    signs_of = random.Rows(kWidth, kWidth);
    for (std::vector<float>& key : keys) {
      Normalize(key);
      for (size_t c = 0; c < kWidth; ++c) key[c] *= signs[c];
    }
    keys = Rotated(keys, kWidth);
    for (std::vector<float>& query : queries) Normalize(query);
  }

  // By the example's levels, as published.
  Matrix Quantized(const Example& levels_of, int bits) const {
    const std::vector<float> levels =
        FloatsOf(levels_of.at("d128_b" + std::to_string(bits)).at("centroids"));
    Matrix back = keys;
    for (std::vector<float>& row : back) {
      for (float& x : row) {
        x = *std::ranges::min_element(
            levels, [x](float a, float b) { return std::abs(a - x) < std::abs(b - x); });
      }
    }
    return back;
  }

  // What signs of S times the residual add to keys of one bit less.
  Matrix WithResidual(Matrix coarse, double factor) const {
    for (size_t k = 0; k < keys.size(); ++k) {
      std::vector<float> residual = keys[k];
      for (size_t c = 0; c < kWidth; ++c) residual[c] -= coarse[k][c];
      const auto by = static_cast<float>(std::sqrt(Dot(residual, residual)) * factor);
      for (const std::vector<float>& s : signs_of) {
        const float signed_by = Dot(s, residual) < 0 ? -by : by;
        for (size_t c = 0; c < kWidth; ++c) coarse[k][c] += signed_by * s[c];
      }
    }
    return coarse;
  }

  // Slope against the true products, root of the mean square error, lost attention.
  struct Loss {
    double slope;
    double rmse;
    double attention;
  };
  Loss Judge(const Matrix& back) const {
    double along = 0;
    double squares = 0;
    double error = 0;
    for (const std::vector<float>& query : queries) {
      for (size_t k = 0; k < keys.size(); ++k) {
        const double exact = Dot(query, keys[k]);
        const double got = Dot(query, back[k]);
        along += got * exact;
        squares += exact * exact;
        error += (got - exact) * (got - exact);
      }
    }
    const auto count = static_cast<double>(queries.size() * keys.size());
    return {along / squares, std::sqrt(error / count),
            TotalVariation(AttentionWeights(queries, keys, kGain),
                           AttentionWeights(queries, back, kGain))};
  }
};

void CheckLoss(const Turbo::Loss& ours, const Example& slope_rmse, const Example& attention) {
  CHECK(ours.slope == doctest::Approx(slope_rmse[0].Number()).epsilon(0.02));
  CHECK(ours.rmse == doctest::Approx(slope_rmse[1].Number()).epsilon(0.06));
  CHECK(ours.attention == doctest::Approx(attention.Number()).epsilon(0.06));
}

}  // namespace

TEST_CASE("the sign of a residual costs twice the error of the bit that it takes") {
  const Example example = CompressionExample("21_turboquant_empirical");
  const Example levels = CompressionExample("03_lloyd_max");
  const Turbo turbo;
  for (int bits = 2; bits <= 4; ++bits) {
    CAPTURE(bits);
    const Example& theirs = example.at("inner_product_total_" + std::to_string(bits) + "bits");
    const Turbo::Loss plain = turbo.Judge(turbo.Quantized(levels, bits));
    CheckLoss(plain, theirs.at("mse_only: slope,rmse"), theirs.at("softmax_TV mse"));
    const double factor = std::sqrt(std::numbers::pi / 2) / Turbo::kWidth;
    const Turbo::Loss with_sign =
        turbo.Judge(turbo.WithResidual(turbo.Quantized(levels, bits - 1), factor));
    const std::string prod = "prod (" + std::to_string(bits - 1) + "-bit mse + 1-bit QJL)";
    CheckLoss(with_sign, theirs.at(prod), theirs.at("softmax_TV prod"));
    CHECK(with_sign.rmse > 2 * plain.rmse);
    CHECK(with_sign.attention > 1.8 * plain.attention);
  }
}

TEST_CASE("Lloyd-Max rows that were rotated with signs have the example's error") {
  const Example example = CompressionExample("21_turboquant_empirical");
  const Turbo turbo;
  const DType codecs[] = {DType::kLM2, DType::kLM3, DType::kLM4};
  for (int bits = 2; bits <= 4; ++bits) {
    const Example& theirs = example.at("D_mse_b" + std::to_string(bits));
    const double error = ErrorOf(ThroughCodec(codecs[bits - 2], turbo.keys), turbo.keys);
    // Ours has a scale for each row, as "normcorr" has, in steps.
    CHECK(error == doctest::Approx(theirs.at("random_sign_hadamard").Number()).epsilon(0.04));
  }
}

}  // namespace cairn
