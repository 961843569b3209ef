#include "cairn/kernels/selective_scan.h"

#include "cairn/kernels/targets.h"

#include "cairn/kernels/flush_subnormals.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cairn/kernels/selective_scan.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"

#include "cairn/kernels/columns-inl.h"
#include "cairn/kernels/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace cairn::HWY_NAMESPACE {
namespace {

constexpr FloatTag d;

template <int N>
HWY_INLINE void ScanToken(const SelectiveScanTask& task, int64_t token, int64_t first, int count) {
  const auto inputs = Columns<N>::Load(task.inputs.Row(token) + first, count);
  const auto steps = Columns<N>::Load(task.steps.Row(token) + first, count);
  const auto added = Times(steps, inputs);
  const float* input_keys = task.input_keys.Row(token);
  const float* output_keys = task.output_keys.Row(token);
  auto out = Columns<N>::Zero();
  for (int64_t n = 0; n < task.state_width; ++n) {
    float* row = task.state + n * task.channel_stride + first;
    const auto rates = Columns<N>::Load(task.rates + n * task.channel_stride + first, count);
    const auto kept = Times(ExpOf(Times(steps, rates)), Columns<N>::Load(row, count));
    const auto state = TimesPlus(hn::Set(d, input_keys[n]), added, kept);
    state.Store(row, count);
    out = TimesPlus(hn::Set(d, output_keys[n]), state, out);
  }
  const auto skip = Columns<N>::Load(task.skip + first, count);
  TimesPlus(skip, inputs, out).Store(task.out.Row(token) + first, count);
}

void SelectiveScanT(const SelectiveScanTask& task, int64_t tokens) {
  const auto run = [&]<int N>(int64_t first, int count) HWY_ATTR {
    for (int64_t token = 0; token < tokens; ++token) ScanToken<N>(task, token, first, count);
  };
  ForColumnBlocks(task.channels, run);
}

}  // namespace
// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace cairn::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cairn {

HWY_EXPORT(SelectiveScanT);

void SelectiveScan(const SelectiveScanTask& task, int64_t tokens) {
  const FlushSubnormals flush;
  HWY_DYNAMIC_DISPATCH(SelectiveScanT)(task, tokens);
}

}  // namespace cairn
#endif  // HWY_ONCE
