#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "cairn/base/check.h"
#include "cairn/kernels/matmul_stripes.h"
#include "cairn/kernels/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cairn/kernels/matmul_float.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
// After foreach_target.h.
#include "hwy/cache_control.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace cairn::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

using StripeTag = hn::CappedTag<float, kStripe>;
using StripeVector = hn::Vec<StripeTag>;
constexpr int kPartLanes = static_cast<int>(hn::MaxLanes(StripeTag()));

// Far enough ahead to hide memory's latency.
constexpr size_t kPrefetchBytes = 4096;

HWY_INLINE StripeVector LoadWeights(const float* from) { return hn::LoadU(StripeTag(), from); }
template <class T>
HWY_INLINE StripeVector LoadWeights(const T* from) {
  return hn::PromoteTo(StripeTag(), hn::LoadU(hn::Rebind<T, StripeTag>(), from));
}

// kTokens rows of x times kStripes parts of stripes: independent chains hide each other's latency.
template <int kTokens, int kStripes, class T>
HWY_INLINE void Chains(const T* weights, int64_t stripe_elements, int64_t columns, const float* x,
                       int64_t x_stride, StripeVector (&y)[kTokens][kStripes]) {
  const StripeTag df;
  for (int t = 0; t < kTokens; ++t) {
    for (int s = 0; s < kStripes; ++s) y[t][s] = hn::Zero(df);
  }
  for (int64_t k = 0; k < columns; ++k) {
    StripeVector w[kStripes];
    for (int s = 0; s < kStripes; ++s) {
      const T* at = weights + s * stripe_elements + k * kStripe;
      hwy::Prefetch(at + kPrefetchBytes / sizeof(T));
      w[s] = LoadWeights(at);
    }
    HWY_UNROLL(8)
    for (int t = 0; t < kTokens; ++t) {
      const auto value = hn::Set(df, x[t * x_stride + k]);
      for (int s = 0; s < kStripes; ++s) y[t][s] = hn::MulAdd(w[s], value, y[t][s]);
    }
  }
}

template <int kTokens, int kStripes, class T>
HWY_NOINLINE void Tile(const PackedMatrix& matrix, int64_t stripe, int part, const float* x,
                       int64_t x_stride, const ProductOut& out) {
  const StripeTag df;
  const int64_t stripe_elements = matrix.stripe_bytes() / static_cast<int64_t>(sizeof(T));
  StripeVector y[kTokens][kStripes];
  const T* weights = reinterpret_cast<const T*>(matrix.Stripe(stripe)) + part * kPartLanes;
  Chains(weights, stripe_elements, matrix.columns(), x, x_stride, y);
  for (int s = 0; s < kStripes; ++s) {
    const int64_t lane = (stripe + s) * kStripe + part * kPartLanes;
    const auto lanes =
        static_cast<size_t>(std::clamp<int64_t>(matrix.rows() - lane, 0, kPartLanes));
    const auto bias = out.bias == nullptr ? hn::Zero(df) : hn::LoadN(df, out.bias + lane, lanes);
    for (int t = 0; t < kTokens; ++t) {
      const auto sum = out.bias == nullptr ? y[t][s] : hn::Add(y[t][s], bias);
      hn::StoreN(sum, df, out.out + t * out.stride + lane, lanes);
    }
  }
}

// All tokens times kStripes stripes from `stripe` on.
template <int kStripes, class T>
void Tokens(const PackedMatrix& matrix, int64_t stripe, const FloatRows& x, const ProductOut& out) {
  constexpr int kTokens = HWY_TARGET <= HWY_AVX3 ? 8 : 4;
  for (int part = 0; part < kStripe / kPartLanes; ++part) {
    int64_t t = 0;
    for (; t + kTokens <= x.tokens; t += kTokens) {
      Tile<kTokens, kStripes, T>(matrix, stripe, part, x.rows + t * x.stride, x.stride,
                                 {out.out + t * out.stride, out.stride, out.bias});
    }
    for (; t < x.tokens; ++t) {
      Tile<1, kStripes, T>(matrix, stripe, part, x.rows + t * x.stride, x.stride,
                           {out.out + t * out.stride, out.stride, out.bias});
    }
  }
}

template <class T>
void Stripes(const PackedMatrix& matrix, const FloatRows& x, const ProductOut& out,
             StripeRange range) {
  constexpr int kAtOnce = 2;
  int64_t stripe = range.first;
  for (; stripe + kAtOnce <= range.end; stripe += kAtOnce)
    Tokens<kAtOnce, T>(matrix, stripe, x, out);
  for (; stripe < range.end; ++stripe) Tokens<1, T>(matrix, stripe, x, out);
}

void FloatStripesOf(const PackedMatrix& matrix, const FloatRows& x, const ProductOut& out,
                    StripeRange range) {
  switch (matrix.dtype()) {
    case DType::kF32:
      return Stripes<float>(matrix, x, out, range);
    case DType::kF16:
      return Stripes<hwy::float16_t>(matrix, x, out, range);
    case DType::kBF16:
      return Stripes<hwy::bfloat16_t>(matrix, x, out, range);
    default:
      CAIRN_CHECK(false);
  }
}

}  // namespace
// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace cairn::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cairn {
namespace {

HWY_EXPORT(FloatStripesOf);

}  // namespace

void FloatStripes(const PackedMatrix& matrix, const FloatRows& x, const ProductOut& out,
                  StripeRange range) {
  HWY_DYNAMIC_DISPATCH(FloatStripesOf)(matrix, x, out, range);
}

}  // namespace cairn
#endif  // HWY_ONCE
