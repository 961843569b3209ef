#include "cairn/kernels/linear_attention.h"

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
constexpr Shape kShapes[] = {{1, 1, 1},    {5, 3, 9},    {16, 16, 20}, {20, 24, 33},
                             {16, 33, 40}, {32, 49, 18}, {64, 128, 35}};

// Inputs of one head, rows `kGap` floats longer than they are used.
struct Inputs {
  static constexpr int64_t kGap = 3;
  Shape shape;
  Floats state;
  Floats queries;
  Floats keys;
  Floats values;
  Floats decays;
  Floats scales;

  explicit Inputs(Shape s)
      : shape(s),
        state(Normal(s.key_width * s.value_width, 1)),
        queries(Normal(s.tokens * (s.key_width + kGap), 2)),
        keys(Normal(s.tokens * (s.key_width + kGap), 3)),
        values(Normal(s.tokens * (s.value_width + kGap), 4)),
        decays(Uniform(s.tokens * (s.key_width + kGap), 5, 0, 1)),
        scales(Uniform(s.tokens, 6, 0, 2)) {}

  TokenRows Keyed(const Floats& x) const { return {x.data(), shape.key_width + kGap}; }
  TokenRows Values() const { return {values.data(), shape.value_width + kGap}; }
  size_t At(int64_t t, int64_t i) const {
    return static_cast<size_t>(t * (shape.key_width + kGap) + i);
  }
};

// What a form of linear attention takes from Inputs.
struct Form {
  DecayWidth decay_width = DecayWidth::kHead;
  bool constant_decay = false;
  bool scaled = false;
  float skip = 0;
};
constexpr Form kForms[] = {
    {.constant_decay = true},               // lightning, retention
    {.decay_width = DecayWidth::kChannel},  // gated linear attention
    {.scaled = true, .skip = 0.7f},         // Mamba 2
    {.decay_width = DecayWidth::kChannel, .scaled = true},
};

using Kernel = void (*)(const LinearAttentionHead&, int64_t);

Floats Walk(const Inputs& in, const Form& form, Kernel kernel, int64_t chunk) {
  Floats state = in.state;
  Floats out(static_cast<size_t>(in.shape.tokens * in.shape.value_width));
  InChunks(in.shape.tokens, chunk, [&](int64_t first, int64_t tokens) {
    LinearAttentionHead head = {.key_width = in.shape.key_width,
                                .value_width = in.shape.value_width,
                                .state = state.data()};
    head.queries = From(in.Keyed(in.queries), first);
    head.keys = From(in.Keyed(in.keys), first);
    head.values = From(in.Values(), first);
    head.decay_width = form.decay_width;
    head.decays = in.Keyed(in.decays);
    if (form.constant_decay) head.decays.stride = 0;
    head.decays = From(head.decays, first);
    if (form.scaled) head.value_scales = From(TokenRows{in.scales.data(), 1}, first);
    head.skip = form.skip;
    head.out = From(MutableTokenRows{out.data(), in.shape.value_width}, first);
    kernel(head, tokens);
  });
  return Joined(out, state);
}

// o_t = q_t . S_t with S_t = decay * S_(t-1) + k_t (scale v_t)^T, in double precision.
Doubles Exact(const Inputs& in, const Form& form) {
  const auto [key_width, value_width, tokens] = in.shape;
  Doubles state(in.state.begin(), in.state.end());
  Doubles out;
  for (int64_t t = 0; t < tokens; ++t) {
    const float* values = in.Values().Row(t);
    for (int64_t j = 0; j < value_width; ++j) {
      double sum = 0;
      for (int64_t i = 0; i < key_width; ++i) {
        const bool each = form.decay_width == DecayWidth::kChannel;
        const double decay = in.decays[in.At(form.constant_decay ? 0 : t, each ? i : 0)];
        const double scale = form.scaled ? in.scales[static_cast<size_t>(t)] : 1;
        double& s = state[static_cast<size_t>(i * value_width + j)];
        s = decay * s + in.keys[in.At(t, i)] * scale * values[j];
        sum += in.queries[in.At(t, i)] * s;
      }
      out.push_back(sum + static_cast<double>(form.skip) * values[j]);
    }
  }
  out.insert(out.end(), state.begin(), state.end());
  return out;
}

}  // namespace

