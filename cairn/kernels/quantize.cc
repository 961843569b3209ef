#include "cairn/kernels/quantize.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <limits>

#include "cairn/base/check.h"
#include "cairn/kernels/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cairn/kernels/quantize.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
// After foreach_target.h.
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace cairn::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

using FloatTag = hn::CappedTag<float, kMaxTileTokens>;
using IntTag = hn::RebindToSigned<FloatTag>;
using ByteTag = hn::Rebind<uint8_t, FloatTag>;
constexpr int kWidth = static_cast<int>(hn::MaxLanes(FloatTag()));
static_assert(kMaxTileTokens % kWidth == 0);

constexpr int32_t kInfinityBits = 0x7F800000;
// Adding 1.5 * 2^23 leaves the nearest integer in the low bits of the sum.
constexpr float kRounder = 12582912.0f;

constexpr int kRows = kMaxTileTokens;

// So many (group, place) pairs of a tile, in order, as lanes: the groups of 16 tokens, or 16 groups
// of one token.
struct Batch {
  const float* x[kRows];
  HWY_ALIGN float max[kRows];
  HWY_ALIGN float inverse[kRows];    // 127 / max, or 0 where the group can't be scaled
  HWY_ALIGN int32_t sums[2][kRows];  // of the halves
  HWY_ALIGN float fields[kGroupFields][kRows];
  HWY_ALIGN float halves[2][kHalfFields][kRows];
};

// The bits of max|x|: as integers, magnitudes order like floats, and NaNs come last.
HWY_INLINE int32_t MaxBits(const float* x) {
  const FloatTag df;
  const IntTag di;
  auto max = hn::Zero(di);
  for (int i = 0; i < kQuantGroup; i += kWidth) {
    max = hn::Max(max, hn::BitCast(di, hn::Abs(hn::LoadU(df, x + i))));
  }
  return hn::ReduceMax(di, max);
}

// Stores the low bytes of 32-bit integers.
HWY_INLINE void StoreBytes(hn::Vec<IntTag> bits, int8_t* to) {
  const hn::RebindToUnsigned<IntTag> du;
  const ByteTag d8;
  hn::StoreU(hn::TruncateTo(d8, hn::BitCast(du, bits)), d8, reinterpret_cast<uint8_t*>(to));
}

// Returns the sum.
template <int kPlanes>
HWY_INLINE int32_t QuantizeHalf(const float* x, float inverse, int8_t* codes) {
  const FloatTag df;
  const IntTag di;
  const auto rounder = hn::Set(df, kRounder);
  const auto rounder_bits = hn::BitCast(di, rounder);
  auto sum = hn::Zero(di);
  for (int i = 0; i < kQuantGroup / 2; i += kWidth) {
    const auto scaled = hn::Mul(hn::LoadU(df, x + i), hn::Set(df, inverse));
    const auto rounded = hn::Add(scaled, rounder);
    const auto bits = hn::BitCast(di, rounded);
    StoreBytes(bits, codes + i);
    auto value = hn::Sub(bits, rounder_bits);
    if constexpr (kPlanes == 2) {
      const auto rest = hn::Sub(scaled, hn::Sub(rounded, rounder));
      const auto fine = hn::Min(hn::Mul(rest, hn::Set(df, 256.0f)), hn::Set(df, 127.0f));
      const auto fine_bits = hn::BitCast(di, hn::Add(fine, rounder));
      StoreBytes(fine_bits, codes + kQuantGroup + i);
      value = hn::Add(hn::ShiftLeft<8>(value), hn::Sub(fine_bits, rounder_bits));
    }
    sum = hn::Add(sum, value);
  }
  return hn::ReduceSum(di, sum);
}

template <int kPlanes>
HWY_INLINE void SetScales(Batch& batch) {
  const FloatTag df;
  const auto most = hn::Set(df, 127.0f);
  for (int r = 0; r < kRows; r += kWidth) {
    const auto max = hn::Load(df, batch.max + r);
    const auto is_finite =
        hn::RebindMask(df, hn::Lt(hn::BitCast(IntTag(), max), hn::Set(IntTag(), kInfinityBits)));
    const auto is_scalable = hn::And(is_finite, hn::Ge(max, hn::Set(df, kSmallestMax)));
    const auto inverse = hn::IfThenElseZero(is_scalable, hn::Div(most, max));
    auto scale = hn::IfThenElseZero(is_scalable, hn::Div(max, most));
    if constexpr (kPlanes == 2) scale = hn::Mul(scale, hn::Set(df, 1.0f / 256));
    const auto nan = hn::Set(df, std::numeric_limits<float>::quiet_NaN());
    hn::Store(inverse, df, batch.inverse + r);
    hn::Store(hn::IfThenElse(is_finite, scale, nan), df, batch.fields[kFieldScale] + r);
  }
}

