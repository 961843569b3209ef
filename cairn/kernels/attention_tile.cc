#include "cairn/kernels/attention_tile.h"

#include <algorithm>
#include <cmath>

#include "cairn/base/check.h"
#include "cairn/kernels/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cairn/kernels/attention_tile.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"

#include "cairn/kernels/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace cairn::HWY_NAMESPACE {
namespace {

constexpr FloatTag d;

// Wide vectors leave registers for four groups of keys at once, narrow ones for one.
constexpr int kGroupsAtOnce = kParts == 1 ? kTileGroups : 1;
constexpr int64_t kLineBytes = LineStream::kLineBytes;

template <class T>
HWY_INLINE int64_t TileBytes(int64_t width) {
  return width * kTileRows * static_cast<int64_t>(sizeof(T));
}

template <class T, int kRows, int kGroups, class Lines>
HWY_INLINE void ScoresBlock(const std::byte* const* groups, Lines& next,
                            const float* HWY_RESTRICT queries, int64_t width,
                            float* HWY_RESTRICT scores) {
  FloatVector sums[kRows][kGroups][kParts];
  for (int r = 0; r < kRows; ++r)
    for (int g = 0; g < kGroups; ++g)
      for (int p = 0; p < kParts; ++p) sums[r][g][p] = hn::Zero(d);
  for (int64_t c = 0; c < width; ++c) {
    constexpr int64_t kStepBytes = kGroups * kTileRows * static_cast<int64_t>(sizeof(T));
    for (int64_t line = 0; line < kStepBytes; line += kLineBytes) next.Fetch();
    FloatVector key[kGroups][kParts];
    for (int g = 0; g < kGroups; ++g) {
      const T* from = reinterpret_cast<const T*>(groups[g]) + c * kTileRows;
      for (int p = 0; p < kParts; ++p) key[g][p] = LoadAsFloat(d, from + p * kWidth);
    }
    for (int r = 0; r < kRows; ++r) {
      const FloatVector q = hn::Set(d, queries[r * width + c]);
      for (int g = 0; g < kGroups; ++g)
        for (int p = 0; p < kParts; ++p) sums[r][g][p] = hn::MulAdd(q, key[g][p], sums[r][g][p]);
    }
  }
  for (int r = 0; r < kRows; ++r)
    for (int g = 0; g < kGroups; ++g)
      for (int p = 0; p < kParts; ++p)
        hn::StoreU(sums[r][g][p], d, scores + r * kTileKeys + g * kTileRows + p * kWidth);
}

template <class T, int kRows, class Lines>
HWY_INLINE void ScoresRows(const TilePointers& keys, Lines& next, const float* queries,
                           int64_t width, float* scores) {
  int g = keys.first;
  for (; g + kGroupsAtOnce <= keys.end; g += kGroupsAtOnce) {
    ScoresBlock<T, kRows, kGroupsAtOnce>(&keys.groups[static_cast<size_t>(g)], next, queries, width,
                                         scores + g * kTileRows);
  }
  for (; g < keys.end; ++g) {
    ScoresBlock<T, kRows, 1>(&keys.groups[static_cast<size_t>(g)], next, queries, width,
                             scores + g * kTileRows);
  }
}

template <class T>
void ScoresT(const TilePointers& keys, const float* queries, int64_t rows, int64_t width,
             float* scores) {
  ForRowBatches(rows, [&]<int kRows, class Lines>(int64_t r) HWY_ATTR {
    Lines next(keys.next.data(), r == 0 ? kTileGroups : 0, TileBytes<T>(width));
    ScoresRows<T, kRows>(keys, next, queries + r * width, width, scores + r * kTileKeys);
  });
}

void ScoresAny(DType codec, const TilePointers& keys, const float* queries, int64_t rows,
               int64_t width, float* scores) {
  switch (codec) {
    case DType::kF32:
      return ScoresT<float>(keys, queries, rows, width, scores);
    case DType::kF16:
      return ScoresT<hwy::float16_t>(keys, queries, rows, width, scores);
    default:
      CAIRN_CHECK(false && "rows of this codec are read elsewhere");
  }
}

// What isn't visible becomes kNoScore, whatever bits were there.
void Mask(float* scores, int first, int end) {
  std::fill(scores, scores + first, kNoScore);
  std::fill(scores + end, scores + kTileKeys, kNoScore);
}

// To the nearest bf16 number, ties to even; for finite numbers.
HWY_INLINE FloatVector RoundToBf16(FloatVector x) {
  const hn::Rebind<uint32_t, FloatTag> dw;
  const auto bits = hn::BitCast(dw, x);
  const auto tie = hn::And(hn::ShiftRight<16>(bits), hn::Set(dw, 1));
  const auto rounded = hn::Add(bits, hn::Add(hn::Set(dw, 0x7FFF), tie));
  return hn::BitCast(d, hn::And(rounded, hn::Set(dw, 0xFFFF0000u)));
}

void SoftmaxT(float* scores, int first, int end, float score_cap, bool round_to_bf16,
              RowSoftmax& softmax) {
  Mask(scores, first, end);
  HWY_ALIGN float lanes[kLanes];
  FloatVector largest[kParts];
  for (int p = 0; p < kParts; ++p) largest[p] = hn::Set(d, kNoScore);
  for (int i = 0; i < kTileKeys; i += kLanes) {
    for (int p = 0; p < kParts; ++p) {
      FloatVector s = hn::LoadU(d, scores + i + p * kWidth);
      if (score_cap > 0) {
        const FloatVector cap = hn::Set(d, score_cap);
        const FloatVector capped = hn::Mul(cap, hn::Tanh(d, hn::Div(s, cap)));
        s = hn::IfThenElse(hn::Eq(s, hn::Set(d, kNoScore)), s, capped);
        hn::StoreU(s, d, scores + i + p * kWidth);
      }
      largest[p] = hn::Max(largest[p], s);
    }
  }
  for (int p = 0; p < kParts; ++p) hn::Store(largest[p], d, lanes + p * kWidth);
  const float before = softmax.largest;
  const float now = std::max(before, MaxLanes16(lanes));

  FloatVector sums[kParts];
  for (int p = 0; p < kParts; ++p) sums[p] = hn::Zero(d);
  const FloatVector shift = hn::Set(d, now);
  for (int i = 0; i < kTileKeys; i += kLanes) {
    for (int p = 0; p < kParts; ++p) {
      const FloatVector s = hn::LoadU(d, scores + i + p * kWidth);
      const FloatVector e = hn::Exp(d, hn::Sub(s, shift));
      FloatVector weight = hn::IfThenZeroElse(hn::Eq(s, hn::Set(d, kNoScore)), e);
      if (round_to_bf16) weight = RoundToBf16(weight);
      hn::StoreU(weight, d, scores + i + p * kWidth);
      sums[p] = hn::Add(sums[p], weight);
    }
  }
  for (int p = 0; p < kParts; ++p) hn::Store(sums[p], d, lanes + p * kWidth);
  const float correction = before == now ? 1.0f : hn::GetLane(hn::Exp(d, hn::Set(d, before - now)));
  softmax.largest = now;
  softmax.correction = correction;
  softmax.sum = std::fma(softmax.sum, correction, SumLanes(lanes));
}

template <class T, int kRows, int kVectors, class Lines>
HWY_INLINE void ValuesBlock(const TilePointers& values, Lines& next,
                            const float* HWY_RESTRICT weights, int first, int end, int64_t width,
                            int64_t channel, const RowSoftmax* softmax, float* HWY_RESTRICT out,
                            int64_t stride) {
  FloatVector sums[kRows][kVectors];
  for (int r = 0; r < kRows; ++r) {
    const FloatVector correction = hn::Set(d, softmax[r].correction);
    for (int v = 0; v < kVectors; ++v) {
      sums[r][v] = hn::Mul(hn::LoadU(d, out + r * stride + channel + v * kWidth), correction);
    }
  }
  for (int key = first; key < end; ++key) {
    const auto group = static_cast<size_t>(key / kTileRows);
    const T* row =
        reinterpret_cast<const T*>(values.groups[group]) + (key % kTileRows) * width + channel;
    for (int64_t line = 0; line < kVectors * kWidth * static_cast<int64_t>(sizeof(T));
         line += kLineBytes) {
      next.Fetch();
    }
    FloatVector value[kVectors];
    for (int v = 0; v < kVectors; ++v) value[v] = LoadAsFloat(d, row + v * kWidth);
    for (int r = 0; r < kRows; ++r) {
      const FloatVector weight = hn::Set(d, weights[r * kTileKeys + key]);
      for (int v = 0; v < kVectors; ++v) sums[r][v] = hn::MulAdd(weight, value[v], sums[r][v]);
    }
  }
  for (int r = 0; r < kRows; ++r)
    for (int v = 0; v < kVectors; ++v)
      hn::StoreU(sums[r][v], d, out + r * stride + channel + v * kWidth);
}

HWY_INLINE float ToFloat(float value) { return value; }
HWY_INLINE float ToFloat(hwy::float16_t value) { return hwy::F32FromF16(value); }

// The channels that fill no vector: the same chains, one channel at a time.
template <class T>
void ValuesTail(const TilePointers& values, const float* weights, int first, int end, int64_t width,
                int64_t channel, const RowSoftmax& softmax, float* out) {
  for (int64_t c = channel; c < width; ++c) {
    float sum = out[c] * softmax.correction;
    for (int key = first; key < end; ++key) {
      const T* row =
          reinterpret_cast<const T*>(values.groups[static_cast<size_t>(key / kTileRows)]) +
          (key % kTileRows) * width;
      sum = std::fma(weights[key], ToFloat(row[c]), sum);
    }
    out[c] = sum;
  }
}

template <class T, int kRows, class Lines>
HWY_INLINE void ValuesRows(const TilePointers& values, Lines& next, const float* weights, int first,
                           int end, int64_t width, const RowSoftmax* softmax, float* out,
                           int64_t stride) {
  constexpr int kVectors = kParts == 1 ? 4 : 2;
  int64_t c = 0;
  for (; c + kVectors * kWidth <= width; c += kVectors * kWidth) {
    ValuesBlock<T, kRows, kVectors>(values, next, weights, first, end, width, c, softmax, out,
                                    stride);
  }
  for (; c + kWidth <= width; c += kWidth) {
    ValuesBlock<T, kRows, 1>(values, next, weights, first, end, width, c, softmax, out, stride);
  }
  if (c == width) return;
  for (int r = 0; r < kRows; ++r) {
    ValuesTail<T>(values, weights + r * kTileKeys, first, end, width, c, softmax[r],
                  out + r * stride);
  }
}

template <class T>
void ValuesT(const TilePointers& values, const float* weights, int first, int end, int64_t rows,
             int64_t width, const RowSoftmax* softmax, float* out, int64_t stride) {
  ForRowBatches(rows, [&]<int kRows, class Lines>(int64_t r) HWY_ATTR {
    Lines next(values.next.data(), r == 0 ? kTileGroups : 0, TileBytes<T>(width));
    ValuesRows<T, kRows>(values, next, weights + r * kTileKeys, first, end, width, softmax + r,
                         out + r * stride, stride);
  });
}

void ValuesAny(DType codec, const TilePointers& values, const float* weights, int first, int end,
               int64_t rows, int64_t width, const RowSoftmax* softmax, float* out, int64_t stride) {
  switch (codec) {
    case DType::kF32:
      return ValuesT<float>(values, weights, first, end, rows, width, softmax, out, stride);
    case DType::kF16:
      return ValuesT<hwy::float16_t>(values, weights, first, end, rows, width, softmax, out,
                                     stride);
    default:
      CAIRN_CHECK(false && "rows of this codec are read elsewhere");
  }
}

float ExpOne(float x) { return hn::GetLane(hn::Exp(d, hn::Set(d, x))); }

}  // namespace
// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace cairn::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cairn {

