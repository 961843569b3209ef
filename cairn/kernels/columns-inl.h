// Loops over vectors of any width in steps of lanes, for element-wise work and for recurrences
// whose columns are independent. Include inside HWY_NAMESPACE files only, after hwy/highway.h.
#if defined(CAIRN_KERNELS_COLUMNS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef CAIRN_KERNELS_COLUMNS_INL_H_
#undef CAIRN_KERNELS_COLUMNS_INL_H_
#else
#define CAIRN_KERNELS_COLUMNS_INL_H_
#endif

#include <algorithm>
#include <cstdint>

#include "cairn/kernels/lanes-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace cairn::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Calls body(offset, count): kWidth lanes at a time, then the rest.
template <class Body>
HWY_INLINE void ForLanes(int64_t width, const Body& body) {
  int64_t i = 0;
  for (; i + kWidth <= width; i += kWidth) body(i, kWidth);
  if (i < width) body(i, static_cast<int>(width - i));
}

HWY_INLINE FloatVector LoadPart(const float* from, int count) {
  constexpr FloatTag d;
  return count == kWidth ? hn::LoadU(d, from) : hn::LoadN(d, from, static_cast<size_t>(count));
}

HWY_INLINE void StorePart(FloatVector v, float* to, int count) {
  constexpr FloatTag d;
  if (count == kWidth) {
    hn::StoreU(v, d, to);
  } else {
    hn::StoreN(v, d, to, static_cast<size_t>(count));
  }
}

// N vectors side by side; the last may hold fewer than kWidth columns, and then N is 1.
template <int N>
struct Columns {
  FloatVector part[N];

  static HWY_INLINE Columns Zero() {
    Columns columns;
    for (int n = 0; n < N; ++n) columns.part[n] = hn::Zero(FloatTag());
    return columns;
  }
  static HWY_INLINE Columns Load(const float* from, int count) {
    Columns columns;
    if constexpr (N == 1) {
      columns.part[0] = LoadPart(from, count);
    } else {
      for (int n = 0; n < N; ++n) columns.part[n] = hn::LoadU(FloatTag(), from + n * kWidth);
    }
    return columns;
  }
  HWY_INLINE void Store(float* to, int count) const {
    if constexpr (N == 1) {
      StorePart(part[0], to, count);
    } else {
      for (int n = 0; n < N; ++n) hn::StoreU(part[n], FloatTag(), to + n * kWidth);
    }
  }
};

template <int N>
HWY_INLINE Columns<N> Times(FloatVector factor, const Columns<N>& columns) {
  Columns<N> product;
  for (int n = 0; n < N; ++n) product.part[n] = hn::Mul(factor, columns.part[n]);
  return product;
}

template <int N>
HWY_INLINE Columns<N> Times(const Columns<N>& a, const Columns<N>& b) {
  Columns<N> product;
  for (int n = 0; n < N; ++n) product.part[n] = hn::Mul(a.part[n], b.part[n]);
  return product;
}

// factor * columns + sum, rounded once
template <int N>
HWY_INLINE Columns<N> TimesPlus(FloatVector factor, const Columns<N>& columns,
                                const Columns<N>& sum) {
  Columns<N> result;
  for (int n = 0; n < N; ++n) result.part[n] = hn::MulAdd(factor, columns.part[n], sum.part[n]);
  return result;
}

template <int N>
HWY_INLINE Columns<N> TimesPlus(const Columns<N>& a, const Columns<N>& b, const Columns<N>& sum) {
  Columns<N> result;
  for (int n = 0; n < N; ++n) result.part[n] = hn::MulAdd(a.part[n], b.part[n], sum.part[n]);
  return result;
}

template <int N>
HWY_INLINE Columns<N> ExpOf(const Columns<N>& x) {
  Columns<N> result;
  for (int n = 0; n < N; ++n) result.part[n] = SafeExp(FloatTag(), x.part[n]);
  return result;
}

template <int N>
HWY_INLINE Columns<N> Minus(const Columns<N>& a, const Columns<N>& b) {
  Columns<N> result;
  for (int n = 0; n < N; ++n) result.part[n] = hn::Sub(a.part[n], b.part[n]);
  return result;
}

HWY_INLINE FloatVector SigmoidOf(FloatVector x) {
  constexpr FloatTag d;
  const FloatVector one = hn::Set(d, 1.0f);
  return hn::Div(one, hn::Add(one, SafeExp(d, hn::Neg(x))));
}

HWY_INLINE FloatVector SiluOf(FloatVector x) {
  constexpr FloatTag d;
  return hn::Div(x, hn::Add(hn::Set(d, 1.0f), SafeExp(d, hn::Neg(x))));
}

// log(1 + exp(x)) without overflow: max(x, 0) + log(1 + exp(-|x|)).
HWY_INLINE FloatVector SoftplusOf(FloatVector x) {
  constexpr FloatTag d;
  const FloatVector small = hn::Exp(d, hn::Neg(hn::Abs(x)));
  return hn::Add(hn::Max(x, hn::Zero(d)), hn::Log1p(d, small));
}

// Columns that a recurrence carries through all tokens at once: enough vectors for independent
// sums, few enough rows' worth of bytes to stay in the first-level cache.
inline constexpr int kBlockColumns = 32;

// Calls body.operator()<N>(first, count) for blocks of kBlockColumns columns, then for what is
// left a vector at a time; `count` is the columns of the block's last vector.
template <class Body>
HWY_INLINE void ForColumnBlocks(int64_t width, const Body& body) {
  int64_t i = 0;
  for (; i + kBlockColumns <= width; i += kBlockColumns) {
    body.template operator()<kBlockColumns / kWidth>(i, kWidth);
  }
  for (; i < width; i += kWidth) {
    body.template operator()<1>(i, static_cast<int>(std::min<int64_t>(kWidth, width - i)));
  }
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace cairn::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // CAIRN_KERNELS_COLUMNS_INL_H_