HWY_INLINE void SetSums(Batch& batch) {
  const FloatTag df;
  const IntTag di;
  for (int r = 0; r < kRows; r += kWidth) {
    const auto scale = hn::Load(df, batch.fields[kFieldScale] + r);
    const auto set = [&](hn::Vec<IntTag> sum, float* scaled, float* minus32) HWY_ATTR {
      hn::Store(hn::Mul(scale, hn::ConvertTo(df, sum)), df, scaled + r);
      const auto product = hn::Neg(hn::ShiftLeft<5>(sum));
      hn::Store(hn::BitCast(df, product), df, minus32 + r);
      return product;
    };
    const auto sum0 = hn::Load(di, batch.sums[0] + r);
    const auto sum1 = hn::Load(di, batch.sums[1] + r);
    const auto minus32 =
        set(hn::Add(sum0, sum1), batch.fields[kFieldScaledSum], batch.fields[kFieldZero32]);
    const auto minus128 = hn::BitCast(df, hn::ShiftLeft<2>(minus32));
    hn::Store(minus128, df, batch.fields[kFieldZero128] + r);
    set(sum0, batch.halves[0][kFieldHalfScaledSum], batch.halves[0][kFieldHalfZero32]);
    set(sum1, batch.halves[1][kFieldHalfScaledSum], batch.halves[1][kFieldHalfZero32]);
  }
}

// The groups of a batch as tiles of kPlaces keep them: [group][field][place].
template <int kPlaces, int kFields>
HWY_INLINE void StoreFields(const float (&batch)[kFields][kRows], int64_t groups,
                            int64_t group_stride, float* to) {
  for (int64_t g = 0; g < groups; ++g, to += group_stride) {
    for (int f = 0; f < kFields; ++f) {
      hwy::CopyBytes<kPlaces * sizeof(float)>(batch[f] + g * kPlaces, to + f * kPlaces);
    }
  }
}

// Finds the rows of a batch of `groups` groups and their maxima; 0 for places without a token.
template <int kPlaces>
HWY_INLINE void SetRows(const TokenTile& tile, const float* x, int64_t stride, int64_t groups,
                        Batch& batch) {
  for (int r = 0; r < kRows; ++r) {
    const int place = r % kPlaces;
    const int group = r / kPlaces;
    batch.sums[0][r] = batch.sums[1][r] = 0;
    batch.max[r] = 0.0f;
    if (group >= groups || place >= tile.used) continue;
    batch.x[r] = x + place * stride + group * kQuantGroup;
    batch.max[r] = std::bit_cast<float>(MaxBits(batch.x[r]));
  }
}

template <int kPlanes, int kPlaces>
HWY_ATTR void QuantizeTile(const TokenTile& tile, const float* rows, int64_t stride, int64_t groups,
                           QuantizedTileOut out) {
  constexpr int kCodes = kPlanes * kQuantGroup;
  constexpr int kHalf = kQuantGroup / 2;
  constexpr int kGroupsAtOnce = kRows / kPlaces;
  Batch batch;
  for (int64_t g = 0; g < groups; g += kGroupsAtOnce) {
    const int64_t count = HWY_MIN(groups - g, int64_t{kGroupsAtOnce});
    SetRows<kPlaces>(tile, rows + tile.first * stride + g * kQuantGroup, stride, count, batch);
    SetScales<kPlanes>(batch);
    for (int r = 0; r < count * kPlaces; ++r) {
      int8_t* codes = out.codes + (g * kPlaces + r) * kCodes;
      if (batch.inverse[r] == 0.0f) {
        std::fill_n(codes, kCodes, int8_t{0});
        continue;
      }
      const float inverse = batch.inverse[r];
      batch.sums[0][r] = QuantizeHalf<kPlanes>(batch.x[r], inverse, codes);
      batch.sums[1][r] = QuantizeHalf<kPlanes>(batch.x[r] + kHalf, inverse, codes + kHalf);
    }
    SetSums(batch);
    StoreFields<kPlaces>(batch.fields, count, kPlaces * kGroupFields,
                         out.fields + g * kPlaces * kGroupFields);
    for (int half = 0; half < 2; ++half) {
      StoreFields<kPlaces>(batch.halves[half], count, 2 * kPlaces * kHalfFields,
                           out.halves + (2 * g + half) * kPlaces * kHalfFields);
    }
  }
}

