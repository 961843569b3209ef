#include "cairn/kernels/row_attention_tile.h"

#include <algorithm>

#include "cairn/base/check.h"
#include "cairn/kernels/dequantize.h"
#include "cairn/kernels/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cairn/kernels/row_attention_tile.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"

#include "cairn/kernels/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace cairn::HWY_NAMESPACE {
namespace {

constexpr FloatTag d;

// Wide vectors come with registers for 16 sums, narrow ones for 8 of two vectors each.
constexpr int kRowsAtOnce = kParts == 1 ? 4 : 2;
constexpr int kKeysAtOnce = 4;

// ---- rows as floats ----

void F16Row(const hwy::float16_t* from, int64_t width, float* HWY_RESTRICT to) {
  int64_t c = 0;
  for (; c + kWidth <= width; c += kWidth) hn::StoreU(LoadAsFloat(d, from + c), d, to + c);
  for (; c < width; ++c) to[c] = hwy::F32FromF16(from[c]);
}

// Rows lie in pairs: two rows' numbers of one channel in a word.
void Bf16Row(const uint32_t* pair, bool odd, int64_t width, float* HWY_RESTRICT to) {
  const hn::Rebind<uint32_t, FloatTag> dw;
  int64_t c = 0;
  for (; c + kWidth <= width; c += kWidth) {
    const auto words = hn::LoadU(dw, pair + c);
    const auto bits = odd ? hn::And(words, hn::Set(dw, 0xFFFF0000u)) : hn::ShiftLeft<16>(words);
    hn::StoreU(hn::BitCast(d, bits), d, to + c);
  }
  for (; c < width; ++c) {
    to[c] = hwy::BitCastScalar<float>(odd ? pair[c] & 0xFFFF0000u : pair[c] << 16);
  }
}

void RowAny(DType codec, const std::byte* tile, int row, int64_t width, float* to) {
  if (codec == DType::kF16) {
    return F16Row(reinterpret_cast<const hwy::float16_t*>(tile) + row * width, width, to);
  }
  CAIRN_CHECK(codec == DType::kBF16);
  Bf16Row(reinterpret_cast<const uint32_t*>(tile) + row / 2 * width, row % 2 != 0, width, to);
}

// ---- scores ----

// kWidth channels from `from`, of which only `left` exist; zero beyond them.
HWY_INLINE FloatVector LoadSome(const float* from, int64_t left) {
  if (left >= kWidth) return hn::LoadU(d, from);
  return left <= 0 ? hn::Zero(d) : hn::LoadN(d, from, static_cast<size_t>(left));
}

// SumLanes of four sums at once: the same tree, with the four in lanes.
HWY_INLINE void SumFour(const float* HWY_RESTRICT lanes, float* to) {
  const hn::FixedTag<float, 4> d4;
  const auto fold = [&](int i) HWY_ATTR {
    const float* from = lanes + i * kLanes;
    const auto low = hn::Add(hn::Load(d4, from), hn::Load(d4, from + 8));
    const auto high = hn::Add(hn::Load(d4, from + 4), hn::Load(d4, from + 12));
    return hn::Add(low, high);
  };
  const auto a = fold(0);
  const auto b = fold(1);
  const auto c = fold(2);
  const auto e = fold(3);
  const auto ab_low = hn::InterleaveLower(d4, a, b);   // a0 b0 a1 b1
  const auto ab_high = hn::InterleaveUpper(d4, a, b);  // a2 b2 a3 b3
  const auto ce_low = hn::InterleaveLower(d4, c, e);
  const auto ce_high = hn::InterleaveUpper(d4, c, e);
  const auto ab = hn::Add(ab_low, ab_high);  // a0 + a2, b0 + b2, a1 + a3, b1 + b3
  const auto ce = hn::Add(ce_low, ce_high);
  const hn::Repartition<uint64_t, decltype(d4)> d64;
  const auto even =
      hn::BitCast(d4, hn::InterleaveLower(d64, hn::BitCast(d64, ab), hn::BitCast(d64, ce)));
  const auto odd =
      hn::BitCast(d4, hn::InterleaveUpper(d64, hn::BitCast(d64, ab), hn::BitCast(d64, ce)));
  hn::StoreU(hn::Add(even, odd), d4, to);
}

template <int kRows, int kKeys>
HWY_INLINE void ScoresBlock(const float* const* keys, const float* HWY_RESTRICT queries,
                            int64_t stride, int64_t width, float* HWY_RESTRICT scores) {
  FloatVector sums[kRows][kKeys][kParts];
  for (int r = 0; r < kRows; ++r)
    for (int k = 0; k < kKeys; ++k)
      for (int p = 0; p < kParts; ++p) sums[r][k][p] = hn::Zero(d);
  const auto step = [&](int64_t c, auto load) HWY_ATTR {
    for (int p = 0; p < kParts; ++p) {
      FloatVector query[kRows];
      for (int r = 0; r < kRows; ++r) query[r] = load(queries + r * stride, c + p * kWidth);
      for (int k = 0; k < kKeys; ++k) {
        const FloatVector key = load(keys[k], c + p * kWidth);
        for (int r = 0; r < kRows; ++r) sums[r][k][p] = hn::MulAdd(query[r], key, sums[r][k][p]);
      }
    }
  };
  int64_t c = 0;
  for (; c + kLanes <= width; c += kLanes) {
    step(c, [](const float* from, int64_t at) HWY_ATTR { return hn::LoadU(d, from + at); });
  }
  if (c < width) {
    step(c,
         [&](const float* from, int64_t at) HWY_ATTR { return LoadSome(from + at, width - at); });
  }
  for (int r = 0; r < kRows; ++r) {
    HWY_ALIGN float lanes[kKeysAtOnce * kLanes];
    for (int k = 0; k < kKeys; ++k)
      for (int p = 0; p < kParts; ++p) hn::Store(sums[r][k][p], d, lanes + k * kLanes + p * kWidth);
    float* to = scores + r * kTileKeys;
    if constexpr (kKeys == 4) {
      SumFour(lanes, to);
    } else {
      for (int k = 0; k < kKeys; ++k) to[k] = SumLanes(lanes + k * kLanes);
    }
  }
}

// Calls body.operator()<count>(first) for batches of up to kRowsAtOnce of `rows` rows.
template <class Body>
HWY_INLINE void ForBatches(int64_t rows, const Body& body) {
  int64_t r = 0;
  for (; r + kRowsAtOnce <= rows; r += kRowsAtOnce) body.template operator()<kRowsAtOnce>(r);
  if constexpr (kRowsAtOnce == 4) {
    if (rows - r >= 2) {
      body.template operator()<2>(r);
      r += 2;
    }
  }
  if (r < rows) body.template operator()<1>(r);
}

void Scores(const float* const* keys, int count, const float* queries, int64_t stride, int64_t rows,
            int64_t width, float* scores) {
  int k = 0;
  for (; k + kKeysAtOnce <= count; k += kKeysAtOnce) {
    ForBatches(rows, [&]<int kRows>(int64_t r) HWY_ATTR {
      ScoresBlock<kRows, kKeysAtOnce>(keys + k, queries + r * stride, stride, width,
                                      scores + r * kTileKeys + k);
    });
  }
  for (; k < count; ++k) {
    ForBatches(rows, [&]<int kRows>(int64_t r) HWY_ATTR {
      ScoresBlock<kRows, 1>(keys + k, queries + r * stride, stride, width,
                            scores + r * kTileKeys + k);
    });
  }
}

// ---- values ----

template <int kRows, int kVectors>
HWY_INLINE void ValuesBlock(const float* const* values, int count,
                            const float* HWY_RESTRICT weights, int64_t channel, int64_t left,
                            const RowSoftmax* softmax, float* HWY_RESTRICT out, int64_t stride) {
  FloatVector sums[kRows][kVectors];
  for (int r = 0; r < kRows; ++r) {
    const FloatVector correction = hn::Set(d, softmax[r].correction);
    for (int v = 0; v < kVectors; ++v) {
      sums[r][v] = hn::Mul(hn::LoadU(d, out + r * stride + channel + v * kWidth), correction);
    }
  }
  for (int k = 0; k < count; ++k) {
    FloatVector value[kVectors];
    for (int v = 0; v < kVectors; ++v) {
      const float* from = values[k] + channel + v * kWidth;
      value[v] = kVectors == 1 ? LoadSome(from, left) : hn::LoadU(d, from);
    }
    for (int r = 0; r < kRows; ++r) {
      const FloatVector weight = hn::Set(d, weights[r * kTileKeys + k]);
      for (int v = 0; v < kVectors; ++v) sums[r][v] = hn::MulAdd(weight, value[v], sums[r][v]);
    }
  }
  for (int r = 0; r < kRows; ++r)
    for (int v = 0; v < kVectors; ++v)
      hn::StoreU(sums[r][v], d, out + r * stride + channel + v * kWidth);
}

void Values(const float* const* values, int count, const float* weights, int64_t rows,
            int64_t width, const RowSoftmax* softmax, float* out, int64_t stride) {
  constexpr int kVectors = 4;
  int64_t c = 0;
  for (; c + kVectors * kWidth <= width; c += kVectors * kWidth) {
    ForBatches(rows, [&]<int kRows>(int64_t r) HWY_ATTR {
      ValuesBlock<kRows, kVectors>(values, count, weights + r * kTileKeys, c, 0, softmax + r,
                                   out + r * stride, stride);
    });
  }
  for (; c < width; c += kWidth) {
    ForBatches(rows, [&]<int kRows>(int64_t r) HWY_ATTR {
      ValuesBlock<kRows, 1>(values, count, weights + r * kTileKeys, c, width - c, softmax + r,
                            out + r * stride, stride);
    });
  }
}

void Weigh(const float* scores, const float* weights, int64_t heads, int count, float* out) {
  for (int k = 0; k < count; k += kWidth) {
    FloatVector sum = hn::Zero(d);
    for (int64_t h = 0; h < heads; ++h) {
      const FloatVector score = hn::LoadU(d, scores + h * kTileKeys + k);
      sum = hn::MulAdd(hn::Set(d, weights[h]), hn::Max(score, hn::Zero(d)), sum);
    }
    if (count - k >= kWidth) {
      hn::StoreU(sum, d, out + k);
    } else {
      hn::StoreN(sum, d, out + k, static_cast<size_t>(count - k));
    }
  }
}

}  // namespace
// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace cairn::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cairn {

