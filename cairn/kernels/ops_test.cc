#include "cairn/kernels/ops.h"
#include "cairn/kernels/targets_for_tests.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "hwy/targets.h"

namespace cairn {
namespace {

std::vector<float> RandomVector(int64_t width, uint32_t seed, float scale = 3.0f) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0, scale);
  std::vector<float> values(static_cast<size_t>(width));
  for (float& v : values) v = normal(random);
  return values;
}

constexpr int64_t kWidths[] = {1, 3, 8, 15, 16, 17, 31, 64, 96, 100, 576};

// Runs `compute` on every instruction set built here and requires the same bits from each.
template <class Compute>
std::vector<float> OnEveryTarget(const Compute& compute) {
  std::vector<float> first;
  for (const int64_t target : TargetsForTests()) {
    hwy::SetSupportedTargetsForTest(target);
    const std::vector<float> result = compute();
    if (first.empty()) first = result;
    CAPTURE(hwy::TargetName(target));
    CHECK(std::memcmp(first.data(), result.data(), first.size() * sizeof(float)) == 0);
  }
  hwy::SetSupportedTargetsForTest(0);
  return first;
}

void CheckNear(const std::vector<float>& got, const std::vector<double>& expected,
               double tolerance) {
  REQUIRE(got.size() == expected.size());
  for (size_t i = 0; i < got.size(); ++i) {
    CAPTURE(i);
    CHECK(std::abs(got[i] - expected[i]) <= tolerance * (1 + std::abs(expected[i])));
  }
}

}  // namespace

TEST_CASE("RmsNorm equals its definition and is the same on every instruction set") {
  for (const int64_t width : kWidths) {
    CAPTURE(width);
    const std::vector<float> x = RandomVector(width, 1);
    const std::vector<float> w = RandomVector(width, 2);
    const auto got = OnEveryTarget([&] {
      std::vector<float> out(x.size());
      RmsNorm(x.data(), w.data(), 1e-3, width, out.data());
      return out;
    });
    double squares = 0;
    for (const float v : x) squares += static_cast<double>(v) * v;
    std::vector<double> expected;
    for (size_t i = 0; i < x.size(); ++i) {
      expected.push_back(x[i] / std::sqrt(squares / static_cast<double>(width) + 1e-3) * w[i]);
    }
    CheckNear(got, expected, 1e-6);
  }
}

TEST_CASE("NormedDot is the product of a weight and what RmsNorm makes") {
  for (const int64_t width : kWidths) {
    CAPTURE(width);
    const std::vector<float> x = RandomVector(width, 1);
    const std::vector<float> w = RandomVector(width, 2);
    const auto got = OnEveryTarget(
        [&] { return std::vector<float>{NormedDot(x.data(), w.data(), 1e-3, width)}; });
    double squares = 0;
    double product = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      squares += static_cast<double>(x[i]) * x[i];
      product += static_cast<double>(x[i]) * w[i];
    }
    const double scale = 1 / std::sqrt(squares / static_cast<double>(width) + 1e-3);
    CheckNear(got, {product * scale}, 1e-5);
  }
}

TEST_CASE("SituTimes bends gate and up, up only where it has a bound") {
  for (const int64_t width : kWidths) {
    for (const double bound : {0.0, 2.5}) {
      CAPTURE(width);
      const std::vector<float> gate = RandomVector(width, 1);
      const std::vector<float> up = RandomVector(width, 2);
      const auto got = OnEveryTarget([&] {
        std::vector<float> out = gate;
        SituTimes(out.data(), up.data(), 1.5f, static_cast<float>(bound), width);
        return out;
      });
      std::vector<double> expected;
      for (size_t i = 0; i < gate.size(); ++i) {
        const double g = gate[i];
        const double u = bound > 0 ? bound * std::tanh(up[i] / bound) : up[i];
        expected.push_back(u * 1.5 * std::tanh(g / 1.5) / (1 + std::exp(-g)));
      }
      CheckNear(got, expected, 1e-6);
    }
  }
}

TEST_CASE("AddScaled adds a multiple") {
  for (const int64_t width : kWidths) {
    CAPTURE(width);
    const std::vector<float> x = RandomVector(width, 1);
    const std::vector<float> y = RandomVector(width, 2);
    const auto got = OnEveryTarget([&] {
      std::vector<float> out = x;
      AddScaled(out.data(), y.data(), -0.75f, width);
      return out;
    });
    std::vector<double> expected;
    for (size_t i = 0; i < x.size(); ++i) expected.push_back(x[i] - 0.75 * y[i]);
    CheckNear(got, expected, 1e-6);
  }
}

