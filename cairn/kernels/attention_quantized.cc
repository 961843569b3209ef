#include "cairn/kernels/attention_quantized.h"

#include "cairn/base/check.h"
#include "cairn/kernels/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cairn/kernels/attention_quantized.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
// After foreach_target.h.
#include "cairn/kernels/lanes-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace cairn::HWY_NAMESPACE {
namespace {

constexpr FloatTag d;
using ByteTag = hn::Rebind<uint8_t, FloatTag>;
using IntTag = hn::Rebind<int32_t, FloatTag>;

constexpr int kBlock = 32;  // channels to a scale
constexpr int kRowsAtOnce = 4;
constexpr int kGroupsAtOnce = kParts == 1 ? 2 : 1;

// Codes of kWidth neighbours (positions of a key tile, channels of a value row) as floats.
// `channel` counts inside the block; `codes` is where the block's codes start, `lanes` neighbours
// lie in a row of them.
struct Q8 {
  static constexpr int kBlockBytes = 34;
  static HWY_INLINE FloatVector Load(const std::byte* codes, int channel, int lanes, int lane) {
    const auto* from = reinterpret_cast<const int8_t*>(codes) + channel * lanes + lane;
    const auto bytes = hn::LoadU(hn::Rebind<int8_t, FloatTag>(), from);
    return hn::ConvertTo(d, hn::PromoteTo(IntTag(), bytes));
  }
  // Channels [channel, channel + kWidth) of one value row.
  static HWY_INLINE FloatVector LoadRow(const std::byte* codes, int channel) {
    return Load(codes, 0, kBlock, channel);
  }
};

struct Q4 {
  static constexpr int kBlockBytes = 18;
  static HWY_INLINE FloatVector FromNibbles(const uint8_t* from, bool high) {
    const auto bytes = hn::PromoteTo(IntTag(), hn::LoadU(ByteTag(), from));
    const auto nibbles = high ? hn::ShiftRight<4>(bytes) : hn::And(bytes, hn::Set(IntTag(), 15));
    return hn::ConvertTo(d, hn::Sub(nibbles, hn::Set(IntTag(), 8)));
  }
  static HWY_INLINE FloatVector Load(const std::byte* codes, int channel, int lanes, int lane) {
    const auto* from = reinterpret_cast<const uint8_t*>(codes);
    return FromNibbles(from + (channel % 16) * lanes + lane, channel >= 16);
  }
  static HWY_INLINE FloatVector LoadRow(const std::byte* codes, int channel) {
    const auto* from = reinterpret_cast<const uint8_t*>(codes);
    return FromNibbles(from + channel % 16, channel >= 16);
  }
};

template <class Codec, int kRows, int kGroups>
HWY_INLINE void ScoresBlock(const std::byte* const* groups, const std::byte* const* next,
                            const float* HWY_RESTRICT queries, int64_t width,
                            float* HWY_RESTRICT scores) {
  FloatVector sums[kRows][kGroups][kParts];
  for (int r = 0; r < kRows; ++r)
    for (int g = 0; g < kGroups; ++g)
      for (int p = 0; p < kParts; ++p) sums[r][g][p] = hn::Zero(d);
  for (int64_t block = 0; block < width / kBlock; ++block) {
    const int64_t offset = block * kTileRows * Codec::kBlockBytes;
    FloatVector inner[kRows][kGroups][kParts];
    for (int r = 0; r < kRows; ++r)
      for (int g = 0; g < kGroups; ++g)
        for (int p = 0; p < kParts; ++p) inner[r][g][p] = hn::Zero(d);
    for (int c = 0; c < kBlock; ++c) {
      // A line holds the codes of four channels.
      if (c % 4 == 0 && c * kTileRows < kTileRows * Codec::kBlockBytes) {
        for (int g = 0; g < kGroups; ++g) FetchLine(next[g], offset + c * kTileRows);
      }
      FloatVector key[kGroups][kParts];
      for (int g = 0; g < kGroups; ++g)
        for (int p = 0; p < kParts; ++p)
          key[g][p] = Codec::Load(groups[g] + offset + kTileRows * 2, c, kTileRows, p * kWidth);
      for (int r = 0; r < kRows; ++r) {
        const FloatVector q = hn::Set(d, queries[r * width + block * kBlock + c]);
        for (int g = 0; g < kGroups; ++g)
          for (int p = 0; p < kParts; ++p)
            inner[r][g][p] = hn::MulAdd(q, key[g][p], inner[r][g][p]);
      }
    }
    for (int g = 0; g < kGroups; ++g) {
      const auto* scales = reinterpret_cast<const hwy::float16_t*>(groups[g] + offset);
      for (int p = 0; p < kParts; ++p) {
        const FloatVector scale = LoadAsFloat(d, scales + p * kWidth);
        for (int r = 0; r < kRows; ++r)
          sums[r][g][p] = hn::MulAdd(inner[r][g][p], scale, sums[r][g][p]);
      }
    }
  }
  for (int r = 0; r < kRows; ++r)
    for (int g = 0; g < kGroups; ++g)
      for (int p = 0; p < kParts; ++p)
        hn::StoreU(sums[r][g][p], d, scores + r * kTileKeys + g * kTileRows + p * kWidth);
}

template <class Codec, int kRows>
HWY_INLINE void ScoresRows(const TilePointers& keys, const float* queries, int64_t width,
                           float* scores) {
  int g = keys.first;
  for (; g + kGroupsAtOnce <= keys.end; g += kGroupsAtOnce) {
    ScoresBlock<Codec, kRows, kGroupsAtOnce>(&keys.groups[static_cast<size_t>(g)],
                                             &keys.next[static_cast<size_t>(g)], queries, width,
                                             scores + g * kTileRows);
  }
  for (; g < keys.end; ++g) {
    ScoresBlock<Codec, kRows, 1>(&keys.groups[static_cast<size_t>(g)],
                                 &keys.next[static_cast<size_t>(g)], queries, width,
                                 scores + g * kTileRows);
  }
}

// Calls body.template operator()<rows>(first row) for blocks of up to kRowsAtOnce rows.
template <class Body>
HWY_INLINE void ForRowBlocks(int64_t rows, const Body& body) {
  int64_t r = 0;
  for (; r + kRowsAtOnce <= rows; r += kRowsAtOnce) body.template operator()<kRowsAtOnce>(r);
  switch (rows - r) {
    case 3:
      return body.template operator()<3>(r);
    case 2:
      return body.template operator()<2>(r);
    case 1:
      return body.template operator()<1>(r);
    default:
      return;
  }
}

template <class Codec>
void ScoresT(TilePointers keys, const float* queries, int64_t rows, int64_t width, float* scores) {
  ForRowBlocks(rows, [&]<int kRows>(int64_t r) HWY_ATTR {
    ScoresRows<Codec, kRows>(keys, queries + r * width, width, scores + r * kTileKeys);
    keys.next = {};  // once is enough
  });
}

// The 32 channels of one block for all keys.
template <class Codec, int kRows>
HWY_INLINE void ValuesBlock(const TilePointers& values, const float* HWY_RESTRICT weights,
                            int first, int end, int64_t width, int64_t block,
                            const RowSoftmax* softmax, float* HWY_RESTRICT out, int64_t stride) {
  constexpr int kVectors = kBlock / kWidth;
  const int64_t row_bytes = width / kBlock * Codec::kBlockBytes;
  float* to = out + block * kBlock;
  FloatVector sums[kRows][kVectors];
  for (int r = 0; r < kRows; ++r) {
    const FloatVector correction = hn::Set(d, softmax[r].correction);
    for (int v = 0; v < kVectors; ++v)
      sums[r][v] = hn::Mul(hn::LoadU(d, to + r * stride + v * kWidth), correction);
  }
  for (int key = first; key < end; ++key) {
    const auto group = static_cast<size_t>(key / kTileRows);
    const int64_t offset = (key % kTileRows) * row_bytes + block * Codec::kBlockBytes;
    FetchLine(values.next[group], offset);
    const std::byte* from = values.groups[group] + offset;
    hwy::float16_t scale16;
    hwy::CopyBytes<2>(from, &scale16);
    const float scale = hwy::F32FromF16(scale16);
    FloatVector value[kVectors];
    for (int v = 0; v < kVectors; ++v) value[v] = Codec::LoadRow(from + 2, v * kWidth);
    for (int r = 0; r < kRows; ++r) {
      const FloatVector weight = hn::Set(d, weights[r * kTileKeys + key] * scale);
      for (int v = 0; v < kVectors; ++v) sums[r][v] = hn::MulAdd(weight, value[v], sums[r][v]);
    }
  }
  for (int r = 0; r < kRows; ++r)
    for (int v = 0; v < kVectors; ++v) hn::StoreU(sums[r][v], d, to + r * stride + v * kWidth);
}

template <class Codec>
void ValuesT(TilePointers values, const float* weights, int first, int end, int64_t rows,
             int64_t width, const RowSoftmax* softmax, float* out, int64_t stride) {
  ForRowBlocks(rows, [&]<int kRows>(int64_t r) HWY_ATTR {
    for (int64_t block = 0; block < width / kBlock; ++block) {
      ValuesBlock<Codec, kRows>(values, weights + r * kTileKeys, first, end, width, block,
                                softmax + r, out + r * stride, stride);
    }
    values.next = {};  // once is enough
  });
}

void QuantizedScoresAny(DType codec, const TilePointers& keys, const float* queries, int64_t rows,
                        int64_t width, float* scores) {
  if (codec == DType::kQ8_0) return ScoresT<Q8>(keys, queries, rows, width, scores);
  CAIRN_CHECK(codec == DType::kQ4_0);
  ScoresT<Q4>(keys, queries, rows, width, scores);
}

void QuantizedValuesAny(DType codec, const TilePointers& values, const float* weights, int first,
                        int end, int64_t rows, int64_t width, const RowSoftmax* softmax, float* out,
                        int64_t stride) {
  if (codec == DType::kQ8_0) {
    return ValuesT<Q8>(values, weights, first, end, rows, width, softmax, out, stride);
  }
  CAIRN_CHECK(codec == DType::kQ4_0);
  ValuesT<Q4>(values, weights, first, end, rows, width, softmax, out, stride);
}

}  // namespace
// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace cairn::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cairn {

HWY_EXPORT(QuantizedScoresAny);
HWY_EXPORT(QuantizedValuesAny);

bool IsQuantizedStateCodec(DType codec) { return codec == DType::kQ8_0 || codec == DType::kQ4_0; }

void QuantizedTileScores(DType codec, const TilePointers& keys, const float* queries, int64_t rows,
                         int64_t width, float* scores) {
  HWY_DYNAMIC_DISPATCH(QuantizedScoresAny)(codec, keys, queries, rows, width, scores);
}

void QuantizedTileValues(DType codec, const TilePointers& values, const float* weights, int first,
                         int end, int64_t rows, int64_t width, const RowSoftmax* softmax,
                         float* out, int64_t stride) {
  HWY_DYNAMIC_DISPATCH(QuantizedValuesAny)
  (codec, values, weights, first, end, rows, width, softmax, out, stride);
}

}  // namespace cairn
#endif  // HWY_ONCE
