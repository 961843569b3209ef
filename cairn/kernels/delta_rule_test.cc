#include "cairn/kernels/delta_rule.h"

#include <doctest/doctest.h>

#include "cairn/kernels/recurrence_for_tests.h"
#include "cairn/kernels/recurrence_reference.h"

namespace cairn {
namespace {

struct Shape {
  int64_t key_width;
  int64_t value_width;
  int64_t tokens;
};
constexpr Shape kShapes[] = {{1, 1, 1},    {5, 3, 9},    {16, 16, 20}, {16, 24, 33},
                             {16, 33, 40}, {32, 49, 18}, {64, 128, 35}};

struct Inputs {
  Shape shape;
  Floats state;
  Floats queries;
  Floats keys;
  Floats values;
  Floats decays;
  Floats removal_keys;
  Floats rates;

  explicit Inputs(Shape s)
      : shape(s),
        state(Normal(s.key_width * s.value_width, 1)),
        queries(Normal(s.tokens * s.key_width, 2)),
        keys(Normal(s.tokens * s.key_width, 3)),
        values(Normal(s.tokens * s.value_width, 4)),
        decays(Uniform(s.tokens * s.key_width, 5, 0, 1)),
        removal_keys(Normal(s.tokens * s.key_width, 6)),
        rates(Uniform(s.tokens * s.key_width, 7, 0, 1)) {
    NormalizeRows(queries, s.key_width);
    NormalizeRows(keys, s.key_width);
    NormalizeRows(removal_keys, s.key_width);
  }