TEST_CASE("rotation turns each pair by its angle and leaves other channels alone") {
  constexpr int64_t kHeads = 3;
  constexpr int64_t kWidth = 22;
  constexpr int64_t kPairs = 9;
  const std::vector<float> angles = RandomVector(kPairs, 3);
  std::vector<float> cosines;
  std::vector<float> sines;
  for (const float a : angles) {
    cosines.push_back(std::cos(a));
    sines.push_back(std::sin(a));
  }
  const std::vector<float> x = RandomVector(kHeads * kWidth, 4);
  const auto half = OnEveryTarget([&] {
    std::vector<float> y = x;
    RotateHalfSplit(y.data(), cosines.data(), sines.data(), kPairs, kHeads, kWidth);
    return y;
  });
  const auto interleaved = OnEveryTarget([&] {
    std::vector<float> y = x;
    RotateInterleaved(y.data(), cosines.data(), sines.data(), kPairs, kHeads, kWidth);
    return y;
  });
  std::vector<double> expected_half(x.begin(), x.end());
  std::vector<double> expected_interleaved(x.begin(), x.end());
  const auto turn = [&](std::vector<double>& y, int64_t a, int64_t b, int64_t i) {
    const double c = std::cos(static_cast<double>(angles[static_cast<size_t>(i)]));
    const double s = std::sin(static_cast<double>(angles[static_cast<size_t>(i)]));
    const double low = y[static_cast<size_t>(a)];
    const double high = y[static_cast<size_t>(b)];
    y[static_cast<size_t>(a)] = low * c - high * s;
    y[static_cast<size_t>(b)] = low * s + high * c;
  };
  for (int64_t h = 0; h < kHeads; ++h) {
    for (int64_t i = 0; i < kPairs; ++i) {
      turn(expected_half, h * kWidth + i, h * kWidth + i + kPairs, i);
      turn(expected_interleaved, h * kWidth + 2 * i, h * kWidth + 2 * i + 1, i);
    }
  }
  CheckNear(half, expected_half, 1e-6);
  CheckNear(interleaved, expected_interleaved, 1e-6);
}

TEST_CASE("activations equal their definitions, also far from zero") {
  std::vector<float> gate = RandomVector(97, 5, 20.0f);
  gate[0] = -1e4f;
  gate[1] = 1e4f;
  gate[2] = 0.0f;
  const std::vector<float> up = RandomVector(97, 6);
  const auto run = [&](void (*f)(float*, const float*, int64_t)) {
    return OnEveryTarget([&] {
      std::vector<float> y = gate;
      f(y.data(), up.data(), 97);
      return y;
    });
  };
  std::vector<double> silu;
  std::vector<double> tanh_gelu;
  std::vector<double> erf_gelu;
  for (size_t i = 0; i < gate.size(); ++i) {
    const double g = gate[i];
    const double u = std::sqrt(2 / M_PI) * (g + 0.044715 * g * g * g);
    silu.push_back(g / (1 + std::exp(-g)) * up[i]);
    tanh_gelu.push_back(0.5 * g * (1 + std::tanh(u)) * up[i]);
    erf_gelu.push_back(0.5 * g * (1 + std::erf(g / std::sqrt(2.0))) * up[i]);
  }
  CheckNear(run(SiluTimes), silu, 1e-6);
  CheckNear(run(GeluTanhTimes), tanh_gelu, 2e-6);
  CheckNear(run(GeluErfTimes), erf_gelu, 2e-6);
}

TEST_CASE("soft capping is cap * tanh(x / cap)") {
  const std::vector<float> x = RandomVector(50, 7, 60.0f);
  const auto got = OnEveryTarget([&] {
    std::vector<float> y = x;
    SoftCap(y.data(), 30.0f, 50);
    return y;
  });
  std::vector<double> expected;
  for (const float v : x) expected.push_back(30 * std::tanh(v / 30.0));
  CheckNear(got, expected, 1e-6);
}

TEST_CASE("LogSumExp is right for large logits") {
  const std::vector<float> x = {1000.0f, 1001.0f, 999.0f};
  CHECK(LogSumExp(x.data(), 3) ==
        doctest::Approx(1001.0 + std::log(1 + std::exp(-1.0) + std::exp(-2.0))));
}

}  // namespace cairn
