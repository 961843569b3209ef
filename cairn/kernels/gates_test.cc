#include "cairn/kernels/gates.h"

#include <doctest/doctest.h>

#include "cairn/kernels/recurrence_for_tests.h"

namespace cairn {
namespace {

// Numbers of all sizes, with both signs and zero.
Floats Spread() {
  Floats x = Normal(97, 1, 20);
  for (const float v : {0.0f, -0.0f, 1e-30f, -1e-30f, 1e-6f, -1e-6f, 87.0f, -87.0f, 3e4f, -3e4f}) {
    x.push_back(v);
  }
  return x;
}

using InOut = void (*)(const float*, int64_t, float*);

// Runs on every instruction set, whole and number by number: all must agree to the bit.
Floats Everywhere(const Floats& x, InOut function) {
  Floats singly = x;
  for (float& v : singly) function(&v, 1, &v);
  OnEachTarget([&] {
    Floats out(x.size());
    function(x.data(), static_cast<int64_t>(x.size()), out.data());
    CHECK(SameBits(out, singly));
  });
  return singly;
}

// Relative to the expected value itself; below kNothing any small value will do, for arguments of
// exp are clamped.
constexpr double kNothing = 1e-33;

void CheckClose(const Floats& got, const Floats& x, double (*exact)(double), double tolerance) {
  for (size_t i = 0; i < x.size(); ++i) {
    const double expected = exact(x[i]);
    CAPTURE(x[i]);
    if (std::abs(expected) < kNothing) {
      CHECK(std::abs(got[i]) < kNothing);
    } else {
      CHECK(std::abs(got[i] - expected) <= tolerance * std::abs(expected));
    }
  }
}

}  // namespace

TEST_CASE("gates equal their definitions and are the same on every instruction set") {
  const Floats x = Spread();
  CheckClose(Everywhere(x, Sigmoid), x, [](double v) { return 1 / (1 + std::exp(-v)); }, 3e-7);
  CheckClose(Everywhere(x, Silu), x, [](double v) { return v / (1 + std::exp(-v)); }, 3e-7);
  CheckClose(
      Everywhere(x, Softplus), x,
      [](double v) { return std::fmax(v, 0) + std::log1p(std::exp(-std::abs(v))); }, 4e-7);
  CheckClose(
      Everywhere(x, ReluSquared), x, [](double v) { return std::pow(std::fmax(v, 0), 2); }, 1e-7);
  Floats small = x;
  for (float& v : small) v = std::fmin(v, 80.0f);
  CheckClose(Everywhere(small, Exp), small, [](double v) { return std::exp(v); }, 3e-7);
  CheckClose(Everywhere(small, NegativeExp), small, [](double v) { return -std::exp(v); }, 3e-7);
  CheckClose(Everywhere(small, ExpMinusOne), small, [](double v) { return std::expm1(v); }, 5e-7);
}

TEST_CASE("a product with a gate is the product of both") {
  const Floats x = Normal(53, 2);
  const Floats gate = Normal(53, 3);
  Floats by_sigmoid(53);
  Floats by_silu(53);
  Sigmoid(gate.data(), 53, by_sigmoid.data());
  Silu(gate.data(), 53, by_silu.data());
  for (size_t i = 0; i < x.size(); ++i) {
    by_sigmoid[i] *= x[i];
    by_silu[i] *= x[i];
  }
  OnEachTarget([&] {
    Floats y = x;
    TimesSigmoid(y.data(), gate.data(), 53);
    CHECK(SameBits(y, by_sigmoid));
    y = x;
    TimesSilu(y.data(), gate.data(), 53);
    CHECK(SameBits(y, by_silu));
  });
}

TEST_CASE("step widths are clamped after the softplus") {
  const Floats x = Normal(40, 4, 5);
  const Floats bias = Normal(40, 5);
  OnEachTarget([&] {
    Floats got(40);
    StepWidths(x.data(), bias.data(), {.low = 0.1f, .high = 2.0f}, 40, got.data());
    for (size_t i = 0; i < x.size(); ++i) {
      const double raw = std::log1p(std::exp(static_cast<double>(x[i]) + bias[i]));
      CHECK(got[i] == doctest::Approx(std::clamp(raw, 0.1, 2.0)).epsilon(1e-6));
    }
    StepWidths(x.data(), bias.data(), {}, 40, got.data());
    for (size_t i = 0; i < x.size(); ++i) {
      const double raw = std::log1p(std::exp(static_cast<double>(x[i]) + bias[i]));
      CHECK(got[i] == doctest::Approx(raw).epsilon(1e-6));
    }
  });
}

TEST_CASE("decay factors are exp(rate * step), with a rate each or a rate a head") {
  const Floats steps = Uniform(3 * 21, 6, 0, 3);
  const Floats rates = Uniform(3 * 21, 7, -4, 0);
  OnEachTarget([&] {
    Floats each(steps.size());
    DecayFactors(steps.data(), rates.data(), 3 * 21, each.data());
    Floats heads(steps.size());
    DecayFactorsOfHeads(steps.data(), rates.data(), 3, 21, heads.data());
    for (size_t i = 0; i < steps.size(); ++i) {
      const double step = steps[i];
      CHECK(each[i] == doctest::Approx(std::exp(step * rates[i])).epsilon(2e-6));
      CHECK(heads[i] == doctest::Approx(std::exp(step * rates[i / 21])).epsilon(2e-6));
    }
  });
}

TEST_CASE("bounded decay factors stay between exp(bound) and 1") {
  const Floats x = Normal(2 * 19, 8, 4);
  const Floats bias = Normal(2 * 19, 9);
  const Floats slopes = {0.5f, 3.0f};
  for (const bool with_bias : {false, true}) {
    const BoundedDecay decay = {.bias = with_bias ? bias.data() : nullptr,
                                .slopes = slopes.data(),
                                .bound = -5,
                                .heads = 2,
                                .width = 19};
    OnEachTarget([&] {
      Floats got(x.size());
      BoundedDecayFactors(decay, x.data(), got.data());
      for (size_t i = 0; i < x.size(); ++i) {
        const double v = slopes[i / 19] * (static_cast<double>(x[i]) + (with_bias ? bias[i] : 0));
        CHECK(got[i] == doctest::Approx(std::exp(-5 / (1 + std::exp(-v)))).epsilon(3e-6));
      }
    });
  }
}

}  // namespace cairn