HWY_EXPORT(RowAny);
HWY_EXPORT(Scores);
HWY_EXPORT(Values);
HWY_EXPORT(Weigh);

const float* RowAsFloats(DType codec, const std::byte* tile, int row, int64_t width, float* room) {
  if (codec == DType::kF32) return reinterpret_cast<const float*>(tile) + row * width;
  if (codec == DType::kF16 || codec == DType::kBF16) {
    HWY_DYNAMIC_DISPATCH(RowAny)(codec, tile, row, width, room);
    return room;
  }
  if (codec != DType::kQ8_0 && codec != DType::kQ4_0) {
    LoadRow(codec, tile, 1, width, row, room);
    return room;
  }
  // Rows of blocks, as files have them.
  const auto bytes = static_cast<size_t>(BytesOf(codec, ElementCount(width)).value());
  DequantizeRow(codec, {tile + static_cast<size_t>(row) * bytes, bytes}, room, width);
  return room;
}

void RowScores(const float* const* keys, int count, const float* queries, int64_t stride,
               int64_t rows, int64_t width, float* scores) {
  HWY_DYNAMIC_DISPATCH(Scores)(keys, count, queries, stride, rows, width, scores);
}

void RowValues(const float* const* values, int count, const float* weights, int64_t rows,
               int64_t width, const RowSoftmax* softmax, float* out, int64_t stride) {
  HWY_DYNAMIC_DISPATCH(Values)
  (values, count, weights, rows, width, softmax, out, stride);
}

void WeighScores(const float* scores, const float* weights, int64_t heads, int count, float* out) {
  HWY_DYNAMIC_DISPATCH(Weigh)(scores, weights, heads, count, out);
}

}  // namespace cairn
#endif  // HWY_ONCE
