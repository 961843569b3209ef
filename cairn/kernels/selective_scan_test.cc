#include "cairn/kernels/selective_scan.h"

#include <doctest/doctest.h>

#include "cairn/kernels/recurrence_for_tests.h"
#include "cairn/kernels/recurrence_reference.h"

namespace cairn {
namespace {

using Kernel = void (*)(const SelectiveScanTask&, int64_t);

constexpr int64_t kTokens = 35;

struct Inputs {
  int64_t channels;
  int64_t state_width;
  Floats state;
  Floats rates;
  Floats skip;
  Floats inputs;
  Floats steps;
  Floats keys;  // of each token: B, then C

  Inputs(int64_t c, int64_t n)
      : channels(c),
        state_width(n),
        state(Normal(c * n, 1)),
        rates(Uniform(c * n, 2, -16, 0)),
        skip(Normal(c, 3)),
        inputs(Normal(kTokens * c, 4)),
        steps(Uniform(kTokens * c, 5, 0, 1)),
        keys(Normal(kTokens * 2 * n, 6)) {}

  // Channels [first, first + count) from a token on.
  SelectiveScanTask Task(int64_t first, int64_t count, int64_t token) const {
    SelectiveScanTask task = {
        .channels = count, .state_width = state_width, .channel_stride = channels};
    task.rates = rates.data() + first;
    task.skip = skip.data() + first;
    task.inputs = From(TokenRows{inputs.data() + first, channels}, token);
    task.steps = From(TokenRows{steps.data() + first, channels}, token);
    task.input_keys = From(TokenRows{keys.data(), 2 * state_width}, token);
    task.output_keys = From(TokenRows{keys.data() + state_width, 2 * state_width}, token);
    return task;
  }
};

Doubles Exact(const Inputs& in) {
  Doubles state(in.state.begin(), in.state.end());
  Doubles expected;
  for (int64_t t = 0; t < kTokens; ++t) {
    for (int64_t c = 0; c < in.channels; ++c) {
      const auto at = static_cast<size_t>(t * in.channels + c);
      const double step = in.steps[at];
      double sum = in.skip[static_cast<size_t>(c)] * static_cast<double>(in.inputs[at]);
      for (int64_t n = 0; n < in.state_width; ++n) {
        const auto key = static_cast<size_t>(2 * in.state_width * t + n);
        const auto element = static_cast<size_t>(n * in.channels + c);
        double& s = state[element];
        s = std::exp(step * in.rates[element]) * s + step * in.keys[key] * in.inputs[at];
        sum += s * in.keys[key + static_cast<size_t>(in.state_width)];
      }
      expected.push_back(sum);
    }
  }
  expected.insert(expected.end(), state.begin(), state.end());
  return expected;
}

}  // namespace

TEST_CASE("the selective scan equals its reference to the bit, and the recurrence nearly") {
  for (const int64_t channels : {1, 7, 16, 33, 128}) {
    for (const int64_t state_width : {1, 8, 16}) {
      CAPTURE(channels);
      CAPTURE(state_width);
      const Inputs in(channels, state_width);
      const auto walk = [&](Kernel kernel, int64_t chunk) {
        Floats state = in.state;
        Floats out(static_cast<size_t>(kTokens * channels));
        InChunks(kTokens, chunk, [&](int64_t first, int64_t tokens) {
          SelectiveScanTask task = in.Task(0, channels, first);
          task.state = state.data();
          task.out = From(MutableTokenRows{out.data(), channels}, first);
          kernel(task, tokens);
        });
        return Joined(out, state);
      };
      const Floats got = CheckEqualsReference<decltype(walk), Kernel>(
          walk, SelectiveScan, SelectiveScanReference, kTokens);
      CHECK(Distance(got, Exact(in)) < 1e-5);
    }
  }
}

TEST_CASE("channels of a scan may be handed out in parts, and written over the inputs") {
  constexpr int64_t kChannels = 50;
  const Inputs in(kChannels, 8);
  const auto run = [&](int64_t part) {
    Floats state = in.state;
    Floats out = in.inputs;
    for (int64_t c = 0; c < kChannels; c += part) {
      SelectiveScanTask task = in.Task(c, std::min(part, kChannels - c), 0);
      task.state = state.data() + c;
      task.inputs = {out.data() + c, kChannels};
      task.out = {out.data() + c, kChannels};
      SelectiveScan(task, kTokens);
    }
    return Joined(out, state);
  };
  const Floats whole = run(kChannels);
  CHECK(Distance(whole, Exact(in)) < 1e-5);
  for (const int64_t part : {1, 16, 23}) CHECK(SameBits(run(part), whole));
}

}  // namespace cairn
