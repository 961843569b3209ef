#include "cairn/kernels/lloyd_max_rows.h"

#include <array>
#include <cstring>

#include "cairn/base/check.h"
#include "cairn/kernels/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cairn/kernels/lloyd_max_rows.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
// After foreach_target.h.
#include "cairn/kernels/lanes-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace cairn::HWY_NAMESPACE {
namespace {

constexpr FloatTag d;
using IntTag = hn::RebindToSigned<FloatTag>;
constexpr IntTag di;
using IntVector = hn::Vec<IntTag>;
// As many of a block's codes as are one vector of bytes.
constexpr hn::CappedTag<uint8_t, kLloydMaxBlock> d8;
using ByteVector = hn::Vec<decltype(d8)>;
constexpr int kBytes = static_cast<int>(hn::MaxLanes(d8));

HWY_INLINE float SumOfSquares(const float* HWY_RESTRICT x, int64_t width) {
  FloatVector sums[2][kParts];
  for (auto& half : sums)
    for (FloatVector& part : half) part = hn::Zero(d);
  for (int64_t c = 0; c < width; c += kLloydMaxBlock) {
    for (int h = 0; h < 2; ++h) {
      for (int p = 0; p < kParts; ++p) {
        const FloatVector value = hn::LoadU(d, x + c + h * kLanes + p * kWidth);
        sums[h][p] = hn::MulAdd(value, value, sums[h][p]);
      }
    }
  }
  HWY_ALIGN float lanes[kLanes];
  for (int p = 0; p < kParts; ++p) {
    hn::Store(hn::Add(sums[0][p], sums[1][p]), d, lanes + p * kWidth);
  }
  return SumLanes(lanes);
}

// In each lane |x| in half units of the scale, 255 at most, and below it the sign as bits 15 to 31.
HWY_INLINE IntVector SignedMagnitudes(const float* x, FloatVector two_by_scale) {
  const IntVector bits = hn::BitCast(di, hn::LoadU(d, x));
  const FloatVector absolute = hn::BitCast(d, hn::And(bits, hn::Set(di, 0x7FFFFFFF)));
  // As integers, magnitudes order like floats, and NaNs come last.
  const IntVector scaled = hn::Min(hn::BitCast(di, hn::Mul(absolute, two_by_scale)),
                                   hn::Set(di, hwy::BitCastScalar<int32_t>(255.0f)));
  const IntVector magnitude = hn::ConvertInRangeTo(di, hn::BitCast(d, scaled));
  return hn::OrAnd(magnitude, hn::ShiftRight<31>(bits), hn::Set(di, -32768));
}

// The codes of kBytes channels from x.
template <int kBits>
HWY_INLINE ByteVector CodesOf(const float* x, FloatVector two_by_scale) {
  const hn::RepartitionToNarrow<IntTag> d16;
  const hn::Rebind<uint8_t, decltype(d16)> dh;  // bytes of one vector of 16-bit numbers
  const auto words = [&](int first) HWY_ATTR {
    return hn::OrderedDemote2To(d16, SignedMagnitudes(x + first, two_by_scale),
                                SignedMagnitudes(x + first + kWidth, two_by_scale));
  };
  const auto magnitude_of = [&](auto v) HWY_ATTR {
    return hn::TruncateTo(dh, hn::BitCast(hn::RebindToUnsigned<decltype(d16)>(), v));
  };
  const auto sign_of = [&](auto v) HWY_ATTR { return magnitude_of(hn::ShiftRight<15>(v)); };
  ByteVector magnitude;
  ByteVector sign;
  const auto low = words(0);
  if constexpr (2 * kWidth == kBytes) {
    magnitude = magnitude_of(low);
    sign = sign_of(low);
  } else {
    static_assert(4 * kWidth == kBytes);
    const auto high = words(2 * kWidth);
    magnitude = hn::Combine(d8, magnitude_of(high), magnitude_of(low));
    sign = hn::Combine(d8, sign_of(high), sign_of(low));
  }
  ByteVector index = hn::Zero(d8);
  for (const uint8_t border : kLloydMaxBorders<kBits>) {
    const auto reached = hn::Ge(magnitude, hn::Set(d8, border));
    index = hn::Sub(index, hn::VecFromMask(d8, reached));
  }
  return hn::Add(hn::Xor(index, sign), hn::Set(d8, uint8_t{1 << (kBits - 1)}));
}

// Words of a block's codes, four codes to each 32 bits, two such to each of `codes`.
template <int kBits>
HWY_INLINE void PackWords(const uint64_t* HWY_RESTRICT codes, uint32_t* HWY_RESTRICT words) {
  constexpr uint64_t kEach = 0x0101010101010101u;
  if constexpr (kBits >= 4) {
    for (int i = 0; i < 2; ++i) {
      const uint64_t nibbles = (codes[i] & (kEach * 15)) | ((codes[i + 2] & (kEach * 15)) << 4);
      words[2 * i] = static_cast<uint32_t>(nibbles);
      words[2 * i + 1] = static_cast<uint32_t>(nibbles >> 32);
    }
  } else {
    for (int j = 0; j < 2; ++j) {
      const uint64_t pairs = (codes[2 * j] & (kEach * 3)) | ((codes[2 * j + 1] & (kEach * 3)) << 4);
      words[j] = static_cast<uint32_t>(pairs) | static_cast<uint32_t>(pairs >> 32) << 2;
    }
  }
  if constexpr (kBits % 2 != 0) {
    uint64_t highest = 0;
    for (int i = 0; i < 4; ++i) highest |= ((codes[i] >> (kBits - 1)) & kEach) << (2 * i);
    words[kBits - 1] = static_cast<uint32_t>(highest) | static_cast<uint32_t>(highest >> 32) << 1;
  }
}

template <int kBits>
void StoreT(const float* HWY_RESTRICT values, int64_t width, const LloydMaxRow<std::byte>& to) {
  const float by_width = kLloydMaxSquare<kBits> / static_cast<float>(width);
  const uint8_t scale = LloydMaxScaleByte(SumOfSquares(values, width) * by_width);
  *to.scale = static_cast<std::byte>(scale);
  const FloatVector two_by_scale = hn::Set(d, LloydMaxTwoByScale(scale));
  std::byte* next = to.words;
  for (int64_t c = 0; c < width; c += kLloydMaxBlock) {
    HWY_ALIGN uint64_t codes[kLloydMaxBlock / 8];
    for (int i = 0; i < kLloydMaxBlock; i += kBytes) {
      hn::Store(CodesOf<kBits>(values + c + i, two_by_scale), d8,
                reinterpret_cast<uint8_t*>(codes) + i);
    }
    uint32_t words[kBits];
    PackWords<kBits>(codes, words);
    for (int w = 0; w < kBits; ++w, next += to.step) hwy::CopyBytes<4>(&words[w], next);
  }
}

void StoreAny(DType codec, const float* values, int64_t width, const LloydMaxRow<std::byte>& to) {
  switch (codec) {
    case DType::kLM2:
      return StoreT<2>(values, width, to);
    case DType::kLM3:
      return StoreT<3>(values, width, to);
    case DType::kLM4:
      return StoreT<4>(values, width, to);
    case DType::kLM5:
      return StoreT<5>(values, width, to);
    default:
      CAIRN_CHECK(false && "not Lloyd-Max codes");
  }
}

}  // namespace
// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace cairn::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cairn {
namespace {

HWY_EXPORT(StoreAny);

template <int kBits>
void Load(const LloydMaxRow<const std::byte>& from, int64_t width, float* values) {
  const float scale = LloydMaxScale(std::to_integer<uint8_t>(*from.scale));
  for (int64_t c = 0; c < width; ++c) {
    const int64_t in_block = c % kLloydMaxBlock;
    const auto byte = [&](int64_t word) {
      const int64_t index = c / kLloydMaxBlock * kBits + word;
      return std::to_integer<uint32_t>(from.words[index * from.step + c % 4]);
    };
    uint32_t code = 0;
    if constexpr (kBits >= 4) {
      code = (byte(in_block % 16 / 4) >> (in_block / 16 * 4)) & 15;
    } else {
      code = (byte(in_block / 16) >> (in_block % 16 / 4 * 2)) & 3;
    }
    if constexpr (kBits % 2 != 0) {
      code |= ((byte(kBits - 1) >> (in_block / 4)) & 1) << (kBits - 1);
    }
    values[c] = static_cast<float>(kLloydMaxLevels<kBits>[code]) * scale;
  }
}

}  // namespace

void StoreLloydMaxRow(DType codec, const float* values, int64_t width,
                      const LloydMaxRow<std::byte>& to) {
  HWY_DYNAMIC_DISPATCH(StoreAny)(codec, values, width, to);
}

void LoadLloydMaxRow(DType codec, const LloydMaxRow<const std::byte>& from, int64_t width,
                     float* values) {
  switch (codec) {
    case DType::kLM2:
      return Load<2>(from, width, values);
    case DType::kLM3:
      return Load<3>(from, width, values);
    case DType::kLM4:
      return Load<4>(from, width, values);
    case DType::kLM5:
      return Load<5>(from, width, values);
    default:
      CAIRN_CHECK(false && "not Lloyd-Max codes");
  }
}

}  // namespace cairn
#endif  // HWY_ONCE
