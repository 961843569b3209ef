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

constexpr uint32_t kInfinityBits = 0x7F800000;
// Adding 1.5 * 2^23 leaves the nearest integer in the low bits of the sum.
constexpr float kRounder = 12582912.0f;

// One group of all tokens of a tile.
struct Group {
  const float* x[kMaxTileTokens];
  float max[kMaxTileTokens];
  float inverse[kMaxTileTokens];
  int32_t sums[2][kMaxTileTokens];  // of the halves
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

// Sets the field of scales, and inverse = 127 / max, or 0 where the group can't be scaled.
template <int kPlanes>
HWY_INLINE void SetScales(Group& group, int width, float* fields) {
  constexpr float kUnit = kPlanes == 2 ? 1.0f / 256 : 1.0f;
  for (int t = 0; t < width; ++t) {
    const float max = group.max[t];
    const bool finite = std::bit_cast<uint32_t>(max) < kInfinityBits;
    const bool scalable = finite && max >= kSmallestMax;
    group.inverse[t] = scalable ? 127.0f / max : 0.0f;
    fields[kFieldScale * width + t] =
        scalable ? max / 127.0f * kUnit : (finite ? 0.0f : std::numeric_limits<float>::quiet_NaN());
  }
}

HWY_INLINE void SetSums(const Group& group, int width, float* fields, float* halves) {
  auto* int_fields = reinterpret_cast<int32_t*>(fields);
  auto* int_halves = reinterpret_cast<int32_t*>(halves);
  const float* scales = fields + kFieldScale * width;
  for (int t = 0; t < width; ++t) {
    const int32_t sum = group.sums[0][t] + group.sums[1][t];
    fields[kFieldScaledSum * width + t] = scales[t] * static_cast<float>(sum);
    int_fields[kFieldZero128 * width + t] = -128 * sum;
    int_fields[kFieldZero32 * width + t] = -32 * sum;
  }
  for (int half = 0; half < 2; ++half) {
    const int first = half * kHalfFields * width;
    for (int t = 0; t < width; ++t) {
      const int32_t sum = group.sums[half][t];
      halves[first + kFieldHalfScaledSum * width + t] = scales[t] * static_cast<float>(sum);
      int_halves[first + kFieldHalfZero32 * width + t] = -32 * sum;
    }
  }
}

template <int kPlanes>
HWY_ATTR void QuantizeTokens(const TokenTile& tile, const float* rows, int64_t stride,
                             int64_t groups, QuantizedTileOut out) {
  constexpr int kCodes = kPlanes * kQuantGroup;
  constexpr int kHalf = kQuantGroup / 2;
  Group group;
  for (int64_t g = 0; g < groups; ++g) {
    for (int t = 0; t < kMaxTileTokens; ++t) {
      group.max[t] = 0.0f;
      group.sums[0][t] = group.sums[1][t] = 0;
    }
    for (int t = 0; t < tile.used; ++t) {
      group.x[t] = rows + (tile.first + t) * stride + g * kQuantGroup;
      group.max[t] = std::bit_cast<float>(MaxBits(group.x[t]));
    }
    SetScales<kPlanes>(group, tile.width, out.fields);
    for (int t = 0; t < tile.width; ++t, out.codes += kCodes) {
      if (group.inverse[t] == 0.0f) {
        std::fill_n(out.codes, kCodes, int8_t{0});
        continue;
      }
      group.sums[0][t] = QuantizeHalf<kPlanes>(group.x[t], group.inverse[t], out.codes);
      group.sums[1][t] =
          QuantizeHalf<kPlanes>(group.x[t] + kHalf, group.inverse[t], out.codes + kHalf);
    }
    SetSums(group, tile.width, out.fields, out.halves);
    out.fields += kGroupFields * tile.width;
    out.halves += 2 * kHalfFields * tile.width;
  }
}

HWY_ATTR void QuantizeTokensOf(int planes, const TokenTile& tile, const float* rows, int64_t stride,
                               int64_t groups, QuantizedTileOut out) {
  return planes == 1 ? QuantizeTokens<1>(tile, rows, stride, groups, out)
                     : QuantizeTokens<2>(tile, rows, stride, groups, out);
}

}  // namespace
// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace cairn::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cairn {
namespace {

HWY_EXPORT(QuantizeTokensOf);

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
  HWY_DYNAMIC_DISPATCH(QuantizeTokensOf)(planes_, tiles_.At(tile), rows, stride, groups_, out);
}

QuantizedTile QuantizedRows::Tile(int64_t tile) const {
  const int64_t before = tiles_.PlacesBefore(tile) * groups_;
  return {codes_.As<int8_t>() + before * planes_ * kQuantGroup,
          fields_.As<float>() + before * kGroupFields,
          halves_.As<float>() + before * 2 * kHalfFields, tiles_.At(tile).width, planes_};
}

}  // namespace cairn
#endif  // HWY_ONCE
