#include "cairn/kernels/delta_rule.h"

#include "cairn/kernels/targets.h"

#include "cairn/kernels/flush_subnormals.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cairn/kernels/delta_rule.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"

#include "cairn/kernels/columns-inl.h"
#include "cairn/kernels/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace cairn::HWY_NAMESPACE {
namespace {

constexpr FloatTag d;

// S^T k after the token's decay, which isn't stored yet.
template <int N, DecayWidth kDecay>
HWY_INLINE Columns<N> Predict(const DeltaRuleHead& head, int64_t token, int64_t first, int count) {
  const float* keys = head.keys.Row(token);
  const float* decays = head.decays.Row(token);
  auto prediction = Columns<N>::Zero();
  FloatVector decay = hn::Set(d, decays[0]);
  const float* row = head.state + first;
  for (int64_t i = 0; i < head.key_width; ++i, row += head.value_width) {
    if constexpr (kDecay == DecayWidth::kChannel) decay = hn::Set(d, decays[i]);
    const auto kept = Times(decay, Columns<N>::Load(row, count));
    prediction = TimesPlus(hn::Set(d, keys[i]), kept, prediction);
  }
  return prediction;
}

template <int N, DecayWidth kDecay>
HWY_INLINE void DeltaToken(const DeltaRuleHead& head, int64_t token, int64_t first, int count) {
  const auto prediction = Predict<N, kDecay>(head, token, first, count);
  const auto values = Columns<N>::Load(head.values.Row(token) + first, count);
  const auto delta = Times(hn::Set(d, *head.betas.Row(token)), Minus(values, prediction));
  const float* keys = head.keys.Row(token);
  const float* queries = head.queries.Row(token);
  const float* decays = head.decays.Row(token);
  auto out = Columns<N>::Zero();
  FloatVector decay = hn::Set(d, decays[0]);
  float* row = head.state + first;
  for (int64_t i = 0; i < head.key_width; ++i, row += head.value_width) {
    if constexpr (kDecay == DecayWidth::kChannel) decay = hn::Set(d, decays[i]);
    const auto kept = Times(decay, Columns<N>::Load(row, count));
    const auto state = TimesPlus(hn::Set(d, keys[i]), delta, kept);
    state.Store(row, count);
    out = TimesPlus(hn::Set(d, queries[i]), state, out);
  }
  out.Store(head.out.Row(token) + first, count);
}

void DeltaRuleT(const DeltaRuleHead& head, int64_t tokens) {
  const auto run = [&]<int N>(int64_t first, int count) HWY_ATTR {
    for (int64_t token = 0; token < tokens; ++token) {
      if (head.decay_width == DecayWidth::kChannel) {
        DeltaToken<N, DecayWidth::kChannel>(head, token, first, count);
      } else {
        DeltaToken<N, DecayWidth::kHead>(head, token, first, count);
      }
    }
  };
  ForColumnBlocks(head.value_width, run);
}

template <int N>
HWY_INLINE void Wkv7Token(const Wkv7Head& head, int64_t token, int64_t first, int count) {
  const float* removal_keys = head.removal_keys.Row(token);
  auto removed = Columns<N>::Zero();
  float* row = head.state + first;
  for (int64_t i = 0; i < head.key_width; ++i, row += head.value_width) {
    removed = TimesPlus(hn::Set(d, removal_keys[i]), Columns<N>::Load(row, count), removed);
  }
  const float* keys = head.keys.Row(token);
  const float* receptances = head.receptances.Row(token);
  const float* decays = head.decays.Row(token);
  const float* rates = head.rates.Row(token);
  const auto values = Columns<N>::Load(head.values.Row(token) + first, count);
  auto out = Columns<N>::Zero();
  row = head.state + first;
  for (int64_t i = 0; i < head.key_width; ++i, row += head.value_width) {
    const auto decayed = Times(hn::Set(d, decays[i]), Columns<N>::Load(row, count));
    const auto kept = TimesPlus(hn::Set(d, -(removal_keys[i] * rates[i])), removed, decayed);
    const auto state = TimesPlus(hn::Set(d, keys[i]), values, kept);
    state.Store(row, count);
    out = TimesPlus(hn::Set(d, receptances[i]), state, out);
  }
  out.Store(head.out.Row(token) + first, count);
}

void Wkv7T(const Wkv7Head& head, int64_t tokens) {
  const auto run = [&]<int N>(int64_t first, int count) HWY_ATTR {
    for (int64_t token = 0; token < tokens; ++token) Wkv7Token<N>(head, token, first, count);
  };
  ForColumnBlocks(head.value_width, run);
}

}  // namespace
// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace cairn::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cairn {

HWY_EXPORT(DeltaRuleT);
HWY_EXPORT(Wkv7T);

void DeltaRule(const DeltaRuleHead& head, int64_t tokens) {
  const FlushSubnormals flush;
  HWY_DYNAMIC_DISPATCH(DeltaRuleT)(head, tokens);
}

void Wkv7(const Wkv7Head& head, int64_t tokens) {
  const FlushSubnormals flush;
  HWY_DYNAMIC_DISPATCH(Wkv7T)(head, tokens);
}

}  // namespace cairn
#endif  // HWY_ONCE
