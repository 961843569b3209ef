#include "cairn/kernels/causal_conv.h"

#include <doctest/doctest.h>

#include "cairn/kernels/recurrence_for_tests.h"
#include "cairn/kernels/recurrence_reference.h"

namespace cairn {
namespace {

using Kernel = void (*)(const CausalConvTask&, int64_t);

struct Case {
  int64_t channels;
  int64_t kernel;
  int64_t dilation;
  bool bias;
  ConvActivation activation;
};
constexpr Case kCases[] = {
    {1, 1, 1, false, ConvActivation::kNone},   {7, 2, 1, true, ConvActivation::kNone},
    {16, 3, 1, false, ConvActivation::kNone},  {33, 4, 1, true, ConvActivation::kSilu},
    {160, 4, 1, false, ConvActivation::kSilu}, {20, 5, 2, true, ConvActivation::kNone},
    {9, 3, 9, false, ConvActivation::kSilu},
};
constexpr int64_t kTokens = 37;
constexpr int64_t kInputStride = 200;

}  // namespace

TEST_CASE("a causal convolution equals its reference to the bit, and the sum nearly") {
  for (const Case& c : kCases) {
    CAPTURE(c.channels);
    CAPTURE(c.kernel);
    const int64_t history = (c.kernel - 1) * c.dilation;
    const Floats weights = Normal(c.kernel * c.channels, 1);
    const Floats bias = Normal(c.channels, 2);
    const Floats before = Normal(history * c.channels, 3);
    const Floats inputs = Normal(kTokens * kInputStride, 4);
    const auto walk = [&](Kernel kernel, int64_t chunk) {
      Floats tail = before;
      Floats out(static_cast<size_t>(kTokens * c.channels));
      InChunks(kTokens, chunk, [&](int64_t first, int64_t tokens) {
        const CausalConvTask task = {.channels = c.channels,
                                     .kernel = c.kernel,
                                     .dilation = c.dilation,
                                     .channel_stride = c.channels,
                                     .weights = weights.data(),
                                     .bias = c.bias ? bias.data() : nullptr,
                                     .activation = c.activation,
                                     .tail = tail.data(),
                                     .inputs = From(TokenRows{inputs.data(), kInputStride}, first),
                                     .out = From(MutableTokenRows{out.data(), c.channels}, first)};
        kernel(task, tokens);
      });
      return Joined(out, tail);
    };
    const Floats got = CheckEqualsReference<decltype(walk), Kernel>(walk, CausalConv,
                                                                    CausalConvReference, kTokens);
    const auto input = [&](int64_t t, int64_t channel) -> double {
      if (t >= 0) return inputs[static_cast<size_t>(t * kInputStride + channel)];
      return before[static_cast<size_t>((history + t) * c.channels + channel)];
    };
    Doubles expected;
    for (int64_t t = 0; t < kTokens; ++t) {
      for (int64_t channel = 0; channel < c.channels; ++channel) {
        double sum = c.bias ? bias[static_cast<size_t>(channel)] : 0;
        for (int64_t k = 0; k < c.kernel; ++k) {
          const int64_t back = (c.kernel - 1 - k) * c.dilation;
          sum += weights[static_cast<size_t>(k * c.channels + channel)] * input(t - back, channel);
        }
        expected.push_back(c.activation == ConvActivation::kSilu ? sum / (1 + std::exp(-sum))
                                                                 : sum);
      }
    }
    for (int64_t t = kTokens - history; t < kTokens; ++t) {
      for (int64_t channel = 0; channel < c.channels; ++channel) {
        expected.push_back(input(t, channel));
      }
    }
    CHECK(Distance(got, expected) < 1e-6);
  }
}

TEST_CASE("channels may be handed out in parts") {
  constexpr int64_t kChannels = 50;
  const Floats weights = Normal(4 * kChannels, 1);
  const Floats inputs = Normal(kTokens * kChannels, 2);
  const auto run = [&](int64_t part) {
    Floats tail(3 * kChannels);
    Floats out(kTokens * kChannels);
    for (int64_t c = 0; c < kChannels; c += part) {
      const CausalConvTask task = {.channels = std::min(part, kChannels - c),
                                   .kernel = 4,
                                   .channel_stride = kChannels,
                                   .weights = weights.data() + c,
                                   .tail = tail.data() + c,
                                   .inputs = {inputs.data() + c, kChannels},
                                   .out = {out.data() + c, kChannels}};
      CausalConv(task, kTokens);
    }
    return Joined(out, tail);
  };
  const Floats whole = run(kChannels);
  for (const int64_t part : {1, 16, 23}) CHECK(SameBits(run(part), whole));
}

}  // namespace cairn
