#include "cairn/kernels/pooled_row.h"

#include "cairn/kernels/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cairn/kernels/pooled_row.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"

#include "cairn/kernels/columns-inl.h"
#include "cairn/kernels/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace cairn::HWY_NAMESPACE {
namespace {

HWY_INLINE FloatVector GateOf(const RowsToPool& rows, int64_t row, int64_t channel, int count) {
  const FloatVector gate = LoadPart(rows.gates + row * rows.stride + channel, count);
  if (rows.bias == nullptr) return gate;
  return hn::Add(gate, LoadPart(rows.bias + row * rows.bias_stride + channel, count));
}

void PooledRowT(const RowsToPool& rows, float* out) {
  constexpr FloatTag d;
  ForLanes(rows.width, [&](int64_t c, int count) HWY_ATTR {
    FloatVector largest = GateOf(rows, 0, c, count);
    for (int64_t r = 1; r < rows.count; ++r) {
      largest = hn::Max(largest, GateOf(rows, r, c, count));
    }
    FloatVector sum = hn::Zero(d);
    FloatVector weighed = hn::Zero(d);
    for (int64_t r = 0; r < rows.count; ++r) {
      const FloatVector weight = SafeExp(d, hn::Sub(GateOf(rows, r, c, count), largest));
      sum = hn::Add(sum, weight);
      weighed = hn::MulAdd(weight, LoadPart(rows.values + r * rows.stride + c, count), weighed);
    }
    StorePart(hn::Div(weighed, sum), out + c, count);
  });
}

}  // namespace
// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace cairn::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cairn {

HWY_EXPORT(PooledRowT);

void PooledRow(const RowsToPool& rows, float* out) { HWY_DYNAMIC_DISPATCH(PooledRowT)(rows, out); }

}  // namespace cairn
#endif  // HWY_ONCE
