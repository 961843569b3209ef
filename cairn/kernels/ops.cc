#include "cairn/kernels/ops.h"

#include <algorithm>
#include <cmath>

#include "cairn/kernels/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cairn/kernels/ops.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"

#include "cairn/kernels/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace cairn::HWY_NAMESPACE {
namespace {

constexpr FloatTag d;

// Calls body(offset, count): kWidth lanes at a time, then the rest.
template <class Body>
HWY_INLINE void ForLanes(int64_t width, const Body& body) {
  int64_t i = 0;
  for (; i + kWidth <= width; i += kWidth) body(i, kWidth);
  if (i < width) body(i, static_cast<int>(width - i));
}

HWY_INLINE FloatVector LoadPart(const float* from, int count) {
  return count == kWidth ? hn::LoadU(d, from) : hn::LoadN(d, from, static_cast<size_t>(count));
}

HWY_INLINE void StorePart(FloatVector v, float* to, int count) {
  if (count == kWidth) {
    hn::StoreU(v, d, to);
  } else {
    hn::StoreN(v, d, to, static_cast<size_t>(count));
  }
}

// Sixteen running sums, element i going to sum i mod 16; folded by SumLanes.
float Dot(const float* x, const float* y, int64_t width) {
  HWY_ALIGN float lanes[kLanes];
  FloatVector sums[kParts];
  for (int part = 0; part < kParts; ++part) sums[part] = hn::Zero(d);
  int64_t i = 0;
  for (; i + kLanes <= width; i += kLanes) {
    for (int part = 0; part < kParts; ++part) {
      const int64_t at = i + part * kWidth;
      sums[part] = hn::MulAdd(hn::LoadU(d, x + at), hn::LoadU(d, y + at), sums[part]);
    }
  }
  for (int part = 0; part < kParts; ++part) {
    const int64_t at = i + part * kWidth;
    if (at >= width) continue;
    const auto count = static_cast<size_t>(std::min<int64_t>(width - at, kWidth));
    sums[part] = hn::MulAdd(hn::LoadN(d, x + at, count), hn::LoadN(d, y + at, count), sums[part]);
  }
  for (int part = 0; part < kParts; ++part) hn::Store(sums[part], d, lanes + part * kWidth);
  return SumLanes(lanes);
}

void RmsNormT(const float* x, const float* weight, double epsilon, int64_t width, float* out) {
  const float mean = Dot(x, x, width) / static_cast<float>(width);
  const FloatVector scale = hn::Set(d, 1.0f / std::sqrt(mean + static_cast<float>(epsilon)));
  ForLanes(width, [&](int64_t i, int count) HWY_ATTR {
    const FloatVector normed = hn::Mul(LoadPart(x + i, count), scale);
    StorePart(hn::Mul(normed, LoadPart(weight + i, count)), out + i, count);
  });
}

float NormedDotT(const float* x, const float* weight, double epsilon, int64_t width) {
  const float mean = Dot(x, x, width) / static_cast<float>(width);
  return Dot(x, weight, width) / std::sqrt(mean + static_cast<float>(epsilon));
}

void RmsNormHeadsT(float* x, const float* weight, double epsilon, int64_t heads, int64_t width) {
  for (int64_t h = 0; h < heads; ++h)
    RmsNormT(x + h * width, weight, epsilon, width, x + h * width);
}

void RotateHalfSplitT(float* x, const float* cosines, const float* sines, int64_t pairs,
                      int64_t heads, int64_t width) {
  for (int64_t h = 0; h < heads; ++h) {
    float* low = x + h * width;
    float* high = low + pairs;
    ForLanes(pairs, [&](int64_t i, int count) HWY_ATTR {
      const FloatVector a = LoadPart(low + i, count);
      const FloatVector b = LoadPart(high + i, count);
      const FloatVector c = LoadPart(cosines + i, count);
      const FloatVector s = LoadPart(sines + i, count);
      StorePart(hn::NegMulAdd(b, s, hn::Mul(a, c)), low + i, count);
      StorePart(hn::MulAdd(a, s, hn::Mul(b, c)), high + i, count);
    });
  }
}

void RotateInterleavedT(float* x, const float* cosines, const float* sines, int64_t pairs,
                        int64_t heads, int64_t width) {
  for (int64_t h = 0; h < heads; ++h) {
    float* head = x + h * width;
    for (int64_t i = 0; i < pairs; ++i) {
      const float a = head[2 * i];
      const float b = head[2 * i + 1];
      head[2 * i] = std::fma(-b, sines[i], a * cosines[i]);
      head[2 * i + 1] = std::fma(a, sines[i], b * cosines[i]);
    }
  }
}

// x * sigmoid(k) where k is given as -k: x / (1 + exp(-k)).
HWY_INLINE FloatVector TimesSigmoid(FloatVector x, FloatVector minus_k) {
  return hn::Div(x, hn::Add(hn::Set(d, 1.0f), SafeExp(d, minus_k)));
}

void SiluTimesT(float* gate, const float* up, int64_t width) {
  ForLanes(width, [&](int64_t i, int count) HWY_ATTR {
    const FloatVector g = LoadPart(gate + i, count);
    const FloatVector a = TimesSigmoid(g, hn::Neg(g));
    StorePart(hn::Mul(a, LoadPart(up + i, count)), gate + i, count);
  });
}

// 0.5 g (1 + tanh(u)) = g * sigmoid(2 u), u = sqrt(2 / pi) (g + 0.044715 g^3)
void GeluTanhTimesT(float* gate, const float* up, int64_t width) {
  const FloatVector minus_two_root = hn::Set(d, -2.0f * 0.7978845608028654f);
  const FloatVector cubic = hn::Set(d, 0.044715f);
  ForLanes(width, [&](int64_t i, int count) HWY_ATTR {
    const FloatVector g = LoadPart(gate + i, count);
    const FloatVector inner = hn::MulAdd(hn::Mul(cubic, hn::Mul(g, g)), g, g);
    const FloatVector a = TimesSigmoid(g, hn::Mul(minus_two_root, inner));
    StorePart(hn::Mul(a, LoadPart(up + i, count)), gate + i, count);
  });
}

void ClippedSiluTimesT(float* gate, const float* up, float limit, float alpha, float offset,
                       int64_t width) {
  const FloatVector high = hn::Set(d, limit);
  const FloatVector low = hn::Set(d, -limit);
  const FloatVector minus_alpha = hn::Set(d, -alpha);
  const FloatVector more = hn::Set(d, offset);
  ForLanes(width, [&](int64_t i, int count) HWY_ATTR {
    const FloatVector g = hn::Min(LoadPart(gate + i, count), high);
    const FloatVector u = hn::Max(hn::Min(LoadPart(up + i, count), high), low);
    const FloatVector a = TimesSigmoid(g, hn::Mul(minus_alpha, g));
    StorePart(hn::Mul(hn::Add(u, more), a), gate + i, count);
  });
}

void SituTimesT(float* gate, const float* up, float limit, float up_limit, int64_t width) {
  const auto bent = [](FloatVector x, float bound) HWY_ATTR {
    const FloatVector b = hn::Set(d, bound);
    return hn::Mul(b, hn::Tanh(d, hn::Div(x, b)));
  };
  ForLanes(width, [&](int64_t i, int count) HWY_ATTR {
    const FloatVector g = LoadPart(gate + i, count);
    const FloatVector u = LoadPart(up + i, count);
    const FloatVector a = TimesSigmoid(bent(g, limit), hn::Neg(g));
    StorePart(hn::Mul(up_limit > 0 ? bent(u, up_limit) : u, a), gate + i, count);
  });
}

void SigmoidTimesT(float* gate, const float* x, int64_t width) {
  ForLanes(width, [&](int64_t i, int count) HWY_ATTR {
    const FloatVector g = LoadPart(gate + i, count);
    StorePart(TimesSigmoid(LoadPart(x + i, count), hn::Neg(g)), gate + i, count);
  });
}

void AddToT(float* x, const float* y, int64_t width) {
  ForLanes(width, [&](int64_t i, int count) HWY_ATTR {
    StorePart(hn::Add(LoadPart(x + i, count), LoadPart(y + i, count)), x + i, count);
  });
}

void AddScaledT(float* x, const float* y, float factor, int64_t width) {
  const FloatVector f = hn::Set(d, factor);
  ForLanes(width, [&](int64_t i, int count) HWY_ATTR {
    StorePart(hn::MulAdd(LoadPart(y + i, count), f, LoadPart(x + i, count)), x + i, count);
  });
}

void ScaleT(float* x, float factor, int64_t width) {
  const FloatVector f = hn::Set(d, factor);
  ForLanes(width, [&](int64_t i, int count)
                      HWY_ATTR { StorePart(hn::Mul(LoadPart(x + i, count), f), x + i, count); });
}

void SoftCapT(float* x, float cap, int64_t width) {
  const FloatVector c = hn::Set(d, cap);
  ForLanes(width, [&](int64_t i, int count) HWY_ATTR {
    const FloatVector t = hn::Tanh(d, hn::Div(LoadPart(x + i, count), c));
    StorePart(hn::Mul(c, t), x + i, count);
  });
}

}  // namespace
// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace cairn::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cairn {