  TokenRows Keyed(const Floats& x, int64_t first) const {
    return From(TokenRows{x.data(), shape.key_width}, first);
  }
  TokenRows Values(int64_t first) const {
    return From(TokenRows{values.data(), shape.value_width}, first);
  }
  size_t At(int64_t t, int64_t i) const { return static_cast<size_t>(t * shape.key_width + i); }
};

using DeltaKernel = void (*)(const DeltaRuleHead&, int64_t);
using Wkv7Kernel = void (*)(const Wkv7Head&, int64_t);

// The betas are the first of each token's rates, a head's decay the first of its decays.
Floats Walk(const Inputs& in, DecayWidth decay_width, DeltaKernel kernel, int64_t chunk) {
  const Shape& shape = in.shape;
  Floats state = in.state;
  Floats out(static_cast<size_t>(shape.tokens * shape.value_width));
  InChunks(shape.tokens, chunk, [&](int64_t first, int64_t tokens) {
    const DeltaRuleHead head = {
        .key_width = shape.key_width,
        .value_width = shape.value_width,
        .state = state.data(),
        .queries = in.Keyed(in.queries, first),
        .keys = in.Keyed(in.keys, first),
        .values = in.Values(first),
        .betas = in.Keyed(in.rates, first),
        .decay_width = decay_width,
        .decays = in.Keyed(in.decays, first),
        .out = From(MutableTokenRows{out.data(), shape.value_width}, first)};
    kernel(head, tokens);
  });
  return Joined(out, state);
}

Floats Walk7(const Inputs& in, Wkv7Kernel kernel, int64_t chunk) {
  const Shape& shape = in.shape;
  Floats state = in.state;
  Floats out(static_cast<size_t>(shape.tokens * shape.value_width));
  InChunks(shape.tokens, chunk, [&](int64_t first, int64_t tokens) {
    const Wkv7Head head = {.key_width = shape.key_width,
                           .value_width = shape.value_width,
                           .state = state.data(),
                           .receptances = in.Keyed(in.queries, first),
                           .keys = in.Keyed(in.keys, first),
                           .values = in.Values(first),
                           .decays = in.Keyed(in.decays, first),
                           .removal_keys = in.Keyed(in.removal_keys, first),
                           .rates = in.Keyed(in.rates, first),
                           .out = From(MutableTokenRows{out.data(), shape.value_width}, first)};
    kernel(head, tokens);
  });
  return Joined(out, state);
}

// S^T x, column by column.
Doubles Read(const Doubles& state, const float* x, const Shape& shape) {
  Doubles read(static_cast<size_t>(shape.value_width));
  for (size_t n = 0; n < state.size(); ++n) {
    read[n % read.size()] += state[n] * static_cast<double>(x[n / read.size()]);
  }
  return read;
}

}  // namespace

TEST_CASE("the delta rule equals its reference to the bit, and the recurrence nearly") {
  for (const Shape& shape : kShapes) {
    for (const DecayWidth decay_width : {DecayWidth::kHead, DecayWidth::kChannel}) {
      CAPTURE(shape.value_width);
      const bool each = decay_width == DecayWidth::kChannel;
      const Inputs in(shape);
      const auto walk = [&](DeltaKernel kernel, int64_t chunk) {
        return Walk(in, decay_width, kernel, chunk);
      };
      const Floats got = CheckEqualsReference<decltype(walk), DeltaKernel>(
          walk, DeltaRule, DeltaRuleReference, shape.tokens);
      Doubles state(in.state.begin(), in.state.end());
      Doubles expected;
      for (int64_t t = 0; t < shape.tokens; ++t) {
        for (size_t n = 0; n < state.size(); ++n) {
          const auto i = static_cast<int64_t>(n) / shape.value_width;
          state[n] *= in.decays[in.At(t, each ? i : 0)];
        }
        const float* key = &in.keys[in.At(t, 0)];
        const Doubles prediction = Read(state, key, shape);
        for (size_t n = 0; n < state.size(); ++n) {
          const size_t j = n % prediction.size();
          const double error = in.Values(t).first[j] - prediction[j];
          state[n] += in.rates[in.At(t, 0)] * key[n / prediction.size()] * error;
        }
        const Doubles out = Read(state, &in.queries[in.At(t, 0)], shape);
        expected.insert(expected.end(), out.begin(), out.end());
      }
      expected.insert(expected.end(), state.begin(), state.end());
      CHECK(Distance(got, expected) < 1e-5);
    }
  }
}

// Two tokens have left v = [2, 1] under k = [1, 0] and v = [1, 3] under k = [0, 1]. The third one
// has the first one's key and the value [0, 2].
TEST_CASE("the delta rule predicts a value, and corrects the state by the error") {
  constexpr float kOne = 1;
  const Floats key = {1, 0};
  const Floats value = {0, 2};
  const auto read = [&](float beta, Floats& state) {
    Floats out(2);
    DeltaRule({.key_width = 2,
               .value_width = 2,
               .state = state.data(),
               .queries = {key.data(), 2},
               .keys = {key.data(), 2},
               .values = {value.data(), 2},
               .betas = {&beta, 1},
               .decay_width = DecayWidth::kHead,
               .decays = {&kOne, 1},
               .out = {out.data(), 2}},
              1);
    return out;
  };
  Floats state = {2, 1, 1, 3};
  CHECK(read(0, state) == Floats{2, 1});  // the prediction, so the error is [-2, 1]
  CHECK(state == Floats{2, 1, 1, 3});
  CHECK(read(1, state) == value);
  CHECK(state == Floats{0, 2, 1, 3});
}

TEST_CASE("RWKV 7 equals its reference to the bit, and the recurrence nearly") {
  for (const Shape& shape : kShapes) {
    CAPTURE(shape.value_width);
    const Inputs in(shape);
    const auto walk = [&](Wkv7Kernel kernel, int64_t chunk) { return Walk7(in, kernel, chunk); };
    const Floats got =
        CheckEqualsReference<decltype(walk), Wkv7Kernel>(walk, Wkv7, Wkv7Reference, shape.tokens);
    Doubles state(in.state.begin(), in.state.end());
    Doubles expected;
    for (int64_t t = 0; t < shape.tokens; ++t) {
      const Doubles removed = Read(state, &in.removal_keys[in.At(t, 0)], shape);
      for (size_t n = 0; n < state.size(); ++n) {
        const size_t j = n % removed.size();
        const size_t at = in.At(t, static_cast<int64_t>(n / removed.size()));
        const double removal = static_cast<double>(in.removal_keys[at]) * in.rates[at];
        state[n] = state[n] * in.decays[at] - removal * removed[j] +
                   static_cast<double>(in.keys[at]) * in.Values(t).first[j];
      }
      const Doubles out = Read(state, &in.queries[in.At(t, 0)], shape);
      expected.insert(expected.end(), out.begin(), out.end());
    }
    expected.insert(expected.end(), state.begin(), state.end());
    CHECK(Distance(got, expected) < 1e-5);
  }
}

}  // namespace cairn
