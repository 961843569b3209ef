#include "cairn/kernels/linear_attention.h"

#include <cmath>

#include "cairn/kernels/targets.h"

#include "cairn/kernels/flush_subnormals.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cairn/kernels/linear_attention.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"

#include "cairn/kernels/columns-inl.h"
#include "cairn/kernels/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace cairn::HWY_NAMESPACE {
namespace {

constexpr FloatTag d;

template <int N, DecayWidth kDecay>
HWY_INLINE void LinearToken(const LinearAttentionHead& head, int64_t token, int64_t first,
                            int count) {
  const float* keys = head.keys.Row(token);
  const float* queries = head.queries.Row(token);
  const float* decays = head.decays.Row(token);
  const auto values = Columns<N>::Load(head.values.Row(token) + first, count);
  auto scaled = values;
  if (head.value_scales.first != nullptr) {
    scaled = Times(hn::Set(d, *head.value_scales.Row(token)), values);
  }
  auto out = Columns<N>::Zero();
  FloatVector decay = hn::Set(d, decays[0]);
  float* row = head.state + first;
  for (int64_t i = 0; i < head.key_width; ++i, row += head.value_width) {
    if constexpr (kDecay == DecayWidth::kChannel) decay = hn::Set(d, decays[i]);
    const auto kept = Times(decay, Columns<N>::Load(row, count));
    const auto state = TimesPlus(hn::Set(d, keys[i]), scaled, kept);
    state.Store(row, count);
    out = TimesPlus(hn::Set(d, queries[i]), state, out);
  }
  if (head.skip != 0) out = TimesPlus(hn::Set(d, head.skip), values, out);
  out.Store(head.out.Row(token) + first, count);
}

void LinearAttentionT(const LinearAttentionHead& head, int64_t tokens) {
  const auto run = [&]<int N>(int64_t first, int count) HWY_ATTR {
    for (int64_t token = 0; token < tokens; ++token) {
      if (head.decay_width == DecayWidth::kChannel) {
        LinearToken<N, DecayWidth::kChannel>(head, token, first, count);
      } else {
        LinearToken<N, DecayWidth::kHead>(head, token, first, count);
      }
    }
  };
  ForColumnBlocks(head.value_width, run);
}

template <int N>
HWY_INLINE void Wkv6Token(const Wkv6Head& head, int64_t token, int64_t first, int count) {
  const float* keys = head.keys.Row(token);
  const float* receptances = head.receptances.Row(token);
  const float* decays = head.decays.Row(token);
  const auto values = Columns<N>::Load(head.values.Row(token) + first, count);
  auto out = Columns<N>::Zero();
  float* row = head.state + first;
  for (int64_t i = 0; i < head.key_width; ++i, row += head.value_width) {
    const auto before = Columns<N>::Load(row, count);
    const auto added = Times(hn::Set(d, keys[i]), values);
    out = TimesPlus(hn::Set(d, receptances[i]), TimesPlus(hn::Set(d, head.bonus[i]), added, before),
                    out);
    TimesPlus(hn::Set(d, decays[i]), before, added).Store(row, count);
  }
  out.Store(head.out.Row(token) + first, count);
}

void Wkv6T(const Wkv6Head& head, int64_t tokens) {
  const auto run = [&]<int N>(int64_t first, int count) HWY_ATTR {
    for (int64_t token = 0; token < tokens; ++token) Wkv6Token<N>(head, token, first, count);
  };
  ForColumnBlocks(head.value_width, run);
}

}  // namespace
// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace cairn::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cairn {

HWY_EXPORT(LinearAttentionT);
HWY_EXPORT(Wkv6T);

void LinearAttention(const LinearAttentionHead& head, int64_t tokens) {
  const FlushSubnormals flush;
  HWY_DYNAMIC_DISPATCH(LinearAttentionT)(head, tokens);
}

void Wkv6(const Wkv6Head& head, int64_t tokens) {
  const FlushSubnormals flush;
  HWY_DYNAMIC_DISPATCH(Wkv6T)(head, tokens);
}

float LightningDecay(int64_t head, int64_t heads, int64_t layer, int64_t layers) {
  const double slope = std::exp2(-8.0 * static_cast<double>(head + 1) / static_cast<double>(heads));
  const double depth = static_cast<double>(layer) / (static_cast<double>(layers - 1) + 1e-5);
  return static_cast<float>(std::exp(-slope * (1 - depth + 1e-5)));
}

float RetentionDecay(int64_t head) {
  return static_cast<float>(1 - std::exp2(-5.0 - static_cast<double>(head)));
}

}  // namespace cairn
#endif  // HWY_ONCE
