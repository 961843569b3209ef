#include "cairn/kernels/norms.h"

#include <doctest/doctest.h>

#include "cairn/kernels/recurrence_for_tests.h"

namespace cairn {
namespace {

constexpr int64_t kWidths[] = {1, 3, 8, 16, 17, 24, 31, 64, 100};
constexpr int64_t kGroups = 3;

// The same bits on every instruction set.
template <class Compute>
Floats Everywhere(const Compute& compute) {
  Floats first;
  OnEachTarget([&] {
    const Floats got = compute();
    if (first.empty()) first = got;
    CHECK(SameBits(got, first));
  });
  return first;
}

double Activated(GateActivation activation, double gate) {
  if (activation == GateActivation::kNone) return 1;
  const double sigmoid = 1 / (1 + std::exp(-gate));
  return activation == GateActivation::kSigmoid ? sigmoid : gate * sigmoid;
}

}  // namespace

TEST_CASE("the L2 norm divides by the root of the sum, not of the mean") {
  for (const int64_t width : kWidths) {
    const Floats x = Normal(kGroups * width, 1);
    const L2NormShape shape = {.heads = kGroups, .width = width, .epsilon = 1e-3, .scale = 0.25f};
    const Floats got = Everywhere([&] {
      Floats y = x;
      L2NormHeads(shape, y.data());
      return y;
    });
    Doubles expected(x.begin(), x.end());
    for (size_t first = 0; first < x.size(); first += static_cast<size_t>(width)) {
      double sum = 0;
      for (size_t i = first; i < first + static_cast<size_t>(width); ++i) {
        sum += expected[i] * expected[i];
      }
      for (size_t i = first; i < first + static_cast<size_t>(width); ++i) {
        expected[i] *= 0.25 / std::sqrt(sum + 1e-3);
      }
    }
    CHECK(Distance(got, expected) < 5e-7);
  }
}

TEST_CASE("a gated norm gates before or after it, with shared weights or a group's own") {
  for (const int64_t width : kWidths) {
    const Floats x = Normal(kGroups * width, 1);
    const Floats gate = Normal(kGroups * width, 2);
    const Floats weight = Normal(kGroups * width, 3);
    for (const auto order : {GateOrder::kAfterNorm, GateOrder::kBeforeNorm}) {
      for (const auto activation :
           {GateActivation::kNone, GateActivation::kSilu, GateActivation::kSigmoid}) {
        for (const int64_t stride : {int64_t{0}, width, int64_t{-1}}) {
          const GatedNorm norm = {.groups = kGroups,
                                  .width = width,
                                  .epsilon = 2e-3,
                                  .weight = stride < 0 ? nullptr : weight.data(),
                                  .weight_stride = std::max<int64_t>(stride, 0),
                                  .activation = activation,
                                  .order = order};
          const bool none = activation == GateActivation::kNone;
          const Floats got = Everywhere([&] {
            Floats y = x;
            GatedRmsNorm(norm, none ? nullptr : gate.data(), y.data());
            return y;
          });
          Doubles expected(x.begin(), x.end());
          const bool before = order == GateOrder::kBeforeNorm;
          for (int64_t g = 0; g < kGroups; ++g) {
            double sum = 0;
            for (int64_t i = 0; i < width; ++i) {
              const auto at = static_cast<size_t>(g * width + i);
              if (before) expected[at] *= Activated(activation, gate[at]);
              sum += expected[at] * expected[at];
            }
            for (int64_t i = 0; i < width; ++i) {
              const auto at = static_cast<size_t>(g * width + i);
              expected[at] /= std::sqrt(sum / static_cast<double>(width) + 2e-3);
              if (stride >= 0) expected[at] *= weight[static_cast<size_t>(g * stride + i)];
              if (!before) expected[at] *= Activated(activation, gate[at]);
            }
          }
          CHECK(Distance(got, expected) < 1e-6);
        }
      }
    }
  }
}

TEST_CASE("a group norm removes each group's mean; one group is a LayerNorm") {
  for (const int64_t width : kWidths) {
    for (const bool with_bias : {false, true}) {
      Floats x = Normal(kGroups * width, 1);
      for (float& v : x) v += 5;
      const Floats weight = Normal(kGroups * width, 2);
      const Floats bias = Normal(kGroups * width, 3);
      const GroupNormShape norm = {.groups = kGroups,
                                   .width = width,
                                   .epsilon = 1e-3,
                                   .weight = weight.data(),
                                   .bias = with_bias ? bias.data() : nullptr};
      const Floats got = Everywhere([&] {
        Floats out(x.size());
        GroupNorm(norm, x.data(), out.data());
        return out;
      });
      Doubles expected(x.begin(), x.end());
      for (size_t first = 0; first < x.size(); first += static_cast<size_t>(width)) {
        const size_t end = first + static_cast<size_t>(width);
        double mean = 0;
        for (size_t i = first; i < end; ++i) mean += x[i] / static_cast<double>(width);
        double variance = 0;
        for (size_t i = first; i < end; ++i) {
          variance += std::pow(x[i] - mean, 2) / static_cast<double>(width);
        }
        for (size_t i = first; i < end; ++i) {
          expected[i] = (x[i] - mean) / std::sqrt(variance + 1e-3) * weight[i];
          if (with_bias) expected[i] += bias[i];
        }
      }
      CHECK(Distance(got, expected) < 3e-6);
    }
  }
}

}  // namespace cairn
