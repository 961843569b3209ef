#include "cairn/kernels/gates.h"

#include "cairn/kernels/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cairn/kernels/gates.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"

#include "cairn/kernels/columns-inl.h"
#include "cairn/kernels/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace cairn::HWY_NAMESPACE {
namespace {

constexpr FloatTag d;

// out[i] = f(x[i])
template <class F>
HWY_INLINE void Map(const float* x, int64_t width, float* out, const F& f) {
  ForLanes(width, [&](int64_t i, int count)
                      HWY_ATTR { StorePart(f(LoadPart(x + i, count)), out + i, count); });
}

// out[i] = f(x[i], y[i])
template <class F>
HWY_INLINE void Map2(const float* x, const float* y, int64_t width, float* out, const F& f) {
  ForLanes(width, [&](int64_t i, int count) HWY_ATTR {
    StorePart(f(LoadPart(x + i, count), LoadPart(y + i, count)), out + i, count);
  });
}

void ExpT(const float* x, int64_t width, float* out) {
  Map(x, width, out, [](FloatVector v) HWY_ATTR { return SafeExp(d, v); });
}

void ExpMinusOneT(const float* x, int64_t width, float* out) {
  Map(x, width, out, [](FloatVector v) HWY_ATTR { return hn::Expm1(d, v); });
}

void SigmoidT(const float* x, int64_t width, float* out) {
  Map(x, width, out, [](FloatVector v) HWY_ATTR { return SigmoidOf(v); });
}

void SiluT(const float* x, int64_t width, float* out) {
  Map(x, width, out, [](FloatVector v) HWY_ATTR { return SiluOf(v); });
}

void ReluSquaredT(const float* x, int64_t width, float* out) {
  Map(x, width, out, [](FloatVector v) HWY_ATTR {
    const FloatVector kept = hn::Max(v, hn::Zero(d));
    return hn::Mul(kept, kept);
  });
}

void SoftplusT(const float* x, int64_t width, float* out) {
  Map(x, width, out, [](FloatVector v) HWY_ATTR { return SoftplusOf(v); });
}

void TimesSigmoidT(float* x, const float* gate, int64_t width) {
  Map2(x, gate, width, x,
       [](FloatVector v, FloatVector g) HWY_ATTR { return hn::Mul(v, SigmoidOf(g)); });
}

void TimesSiluT(float* x, const float* gate, int64_t width) {
  Map2(x, gate, width, x,
       [](FloatVector v, FloatVector g) HWY_ATTR { return hn::Mul(v, SiluOf(g)); });
}

void NegativeExpT(const float* x, int64_t width, float* out) {
  Map(x, width, out, [](FloatVector v) HWY_ATTR { return hn::Neg(SafeExp(d, v)); });
}

void StepWidthsT(const float* x, const float* bias, StepLimits limits, int64_t width, float* out) {
  const FloatVector low = hn::Set(d, limits.low);
  const FloatVector high = hn::Set(d, limits.high);
  Map2(x, bias, width, out, [&](FloatVector v, FloatVector b) HWY_ATTR {
    return hn::Min(hn::Max(SoftplusOf(hn::Add(v, b)), low), high);
  });
}

void DecayFactorsT(const float* steps, const float* rates, int64_t width, float* out) {
  Map2(steps, rates, width, out,
       [](FloatVector s, FloatVector r) HWY_ATTR { return SafeExp(d, hn::Mul(s, r)); });
}

void DecayFactorsOfHeadsT(const float* steps, const float* rates, int64_t heads, int64_t width,
                          float* out) {
  for (int64_t h = 0; h < heads; ++h) {
    const FloatVector rate = hn::Set(d, rates[h]);
    Map(steps + h * width, width, out + h * width,
        [&](FloatVector s) HWY_ATTR { return SafeExp(d, hn::Mul(s, rate)); });
  }
}

void BoundedDecayFactorsT(const BoundedDecay& decay, const float* x, float* out) {
  const FloatVector bound = hn::Set(d, decay.bound);
  for (int64_t h = 0; h < decay.heads; ++h) {
    const FloatVector slope = hn::Set(d, decay.slopes[h]);
    const int64_t first = h * decay.width;
    ForLanes(decay.width, [&](int64_t i, int count) HWY_ATTR {
      FloatVector v = LoadPart(x + first + i, count);
      if (decay.bias != nullptr) v = hn::Add(v, LoadPart(decay.bias + first + i, count));
      const FloatVector exponent = hn::Mul(bound, SigmoidOf(hn::Mul(slope, v)));
      StorePart(SafeExp(d, exponent), out + first + i, count);
    });
  }
}

}  // namespace
// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace cairn::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cairn {

HWY_EXPORT(ExpT);
HWY_EXPORT(ExpMinusOneT);
HWY_EXPORT(SigmoidT);
HWY_EXPORT(SiluT);
HWY_EXPORT(ReluSquaredT);
HWY_EXPORT(SoftplusT);
HWY_EXPORT(TimesSigmoidT);
HWY_EXPORT(TimesSiluT);
HWY_EXPORT(NegativeExpT);
HWY_EXPORT(StepWidthsT);
HWY_EXPORT(DecayFactorsT);
HWY_EXPORT(DecayFactorsOfHeadsT);
HWY_EXPORT(BoundedDecayFactorsT);

void Exp(const float* x, int64_t width, float* out) { HWY_DYNAMIC_DISPATCH(ExpT)(x, width, out); }

void ExpMinusOne(const float* x, int64_t width, float* out) {
  HWY_DYNAMIC_DISPATCH(ExpMinusOneT)(x, width, out);
}

void Sigmoid(const float* x, int64_t width, float* out) {
  HWY_DYNAMIC_DISPATCH(SigmoidT)(x, width, out);
}

void Silu(const float* x, int64_t width, float* out) { HWY_DYNAMIC_DISPATCH(SiluT)(x, width, out); }

void ReluSquared(const float* x, int64_t width, float* out) {
  HWY_DYNAMIC_DISPATCH(ReluSquaredT)(x, width, out);
}

void Softplus(const float* x, int64_t width, float* out) {
  HWY_DYNAMIC_DISPATCH(SoftplusT)(x, width, out);
}

void TimesSigmoid(float* x, const float* gate, int64_t width) {
  HWY_DYNAMIC_DISPATCH(TimesSigmoidT)(x, gate, width);
}

void TimesSilu(float* x, const float* gate, int64_t width) {
  HWY_DYNAMIC_DISPATCH(TimesSiluT)(x, gate, width);
}

void NegativeExp(const float* x, int64_t width, float* out) {
  HWY_DYNAMIC_DISPATCH(NegativeExpT)(x, width, out);
}

void StepWidths(const float* x, const float* bias, StepLimits limits, int64_t width, float* out) {
  HWY_DYNAMIC_DISPATCH(StepWidthsT)(x, bias, limits, width, out);
}

void DecayFactors(const float* steps, const float* rates, int64_t width, float* out) {
  HWY_DYNAMIC_DISPATCH(DecayFactorsT)(steps, rates, width, out);
}

void DecayFactorsOfHeads(const float* steps, const float* rates, int64_t heads, int64_t width,
                         float* out) {
  HWY_DYNAMIC_DISPATCH(DecayFactorsOfHeadsT)(steps, rates, heads, width, out);
}

void BoundedDecayFactors(const BoundedDecay& decay, const float* x, float* out) {
  HWY_DYNAMIC_DISPATCH(BoundedDecayFactorsT)(decay, x, out);
}

}  // namespace cairn
#endif  // HWY_ONCE
