#include "cairn/kernels/channel_recurrence.h"

#include <doctest/doctest.h>

#include "cairn/kernels/recurrence_for_tests.h"
#include "cairn/kernels/recurrence_reference.h"

namespace cairn {
namespace {

constexpr int64_t kTokens = 40;
constexpr int64_t kWidths[] = {1, 7, 16, 33, 64};

}  // namespace

TEST_CASE("RWKV 4 equals its reference to the bit, and the weighted average nearly") {
  using Kernel = void (*)(const Wkv4Task&, int64_t);
  for (const int64_t channels : kWidths) {
    CAPTURE(channels);
    const Floats decay = Uniform(channels, 1, -3, -0.01f);
    const Floats bonus = Normal(channels, 2);
    const Floats keys = Normal(kTokens * channels, 3, 3);
    const Floats values = Normal(kTokens * channels, 4);
    const auto walk = [&](Kernel kernel, int64_t chunk) {
      Floats numerator(static_cast<size_t>(channels));
      Floats denominator(static_cast<size_t>(channels));
      Floats exponent(static_cast<size_t>(channels), kWkv4EmptyExponent);
      Floats out(keys.size());
      InChunks(kTokens, chunk, [&](int64_t first, int64_t tokens) {
        const Wkv4Task task = {.channels = channels,
                               .numerator = numerator.data(),
                               .denominator = denominator.data(),
                               .max_exponent = exponent.data(),
                               .decay = decay.data(),
                               .bonus = bonus.data(),
                               .keys = From(TokenRows{keys.data(), channels}, first),
                               .values = From(TokenRows{values.data(), channels}, first),
                               .out = From(MutableTokenRows{out.data(), channels}, first)};
        kernel(task, tokens);
      });
      return Joined(Joined(out, Joined(numerator, denominator)), exponent);
    };
    const Floats all =
        CheckEqualsReference<decltype(walk), Kernel>(walk, Wkv4, Wkv4Reference, kTokens);
    Doubles expected;
    Doubles a(static_cast<size_t>(channels));
    Doubles b(static_cast<size_t>(channels));
    for (size_t at = 0; at < keys.size(); ++at) {
      const size_t c = at % a.size();
      const double now = std::exp(static_cast<double>(bonus[c]) + keys[at]);
      expected.push_back((a[c] + now * values[at]) / (b[c] + now));
      const double weight = std::exp(static_cast<double>(keys[at]));
      a[c] = std::exp(static_cast<double>(decay[c])) * a[c] + weight * values[at];
      b[c] = std::exp(static_cast<double>(decay[c])) * b[c] + weight;
    }
    CHECK(Distance(Floats(all.begin(), all.begin() + kTokens * channels), expected) < 2e-6);
  }
}

TEST_CASE("RWKV 4 stays finite for keys whose exponentials overflow") {
  const float decay = -1;
  const float bonus = 0;
  const Floats keys = {200, 100, -300, 200};
  const Floats values = {1, 2, 3, 5};
  Floats state = {0, 0, kWkv4EmptyExponent};
  Floats out(4);
  const Wkv4Task task = {.channels = 1,
                         .numerator = &state[0],
                         .denominator = &state[1],
                         .max_exponent = &state[2],
                         .decay = &decay,
                         .bonus = &bonus,
                         .keys = {keys.data(), 1},
                         .values = {values.data(), 1},
                         .out = {out.data(), 1}};
  Wkv4(task, 4);
  CHECK(out[0] == 1);
  CHECK(out[1] == 1);
  CHECK(out[2] == 1);
  CHECK(out[3] == doctest::Approx((5 + std::exp(-2.0)) / (1 + std::exp(-2.0))));
}

TEST_CASE("the RG-LRU equals its reference to the bit, and the recurrence nearly") {
  using Kernel = void (*)(const RgLruTask&, int64_t);
  for (const int64_t channels : kWidths) {
    for (const bool starts : {false, true}) {
      CAPTURE(channels);
      CAPTURE(starts);
      const Floats before = Normal(channels, 1);
      const Floats rates = Uniform(channels, 2, -4, -1e-4f);
      const Floats inputs = Normal(kTokens * channels, 3);
      const Floats input_gates = Normal(kTokens * channels, 4, 2);
      const Floats recurrence_gates = Normal(kTokens * channels, 5, 2);
      const auto walk = [&](Kernel kernel, int64_t chunk) {
        Floats state = before;
        Floats out(inputs.size());
        InChunks(kTokens, chunk, [&](int64_t first, int64_t tokens) {
          const RgLruTask task = {
              .channels = channels,
              .state = state.data(),
              .rates = rates.data(),
              .inputs = From(TokenRows{inputs.data(), channels}, first),
              .input_gates = From(TokenRows{input_gates.data(), channels}, first),
              .recurrence_gates = From(TokenRows{recurrence_gates.data(), channels}, first),
              .out = From(MutableTokenRows{out.data(), channels}, first),
              .starts_sequence = starts && first == 0};
          kernel(task, tokens);
        });
        return Joined(out, state);
      };
      const Floats got =
          CheckEqualsReference<decltype(walk), Kernel>(walk, RgLru, RgLruReference, kTokens);
      Doubles state(before.begin(), before.end());
      Doubles expected;
      for (size_t at = 0; at < inputs.size(); ++at) {
        double& h = state[at % state.size()];
        const double log_a =
            rates[at % state.size()] / (1 + std::exp(-static_cast<double>(recurrence_gates[at])));
        const double input = inputs[at] / (1 + std::exp(-static_cast<double>(input_gates[at])));
        const bool start = starts && at < state.size();
        h = start ? input : std::exp(log_a) * h + std::sqrt(1 - std::exp(2 * log_a)) * input;
        expected.push_back(h);
      }
      expected.insert(expected.end(), state.begin(), state.end());
      CHECK(Distance(got, expected) < 2e-6);
    }
  }
}

}  // namespace cairn