HWY_EXPORT(RmsNormT);
HWY_EXPORT(NormedDotT);
HWY_EXPORT(RmsNormHeadsT);
HWY_EXPORT(RotateHalfSplitT);
HWY_EXPORT(RotateInterleavedT);
HWY_EXPORT(SiluTimesT);
HWY_EXPORT(GeluTanhTimesT);
HWY_EXPORT(ClippedSiluTimesT);
HWY_EXPORT(SituTimesT);
HWY_EXPORT(SigmoidTimesT);
HWY_EXPORT(AddToT);
HWY_EXPORT(AddScaledT);
HWY_EXPORT(ScaleT);
HWY_EXPORT(SoftCapT);

void RmsNorm(const float* x, const float* weight, double epsilon, int64_t width, float* out) {
  HWY_DYNAMIC_DISPATCH(RmsNormT)(x, weight, epsilon, width, out);
}

float NormedDot(const float* x, const float* weight, double epsilon, int64_t width) {
  return HWY_DYNAMIC_DISPATCH(NormedDotT)(x, weight, epsilon, width);
}

void RmsNormHeads(float* x, const float* weight, double epsilon, int64_t heads, int64_t width) {
  HWY_DYNAMIC_DISPATCH(RmsNormHeadsT)(x, weight, epsilon, heads, width);
}

