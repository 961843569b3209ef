#include "cairn/kernels/attention_bf16.h"

#include <bit>
#include <cmath>

#include "cairn/kernels/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cairn/kernels/attention_bf16.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"

#include "cairn/kernels/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace cairn::HWY_NAMESPACE {
namespace {

constexpr FloatTag d;
using WordTag = hn::Rebind<uint32_t, FloatTag>;
constexpr WordTag dw;
using WordVector = hn::Vec<WordTag>;

constexpr int kGroupsAtOnce = kParts == 1 ? kTileGroups : 1;
constexpr uint32_t kOddHalf = 0xFFFF0000u;
constexpr uint32_t kEvenHalf = 0x0000FFFFu;

// sum + odd half x odd half, then + even half x even half.
HWY_INLINE FloatVector AddPair(FloatVector sum, WordVector a, WordVector b) {
#if HWY_TARGET == HWY_AVX3_ZEN4
  return FloatVector{_mm512_dpbf16_ps(sum.raw, reinterpret_cast<__m512bh>(a.raw),
                                      reinterpret_cast<__m512bh>(b.raw))};
#else
  const WordVector odd = hn::Set(dw, kOddHalf);
  sum = hn::MulAdd(hn::BitCast(d, hn::And(a, odd)), hn::BitCast(d, hn::And(b, odd)), sum);
  return hn::MulAdd(hn::BitCast(d, hn::ShiftLeft<16>(a)), hn::BitCast(d, hn::ShiftLeft<16>(b)),
                    sum);
#endif
}

// The same for one lane.
HWY_INLINE float AddPairScalar(float sum, uint32_t a, uint32_t b) {
  const auto odd = [](uint32_t word) { return std::bit_cast<float>(word & kOddHalf); };
  const auto even = [](uint32_t word) { return std::bit_cast<float>(word << 16); };
  return std::fma(even(a), even(b), std::fma(odd(a), odd(b), sum));
}

template <int kRows, int kGroups, class Lines>
HWY_INLINE void ScoresBlock(const std::byte* const* groups, Lines& next,
                            const uint32_t* HWY_RESTRICT queries, int64_t width,
                            float* HWY_RESTRICT scores) {
  const int64_t words = Bf16PairWords(width);
  FloatVector sums[kRows][kGroups][kParts];
  for (int r = 0; r < kRows; ++r)
    for (int g = 0; g < kGroups; ++g)
      for (int p = 0; p < kParts; ++p) sums[r][g][p] = hn::Zero(d);
  WordVector key[kGroups][kParts];
  const auto add = [&](int64_t word) HWY_ATTR {
    for (int r = 0; r < kRows; ++r) {
      const WordVector q = hn::Set(dw, queries[r * words + word]);
      for (int g = 0; g < kGroups; ++g)
        for (int p = 0; p < kParts; ++p) sums[r][g][p] = AddPair(sums[r][g][p], q, key[g][p]);
    }
  };
  for (int64_t word = 0; word < width / 2; ++word) {
    for (int g = 0; g < kGroups; ++g) {
      next.Fetch();
      const auto* from = reinterpret_cast<const uint32_t*>(groups[g]) + word * kTileRows;
      for (int p = 0; p < kParts; ++p) key[g][p] = hn::LoadU(dw, from + p * kWidth);
    }
    add(word);
  }
  if (width % 2 != 0) {
    for (int g = 0; g < kGroups; ++g) {
      const auto* from = reinterpret_cast<const uint16_t*>(groups[g]) + (width - 1) * kTileRows;
      for (int p = 0; p < kParts; ++p) {
        key[g][p] =
            hn::PromoteTo(dw, hn::LoadU(hn::Rebind<uint16_t, FloatTag>(), from + p * kWidth));
      }
    }
    add(words - 1);
  }
  for (int r = 0; r < kRows; ++r)
    for (int g = 0; g < kGroups; ++g)
      for (int p = 0; p < kParts; ++p)
        hn::StoreU(sums[r][g][p], d, scores + r * kTileKeys + g * kTileRows + p * kWidth);
}

template <int kRows, class Lines>
HWY_INLINE void ScoresRows(const TilePointers& keys, Lines& next, const uint32_t* queries,
                           int64_t width, float* scores) {
  int g = keys.first;
  for (; g + kGroupsAtOnce <= keys.end; g += kGroupsAtOnce) {
    ScoresBlock<kRows, kGroupsAtOnce>(&keys.groups[static_cast<size_t>(g)], next, queries, width,
                                      scores + g * kTileRows);
  }
  for (; g < keys.end; ++g) {
    ScoresBlock<kRows, 1>(&keys.groups[static_cast<size_t>(g)], next, queries, width,
                          scores + g * kTileRows);
  }
}

HWY_INLINE int64_t TileBytes(int64_t width) { return width * kTileRows * 2; }

void Scores(const TilePointers& keys, const uint32_t* queries, int64_t rows, int64_t width,
            float* scores) {
  ForRowBatches(rows, [&]<int kRows, class Lines>(int64_t r) HWY_ATTR {
    Lines next(keys.next.data(), r == 0 ? kTileGroups : 0, TileBytes(width));
    ScoresRows<kRows>(keys, next, queries + r * Bf16PairWords(width), width,
                      scores + r * kTileKeys);
  });
}

// Pairs of keys [first / 2, (end + 1) / 2) of a tile; halves outside [first, end) are nobody's.
struct KeyPairs {
  TilePointers values;
  int first;
  int end;
  int64_t width;

