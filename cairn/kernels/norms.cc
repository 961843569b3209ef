#include "cairn/kernels/norms.h"

#include <algorithm>
#include <cmath>

#include "cairn/kernels/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cairn/kernels/norms.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"

#include "cairn/kernels/columns-inl.h"
#include "cairn/kernels/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace cairn::HWY_NAMESPACE {
namespace {

constexpr FloatTag d;

// Sixteen running sums of f(x, sum), element i going to sum i mod 16; folded by SumLanes. f of
// zero must leave a sum as it is.
template <class F>
HWY_INLINE float SumOf(const float* x, int64_t width, const F& f) {
  HWY_ALIGN float lanes[kLanes];
  FloatVector sums[kParts];
  for (int part = 0; part < kParts; ++part) sums[part] = hn::Zero(d);
  for (int64_t i = 0; i < width; i += kLanes) {
    for (int part = 0; part < kParts; ++part) {
      const int64_t left = width - i - part * kWidth;
      if (left <= 0) continue;
      const int count = static_cast<int>(std::min<int64_t>(left, kWidth));
      sums[part] = f(LoadPart(x + i + part * kWidth, count), sums[part], count);
    }
  }
  for (int part = 0; part < kParts; ++part) hn::Store(sums[part], d, lanes + part * kWidth);
  return SumLanes(lanes);
}

HWY_INLINE float SumOfSquares(const float* x, int64_t width) {
  return SumOf(x, width, [](FloatVector v, FloatVector sum, int /*count*/) HWY_ATTR {
    return hn::MulAdd(v, v, sum);
  });
}

void L2NormHeadsT(const L2NormShape& shape, float* x) {
  for (int64_t h = 0; h < shape.heads; ++h) {
    float* head = x + h * shape.width;
    const float sum = SumOfSquares(head, shape.width);
    const FloatVector factor =
        hn::Set(d, shape.scale / std::sqrt(sum + static_cast<float>(shape.epsilon)));
    ForLanes(shape.width, [&](int64_t i, int count) HWY_ATTR {
      StorePart(hn::Mul(LoadPart(head + i, count), factor), head + i, count);
    });
  }
}

HWY_INLINE FloatVector Gated(FloatVector x, GateActivation activation, const float* gates,
                             int64_t i, int count) {
  switch (activation) {
    case GateActivation::kSilu:
      return hn::Mul(x, SiluOf(LoadPart(gates + i, count)));
    case GateActivation::kSigmoid:
      return hn::Mul(x, SigmoidOf(LoadPart(gates + i, count)));
    case GateActivation::kNone:
      break;
  }
  return x;
}

void GatedRmsNormT(const GatedNorm& norm, const float* gate, float* x) {
  const GateActivation before =
      norm.order == GateOrder::kBeforeNorm ? norm.activation : GateActivation::kNone;
  const GateActivation after =
      norm.order == GateOrder::kAfterNorm ? norm.activation : GateActivation::kNone;
  for (int64_t g = 0; g < norm.groups; ++g) {
    const int64_t first = g * norm.width;
    float* group = x + first;
    ForLanes(norm.width, [&](int64_t i, int count) HWY_ATTR {
      StorePart(Gated(LoadPart(group + i, count), before, gate, first + i, count), group + i,
                count);
    });
    const float mean = SumOfSquares(group, norm.width) / static_cast<float>(norm.width);
    const FloatVector factor =
        hn::Set(d, 1.0f / std::sqrt(mean + static_cast<float>(norm.epsilon)));
    ForLanes(norm.width, [&](int64_t i, int count) HWY_ATTR {
      FloatVector v = hn::Mul(LoadPart(group + i, count), factor);
      if (norm.weight != nullptr) {
        v = hn::Mul(v, LoadPart(norm.weight + g * norm.weight_stride + i, count));
      }
      StorePart(Gated(v, after, gate, first + i, count), group + i, count);
    });
  }
}

void GroupNormT(const GroupNormShape& norm, const float* x, float* out) {
  const auto width = static_cast<float>(norm.width);
  for (int64_t g = 0; g < norm.groups; ++g) {
    const int64_t first = g * norm.width;
    const float mean = SumOf(x + first, norm.width,
                             [](FloatVector v, FloatVector sum, int /*count*/)
                                 HWY_ATTR { return hn::Add(v, sum); }) /
                       width;
    const FloatVector middle = hn::Set(d, mean);
    const float squares =
        SumOf(x + first, norm.width, [&](FloatVector v, FloatVector sum, int count) HWY_ATTR {
          const FloatVector off = hn::Sub(v, middle);
          const auto mask = hn::FirstN(d, static_cast<size_t>(count));
          return hn::IfThenElse(mask, hn::MulAdd(off, off, sum), sum);
        });
    const FloatVector factor =
        hn::Set(d, 1.0f / std::sqrt(squares / width + static_cast<float>(norm.epsilon)));
    ForLanes(norm.width, [&](int64_t i, int count) HWY_ATTR {
      const FloatVector v = hn::Mul(hn::Sub(LoadPart(x + first + i, count), middle), factor);
      const FloatVector weight = LoadPart(norm.weight + first + i, count);
      const FloatVector bias =
          norm.bias != nullptr ? LoadPart(norm.bias + first + i, count) : hn::Zero(d);
      StorePart(hn::MulAdd(v, weight, bias), out + first + i, count);
    });
  }
}

}  // namespace
// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace cairn::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cairn {

HWY_EXPORT(L2NormHeadsT);
HWY_EXPORT(GatedRmsNormT);
HWY_EXPORT(GroupNormT);

void L2NormHeads(const L2NormShape& shape, float* x) {
  HWY_DYNAMIC_DISPATCH(L2NormHeadsT)(shape, x);
}

void GatedRmsNorm(const GatedNorm& norm, const float* gate, float* x) {
  HWY_DYNAMIC_DISPATCH(GatedRmsNormT)(norm, gate, x);
}

void GroupNorm(const GroupNormShape& norm, const float* x, float* out) {
  HWY_DYNAMIC_DISPATCH(GroupNormT)(norm, x, out);
}

}  // namespace cairn
#endif  // HWY_ONCE