TEST_CASE("linear attention equals its reference to the bit, and the recurrence nearly") {
  for (const Shape& shape : kShapes) {
    for (const Form& form : kForms) {
      CAPTURE(shape.value_width);
      CAPTURE(form.skip);
      const Inputs in(shape);
      const auto walk = [&](Kernel kernel, int64_t chunk) { return Walk(in, form, kernel, chunk); };
      const Floats got = CheckEqualsReference<decltype(walk), Kernel>(
          walk, LinearAttention, LinearAttentionReference, shape.tokens);
      CHECK(Distance(got, Exact(in, form)) < 3e-5);
    }
  }
}

TEST_CASE("a state that decays to nothing becomes zero, not subnormal") {
  Floats state(32, 1.0f);
  const Floats zeros(32);
  const float decay = 0.5f;
  Floats out(32);
  const LinearAttentionHead head = {.key_width = 1,
                                    .value_width = 32,
                                    .state = state.data(),
                                    .queries = {zeros.data(), 0},
                                    .keys = {zeros.data(), 0},
                                    .values = {zeros.data(), 0},
                                    .decays = {&decay, 0},
                                    .out = {out.data(), 0}};
  LinearAttention(head, 126);
  CHECK(state[0] == std::exp2(-126.0f));
  LinearAttention(head, 1);
  CHECK(state == zeros);
}

TEST_CASE("RWKV 5 and 6 equal their reference to the bit, and the recurrence nearly") {
  for (const Shape& shape : kShapes) {
    for (const bool constant_decay : {false, true}) {
      CAPTURE(shape.value_width);
      const Inputs in(shape);
      const Floats bonus = Normal(shape.key_width, 7);
      using Wkv6Kernel = void (*)(const Wkv6Head&, int64_t);
      const auto walk = [&](Wkv6Kernel kernel, int64_t chunk) {
        Floats state = in.state;
        Floats out(static_cast<size_t>(shape.tokens * shape.value_width));
        InChunks(shape.tokens, chunk, [&](int64_t first, int64_t tokens) {
          TokenRows decays = in.Keyed(in.decays);
          if (constant_decay) decays.stride = 0;
          const Wkv6Head head = {
              .key_width = shape.key_width,
              .value_width = shape.value_width,
              .state = state.data(),
              .receptances = From(in.Keyed(in.queries), first),
              .keys = From(in.Keyed(in.keys), first),
              .values = From(in.Values(), first),
              .decays = From(decays, first),
              .bonus = bonus.data(),
              .out = From(MutableTokenRows{out.data(), shape.value_width}, first)};
          kernel(head, tokens);
        });
        return Joined(out, state);
      };
      const Floats got =
          CheckEqualsReference<decltype(walk), Wkv6Kernel>(walk, Wkv6, Wkv6Reference, shape.tokens);
      Doubles state(in.state.begin(), in.state.end());
      Doubles expected;
      for (int64_t t = 0; t < shape.tokens; ++t) {
        for (int64_t j = 0; j < shape.value_width; ++j) {
          double sum = 0;
          for (int64_t i = 0; i < shape.key_width; ++i) {
            double& s = state[static_cast<size_t>(i * shape.value_width + j)];
            const double kv = static_cast<double>(in.keys[in.At(t, i)]) * in.Values().Row(t)[j];
            sum += in.queries[in.At(t, i)] * (s + bonus[static_cast<size_t>(i)] * kv);
            s = in.decays[in.At(constant_decay ? 0 : t, i)] * s + kv;
          }
          expected.push_back(sum);
        }
      }
      expected.insert(expected.end(), state.begin(), state.end());
      CHECK(Distance(got, expected) < 3e-5);
    }
  }
}

TEST_CASE("decays of lightning attention and retention are those of their papers") {
  // Four heads, first of five layers: slopes 2^-2, 2^-4, ...
  CHECK(LightningDecay(0, 4, 0, 5) == doctest::Approx(std::exp(-0.25 * 1.00001)));
  CHECK(LightningDecay(3, 4, 4, 5) == doctest::Approx(std::exp(-1.25e-5 / 256)));
  CHECK(RetentionDecay(0) == 0.96875f);
  CHECK(RetentionDecay(7) == 1 - 1.0f / 4096);
}

}  // namespace cairn