  int begin_pair() const { return first / 2; }
  int end_pair() const { return (end + 1) / 2; }
  size_t GroupOf(int pair) const { return static_cast<size_t>(pair * 2 / kTileRows); }
  int64_t OffsetOf(int pair) const { return (pair % (kTileRows / 2)) * width * 4; }
  const uint32_t* Row(int pair) const {
    return reinterpret_cast<const uint32_t*>(values.groups[GroupOf(pair)] + OffsetOf(pair));
  }
  uint32_t Mask(int pair) const {
    uint32_t mask = ~0u;
    if (2 * pair < first) mask &= kOddHalf;
    if (2 * pair + 1 >= end) mask &= kEvenHalf;
    return mask;
  }
};

template <int kRows, int kVectors, class Lines>
HWY_INLINE void ValuesBlock(const KeyPairs& pairs, Lines& next,
                            const uint32_t* HWY_RESTRICT weights, int64_t channel,
                            const RowSoftmax* softmax, float* HWY_RESTRICT out, int64_t stride) {
  FloatVector sums[kRows][kVectors];
  for (int r = 0; r < kRows; ++r) {
    const FloatVector correction = hn::Set(d, softmax[r].correction);
    for (int v = 0; v < kVectors; ++v) {
      sums[r][v] = hn::Mul(hn::LoadU(d, out + r * stride + channel + v * kWidth), correction);
    }
  }
  for (int pair = pairs.begin_pair(); pair < pairs.end_pair(); ++pair) {
    const uint32_t* row = pairs.Row(pair) + channel;
    const WordVector mask = hn::Set(dw, pairs.Mask(pair));
    WordVector value[kVectors];
    for (int v = 0; v < kVectors; ++v) {
      next.Fetch();
      value[v] = hn::And(hn::LoadU(dw, row + v * kWidth), mask);
    }
    for (int r = 0; r < kRows; ++r) {
      const WordVector weight = hn::Set(dw, weights[r * (kTileKeys / 2) + pair]);
      for (int v = 0; v < kVectors; ++v) sums[r][v] = AddPair(sums[r][v], weight, value[v]);
    }
  }
  for (int r = 0; r < kRows; ++r)
    for (int v = 0; v < kVectors; ++v)
      hn::StoreU(sums[r][v], d, out + r * stride + channel + v * kWidth);
}

template <int kRows, class Lines>
HWY_INLINE void ValuesRows(const KeyPairs& pairs, Lines& next, const uint32_t* weights,
                           const RowSoftmax* softmax, float* out, int64_t stride) {
  constexpr int kVectors = kParts == 1 ? 4 : 2;
  int64_t c = 0;
  for (; c + kVectors * kWidth <= pairs.width; c += kVectors * kWidth) {
    ValuesBlock<kRows, kVectors>(pairs, next, weights, c, softmax, out, stride);
  }
  for (; c + kWidth <= pairs.width; c += kWidth) {
    ValuesBlock<kRows, 1>(pairs, next, weights, c, softmax, out, stride);
  }
  for (; c < pairs.width; ++c) {
    for (int r = 0; r < kRows; ++r) {
      float sum = out[r * stride + c] * softmax[r].correction;
      for (int pair = pairs.begin_pair(); pair < pairs.end_pair(); ++pair) {
        sum = AddPairScalar(sum, weights[r * (kTileKeys / 2) + pair],
                            pairs.Row(pair)[c] & pairs.Mask(pair));
      }
      out[r * stride + c] = sum;
    }
  }
}

// Neighbouring weights, which are bf16 numbers, into words.
template <int kRows, class Lines>
HWY_INLINE void ValuesOfRows(const KeyPairs& pairs, Lines& next, const float* weights,
                             const RowSoftmax* softmax, float* out, int64_t stride) {
  HWY_ALIGN uint32_t packed[kRows * kTileKeys / 2];
  for (int i = 0; i < kRows * kTileKeys / 2; ++i) {
    packed[i] = (std::bit_cast<uint32_t>(weights[2 * i]) >> 16) |
                (std::bit_cast<uint32_t>(weights[2 * i + 1]) & kOddHalf);
  }
  ValuesRows<kRows>(pairs, next, packed, softmax, out, stride);
}

void Values(const TilePointers& values, const float* weights, int first, int end, int64_t rows,
            int64_t width, const RowSoftmax* softmax, float* out, int64_t stride) {
  const KeyPairs pairs = {values, first, end, width};
  if (first == end) {  // nothing to add, but the correction holds
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t c = 0; c < width; ++c) out[r * stride + c] *= softmax[r].correction;
    return;
  }
  ForRowBatches(rows, [&]<int kRows, class Lines>(int64_t r) HWY_ATTR {
    Lines next(values.next.data(), r == 0 ? kTileGroups : 0, TileBytes(width));
    ValuesOfRows<kRows>(pairs, next, weights + r * kTileKeys, softmax + r, out + r * stride,
                        stride);
  });
}

}  // namespace
// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace cairn::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cairn {

HWY_EXPORT(Scores);
HWY_EXPORT(Values);

void PackBf16Pairs(const float* values, int64_t width, uint32_t* pairs) {
  const auto rounded = [&](int64_t i) -> uint32_t {
    return i < width ? hwy::BitCastScalar<uint16_t>(hwy::BF16FromF32(values[i])) : 0;
  };
  for (int64_t i = 0; i < width; i += 2) pairs[i / 2] = rounded(i) | (rounded(i + 1) << 16);
}

void Bf16TileScores(const TilePointers& keys, const uint32_t* queries, int64_t rows, int64_t width,
                    float* scores) {
  HWY_DYNAMIC_DISPATCH(Scores)(keys, queries, rows, width, scores);
}

void Bf16TileValues(const TilePointers& values, const float* weights, int first, int end,
                    int64_t rows, int64_t width, const RowSoftmax* softmax, float* out,
                    int64_t stride) {
  HWY_DYNAMIC_DISPATCH(Values)(values, weights, first, end, rows, width, softmax, out, stride);
}

}  // namespace cairn
#endif  // HWY_ONCE