template <int kPlanes>
HWY_ATTR void QuantizeTileOfWidth(const TokenTile& tile, const float* rows, int64_t stride,
                                  int64_t groups, QuantizedTileOut out) {
  switch (tile.width) {
    case 1:
      return QuantizeTile<kPlanes, 1>(tile, rows, stride, groups, out);
    case 2:
      return QuantizeTile<kPlanes, 2>(tile, rows, stride, groups, out);
    case 4:
      return QuantizeTile<kPlanes, 4>(tile, rows, stride, groups, out);
    case 8:
      return QuantizeTile<kPlanes, 8>(tile, rows, stride, groups, out);
    default:
      return QuantizeTile<kPlanes, 16>(tile, rows, stride, groups, out);
  }
}

HWY_ATTR void QuantizeTileOf(int planes, const TokenTile& tile, const float* rows, int64_t stride,
                             int64_t groups, QuantizedTileOut out) {
  return planes == 1 ? QuantizeTileOfWidth<1>(tile, rows, stride, groups, out)
                     : QuantizeTileOfWidth<2>(tile, rows, stride, groups, out);
}

}  // namespace
// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace cairn::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cairn {
namespace {

HWY_EXPORT(QuantizeTileOf);

// The narrowest tile that holds this many tokens, at most kMaxTileTokens.
int WidthFor(int64_t tokens) {
  int width = 1;
  while (width < tokens && width < kMaxTileTokens) width *= 2;
  return width;
}

}  // namespace

TokenTiles::TokenTiles(int64_t tokens) : tokens_(tokens) {
  if (tokens == 0) return;
  width_ = tokens <= 8 || tokens >= kMaxTileTokens ? WidthFor(tokens) : 8;
  count_ = (tokens + width_ - 1) / width_;
  const int64_t rest = tokens - (count_ - 1) * width_;
  last_width_ = count_ == 1 ? width_ : std::max(8, WidthFor(rest));
}

TokenTile TokenTiles::At(int64_t tile) const {
  CAIRN_DCHECK(tile >= 0 && tile < count_);
  if (tile + 1 < count_) return {tile * width_, width_, width_};
  const int used = static_cast<int>(std::min<int64_t>(last_width_, tokens_));
  return {tokens_ - used, last_width_, used};
}

void QuantizedRows::Reset(int64_t tokens, int64_t columns, int planes) {
  CAIRN_CHECK(columns % kQuantGroup == 0);
  CAIRN_CHECK(planes == 1 || planes == 2);
  tiles_ = TokenTiles(tokens);
  groups_ = columns / kQuantGroup;
  planes_ = planes;
  const auto places = static_cast<size_t>(tiles_.places() * groups_);
  codes_.Reserve(places * planes * kQuantGroup);
  fields_.Reserve(places * kGroupFields * sizeof(float));
  halves_.Reserve(places * 2 * kHalfFields * sizeof(float));
}

void QuantizedRows::QuantizeTile(int64_t tile, const float* rows, int64_t stride) {
  const int64_t before = tiles_.PlacesBefore(tile) * groups_;
  const QuantizedTileOut out = {codes_.As<int8_t>() + before * planes_ * kQuantGroup,
                                fields_.As<float>() + before * kGroupFields,
                                halves_.As<float>() + before * 2 * kHalfFields};
  HWY_DYNAMIC_DISPATCH(QuantizeTileOf)(planes_, tiles_.At(tile), rows, stride, groups_, out);
}

QuantizedTile QuantizedRows::Tile(int64_t tile) const {
  const int64_t before = tiles_.PlacesBefore(tile) * groups_;
  return {codes_.As<int8_t>() + before * planes_ * kQuantGroup,
          fields_.As<float>() + before * kGroupFields,
          halves_.As<float>() + before * 2 * kHalfFields, tiles_.At(tile).width, planes_};
}

}  // namespace cairn
#endif  // HWY_ONCE