void RotateHalfSplit(float* x, const float* cosines, const float* sines, int64_t pairs,
                     int64_t heads, int64_t width) {
  HWY_DYNAMIC_DISPATCH(RotateHalfSplitT)(x, cosines, sines, pairs, heads, width);
}

void RotateInterleaved(float* x, const float* cosines, const float* sines, int64_t pairs,
                       int64_t heads, int64_t width) {
  HWY_DYNAMIC_DISPATCH(RotateInterleavedT)(x, cosines, sines, pairs, heads, width);
}

void SiluTimes(float* gate, const float* up, int64_t width) {
  HWY_DYNAMIC_DISPATCH(SiluTimesT)(gate, up, width);
}

void GeluTanhTimes(float* gate, const float* up, int64_t width) {
  HWY_DYNAMIC_DISPATCH(GeluTanhTimesT)(gate, up, width);
}

void ClippedSiluTimes(float* gate, const float* up, float limit, float alpha, float offset,
                      int64_t width) {
  HWY_DYNAMIC_DISPATCH(ClippedSiluTimesT)(gate, up, limit, alpha, offset, width);
}

void SituTimes(float* gate, const float* up, float limit, float up_limit, int64_t width) {
  HWY_DYNAMIC_DISPATCH(SituTimesT)(gate, up, limit, up_limit, width);
}

void SigmoidTimes(float* gate, const float* x, int64_t width) {
  HWY_DYNAMIC_DISPATCH(SigmoidTimesT)(gate, x, width);
}

void GeluErfTimes(float* gate, const float* up, int64_t width) {
  for (int64_t i = 0; i < width; ++i) {
    const float g = gate[i];
    gate[i] = 0.5f * g * (1.0f + std::erf(g * 0.7071067811865475f)) * up[i];
  }
}

void AddTo(float* x, const float* y, int64_t width) { HWY_DYNAMIC_DISPATCH(AddToT)(x, y, width); }

void AddScaled(float* x, const float* y, float factor, int64_t width) {
  HWY_DYNAMIC_DISPATCH(AddScaledT)(x, y, factor, width);
}

void Scale(float* x, float factor, int64_t width) {
  HWY_DYNAMIC_DISPATCH(ScaleT)(x, factor, width);
}

void SoftCap(float* x, float cap, int64_t width) { HWY_DYNAMIC_DISPATCH(SoftCapT)(x, cap, width); }

double LogSumExp(const float* x, int64_t width) {
  const double largest = *std::max_element(x, x + width);
  double sum = 0;
  for (int64_t i = 0; i < width; ++i) sum += std::exp(static_cast<double>(x[i]) - largest);
  return largest + std::log(sum);
}

}  // namespace cairn
#endif  // HWY_ONCE
