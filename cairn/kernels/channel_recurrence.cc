#include "cairn/kernels/channel_recurrence.h"

#include "cairn/kernels/targets.h"

#include "cairn/kernels/flush_subnormals.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cairn/kernels/channel_recurrence.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"

#include "cairn/kernels/columns-inl.h"
#include "cairn/kernels/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace cairn::HWY_NAMESPACE {
namespace {

constexpr FloatTag d;

struct Wkv4State {
  FloatVector numerator;
  FloatVector denominator;
  FloatVector exponent;
};

// The state and a value of weight exp(key), over the larger of both exponents.
HWY_INLINE Wkv4State Averaged(const Wkv4State& state, FloatVector key, FloatVector value) {
  const FloatVector larger = hn::Max(state.exponent, key);
  const FloatVector kept = hn::Exp(d, hn::Sub(state.exponent, larger));
  const FloatVector added = hn::Exp(d, hn::Sub(key, larger));
  return {hn::MulAdd(kept, state.numerator, hn::Mul(added, value)),
          hn::MulAdd(kept, state.denominator, added), larger};
}

void Wkv4T(const Wkv4Task& task, int64_t tokens) {
  ForLanes(task.channels, [&](int64_t c, int count) HWY_ATTR {
    const FloatVector decay = LoadPart(task.decay + c, count);
    const FloatVector bonus = LoadPart(task.bonus + c, count);
    Wkv4State state = {LoadPart(task.numerator + c, count), LoadPart(task.denominator + c, count),
                       LoadPart(task.max_exponent + c, count)};
    for (int64_t token = 0; token < tokens; ++token) {
      const FloatVector key = LoadPart(task.keys.Row(token) + c, count);
      const FloatVector value = LoadPart(task.values.Row(token) + c, count);
      const Wkv4State read = Averaged(state, hn::Add(bonus, key), value);
      StorePart(hn::Div(read.numerator, read.denominator), task.out.Row(token) + c, count);
      state.exponent = hn::Add(state.exponent, decay);
      state = Averaged(state, key, value);
    }
    StorePart(state.numerator, task.numerator + c, count);
    StorePart(state.denominator, task.denominator + c, count);
    StorePart(state.exponent, task.max_exponent + c, count);
  });
}

void RgLruT(const RgLruTask& task, int64_t tokens) {
  ForLanes(task.channels, [&](int64_t c, int count) HWY_ATTR {
    const FloatVector rate = LoadPart(task.rates + c, count);
    FloatVector state = LoadPart(task.state + c, count);
    for (int64_t token = 0; token < tokens; ++token) {
      const FloatVector gate = SigmoidOf(LoadPart(task.input_gates.Row(token) + c, count));
      const FloatVector input = hn::Mul(gate, LoadPart(task.inputs.Row(token) + c, count));
      if (token == 0 && task.starts_sequence) {
        state = input;
      } else {
        const FloatVector recurrence =
            SigmoidOf(LoadPart(task.recurrence_gates.Row(token) + c, count));
        const FloatVector exponent = hn::Mul(rate, recurrence);
        const FloatVector rest = hn::Neg(hn::Expm1(d, hn::Add(exponent, exponent)));
        const FloatVector added = hn::Mul(hn::Sqrt(rest), input);
        state = hn::MulAdd(hn::Exp(d, exponent), state, added);
      }
      StorePart(state, task.out.Row(token) + c, count);
    }
    StorePart(state, task.state + c, count);
  });
}

}  // namespace
// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace cairn::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cairn {

HWY_EXPORT(Wkv4T);
HWY_EXPORT(RgLruT);

void Wkv4(const Wkv4Task& task, int64_t tokens) {
  const FlushSubnormals flush;
  HWY_DYNAMIC_DISPATCH(Wkv4T)(task, tokens);
}

void RgLru(const RgLruTask& task, int64_t tokens) {
  const FlushSubnormals flush;
  HWY_DYNAMIC_DISPATCH(RgLruT)(task, tokens);
}

}  // namespace cairn
#endif  // HWY_ONCE