HWY_EXPORT(ScoresAny);
HWY_EXPORT(SoftmaxT);
HWY_EXPORT(ValuesAny);
HWY_EXPORT(ExpOne);

void TileScores(DType codec, const TilePointers& keys, const float* queries, int64_t rows,
                int64_t width, float* scores) {
  HWY_DYNAMIC_DISPATCH(ScoresAny)(codec, keys, queries, rows, width, scores);
}

void TileSoftmax(float* scores, int first, int end, float score_cap, bool round_to_bf16,
                 RowSoftmax& softmax) {
  HWY_DYNAMIC_DISPATCH(SoftmaxT)(scores, first, end, score_cap, round_to_bf16, softmax);
}

void TileValues(DType codec, const TilePointers& values, const float* weights, int first, int end,
                int64_t rows, int64_t width, const RowSoftmax* softmax, float* out,
                int64_t stride) {
  HWY_DYNAMIC_DISPATCH(ValuesAny)
  (codec, values, weights, first, end, rows, width, softmax, out, stride);
}

void MergePartial(RowSoftmax& total, float* total_out, const RowSoftmax& later,
                  const float* later_out, int64_t width) {
  const float largest = std::max(total.largest, later.largest);
  const auto exp_one = [](float x) { return x == 0 ? 1.0f : HWY_DYNAMIC_DISPATCH(ExpOne)(x); };
  const float keep = exp_one(total.largest - largest);
  const float add = exp_one(later.largest - largest);
  for (int64_t c = 0; c < width; ++c) {
    total_out[c] = std::fma(later_out[c], add, total_out[c] * keep);
  }
  total.largest = largest;
  total.sum = std::fma(later.sum, add, total.sum * keep);
}

}  // namespace cairn
#endif  // HWY_ONCE
