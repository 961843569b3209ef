#include "cairn/kernels/attention_decode.h"

#include "cairn/base/check.h"
#include "cairn/kernels/state_block.h"
#include "cairn/kernels/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cairn/kernels/attention_decode.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
// After foreach_target.h.
#include "cairn/kernels/lanes-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace cairn::HWY_NAMESPACE {
namespace {

constexpr FloatTag d;
using IntTag = hn::RebindToSigned<FloatTag>;
constexpr hn::Rebind<uint32_t, FloatTag> dw;
using WordVector = hn::Vec<decltype(dw)>;
// Codes of half a block.
constexpr hn::FixedTag<int8_t, 16> d8;
constexpr hn::FixedTag<uint8_t, 16> du8;
using ByteVector = hn::Vec<decltype(d8)>;

constexpr int kHalf = 16;

// ---- Block codecs ----

// What the codes of channels [16 half, 16 half + 16) of one row's block stand for, before scaling.
template <DType kCodec>
HWY_INLINE ByteVector CodesOf(const std::byte* block, int half) {
  constexpr SmallBlockLayout kLayout = *SmallBlockLayoutOf(kCodec);
  constexpr BlockScheme kScheme = *BlockSchemeOf(kCodec);
  const auto* from = reinterpret_cast<const uint8_t*>(block);
  if constexpr (kScheme.code_bits == 8) {
    return hn::BitCast(d8, hn::LoadU(du8, from + kLayout.codes + kHalf * half));
  } else {
    const auto bytes = hn::LoadU(du8, from + kLayout.codes);
    auto codes = half == 0 ? hn::And(bytes, hn::Set(du8, 15)) : hn::ShiftRight<4>(bytes);
    if constexpr (kScheme.code_bits == 5) {
      alignas(16) static constexpr uint8_t kByteOf[16] = {0, 0, 0, 0, 0, 0, 0, 0,
                                                          1, 1, 1, 1, 1, 1, 1, 1};
      alignas(16) static constexpr uint8_t kBitOf[16] = {1, 2, 4, 8, 16, 32, 64, 128,
                                                         1, 2, 4, 8, 16, 32, 64, 128};
      uint16_t fifth;
      hwy::CopyBytes<2>(from + kLayout.fifth_bits + 2 * half, &fifth);
      const auto bits = hn::BitCast(du8, hn::Set(hn::FixedTag<uint16_t, 8>(), fifth));
      const auto spread = hn::TableLookupBytes(bits, hn::Load(du8, kByteOf));
      const auto is_set = hn::TestBit(spread, hn::Load(du8, kBitOf));
      codes = hn::Or(codes, hn::IfThenElseZero(is_set, hn::Set(du8, 16)));
    }
    const auto plain = hn::BitCast(d8, codes);
    if constexpr (kScheme.has_table) {
      return hn::TableLookupBytes(hn::LoadU(d8, kNonlinearValues.data()), plain);
    }
    if constexpr (kScheme.zero == 0) return plain;
    return hn::Sub(plain, hn::Set(d8, static_cast<int8_t>(kScheme.zero)));
  }
}

// Half a block as floats.
struct HalfBlock {
  FloatVector parts[kParts];
};

template <DType kCodec>
HWY_INLINE HalfBlock DecodeHalf(const std::byte* block, int half) {
  constexpr BlockScheme kScheme = *BlockSchemeOf(kCodec);
  constexpr SmallBlockLayout kLayout = *SmallBlockLayoutOf(kCodec);
  static_assert(!kScheme.has_minimum || kLayout.minimum == 2);
  // The scale and, where there is one, the minimum behind it.
  const hn::FixedTag<float, 4> d4;
  const auto* head = reinterpret_cast<const hwy::float16_t*>(block);
  const auto numbers =
      hn::PromoteTo(d4, hn::LoadU(hn::Rebind<hwy::float16_t, decltype(d4)>(), head));
  const FloatVector scale = hn::Set(d, hn::GetLane(numbers));
  const FloatVector minimum = hn::Set(d, hn::ExtractLane(numbers, 1));
  HalfBlock result;
  const ByteVector codes = CodesOf<kCodec>(block, half);
  HWY_ALIGN int8_t lanes[kHalf];
  hn::Store(codes, d8, lanes);
  for (int p = 0; p < kParts; ++p) {
    const auto code =
        hn::PromoteTo(IntTag(), hn::LoadU(hn::Rebind<int8_t, IntTag>(), lanes + p * kWidth));
    // The product is exact: with a minimum, too, there is one rounding.
    const FloatVector value = hn::Mul(hn::ConvertTo(d, code), scale);
    result.parts[p] = kScheme.has_minimum ? hn::Add(value, minimum) : value;
  }
  return result;
}

// Two rows' numbers as words of bf16, the even one's in the low half; for finite numbers.
HWY_INLINE WordVector PackPair(FloatVector even, FloatVector odd) {
#if HWY_TARGET == HWY_AVX3_ZEN4
  alignas(64) static constexpr uint16_t kInterleave[32] = {
      0, 16, 1, 17, 2,  18, 3,  19, 4,  20, 5,  21, 6,  22, 7,  23,
      8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31};
  const auto halves = _mm512_cvtne2ps_pbh(odd.raw, even.raw);
  return WordVector{
      _mm512_permutexvar_epi16(_mm512_load_si512(kInterleave), reinterpret_cast<__m512i>(halves))};
#else
  const auto rounded = [](FloatVector x) HWY_ATTR {
    const auto bits = hn::BitCast(dw, x);
    const auto tie = hn::And(hn::ShiftRight<16>(bits), hn::Set(dw, 1));
    return hn::Add(bits, hn::Add(hn::Set(dw, 0x7FFF), tie));
  };
  return hn::Or(hn::ShiftRight<16>(rounded(even)), hn::And(rounded(odd), hn::Set(dw, 0xFFFF0000u)));
#endif
}

// Rows [2 pair, 2 pair + 2) of a group.
template <DType kCodec>
HWY_INLINE void DecodePair(const std::byte* even, const std::byte* odd, int64_t width,
                           uint32_t* to) {
  constexpr int kBytes = SmallBlockLayoutOf(kCodec)->codes +
                         (BlockSchemeOf(kCodec)->code_bits == 8 ? kStateBlock : kHalf);
  for (int64_t block = 0; block < width / kStateBlock; ++block) {
    for (int half = 0; half < 2; ++half) {
      const HalfBlock a = DecodeHalf<kCodec>(even + block * kBytes, half);
      const HalfBlock b = DecodeHalf<kCodec>(odd + block * kBytes, half);
      for (int p = 0; p < kParts; ++p) {
        hn::StoreU(PackPair(a.parts[p], b.parts[p]), dw,
                   to + block * kStateBlock + half * kHalf + p * kWidth);
      }
    }
  }
}

template <DType kCodec>
void DecodeBlocks(const TilePointers& values, int first, int end, int64_t width, uint32_t* to) {
  const int64_t row_bytes = StateTileBytes(kCodec, width) / kTileRows;
  LineStream next(values.next.data(), kTileGroups, row_bytes * kTileRows);
  for (int pair = first / 2; pair < (end + 1) / 2; ++pair) {
    const auto group = static_cast<size_t>(2 * pair / kTileRows);
    const int64_t offset = 2 * pair % kTileRows * row_bytes;
    for (int64_t line = 0; line < 2 * row_bytes; line += LineStream::kLineBytes) next.Fetch();
    const std::byte* row = values.groups[group] + offset;
    DecodePair<kCodec>(row, row + row_bytes, width, to + pair * width);
  }
}

// ---- fp8 ----

// Each element stays in its place.
template <int kLanesAtOnce>
HWY_INLINE void DecodeFp8At(const uint8_t* from, uint16_t* to) {
  const hn::CappedTag<uint16_t, kLanesAtOnce> d16;
  constexpr int kAtOnce = static_cast<int>(hn::MaxLanes(hn::CappedTag<uint16_t, kLanesAtOnce>()));
  alignas(64) static constexpr uint16_t kSubnormals[32] = {0,      0x3B00, 0x3B80, 0x3BC0,
                                                           0x3C00, 0x3C20, 0x3C40, 0x3C60};
  const auto subnormals = hn::LoadU(d16, kSubnormals);
  for (int i = 0; i < kLanesAtOnce; i += kAtOnce) {
    const auto word = hn::PromoteTo(d16, hn::LoadU(hn::Rebind<uint8_t, decltype(d16)>(), from + i));
    const auto magnitude = hn::And(word, hn::Set(d16, 0x7F));
    const auto sign = hn::ShiftLeft<8>(hn::And(word, hn::Set(d16, 0x80)));
    const auto normal = hn::Add(hn::ShiftLeft<4>(magnitude), hn::Set(d16, (127 - 7) << 7));
    const auto index = hn::IndicesFromVec(d16, hn::And(magnitude, hn::Set(d16, 7)));
    auto bits = hn::IfThenElse(hn::Lt(magnitude, hn::Set(d16, 8)),
                               hn::TableLookupLanes(subnormals, index), normal);
    bits = hn::IfThenElse(hn::Eq(magnitude, hn::Set(d16, 0x7F)), hn::Set(d16, 0x7FC0), bits);
    hn::StoreU(hn::Or(bits, sign), d16, to + i);
  }
}

HWY_INLINE void DecodeFp8(const std::byte* from, LineStream& next, int64_t count, std::byte* to) {
  const auto* bytes = reinterpret_cast<const uint8_t*>(from);
  auto* words = reinterpret_cast<uint16_t*>(to);
  int64_t i = 0;
  for (; i + 32 <= count; i += 32) {
    if (i % LineStream::kLineBytes == 0) next.Fetch();
    DecodeFp8At<32>(bytes + i, words + i);
  }
  for (; i < count; i += kTileRows) DecodeFp8At<kTileRows>(bytes + i, words + i);
}

void DecodeFp8Groups(const TilePointers& tile, int64_t width, std::byte* to) {
  LineStream next(tile.next.data(), kTileGroups, kTileRows * width);
  for (int g = tile.first; g < tile.end; ++g) {
    const auto group = static_cast<size_t>(g);
    DecodeFp8(tile.groups[group], next, kTileRows * width, to + g * kTileRows * width * 2);
  }
}

void DecodeAny(DType codec, const TilePointers& values, int first, int end, int64_t width,
               std::byte* to) {
  auto* words = reinterpret_cast<uint32_t*>(to);
  switch (codec) {
    case DType::kF8E4M3:
      return DecodeFp8Groups(values, width, to);
    case DType::kQ8_0:
      return DecodeBlocks<DType::kQ8_0>(values, first, end, width, words);
    case DType::kQ4_0:
      return DecodeBlocks<DType::kQ4_0>(values, first, end, width, words);
    case DType::kQ4_1:
      return DecodeBlocks<DType::kQ4_1>(values, first, end, width, words);
    case DType::kQ5_0:
      return DecodeBlocks<DType::kQ5_0>(values, first, end, width, words);
    case DType::kQ5_1:
      return DecodeBlocks<DType::kQ5_1>(values, first, end, width, words);
    case DType::kIQ4_NL:
      return DecodeBlocks<DType::kIQ4_NL>(values, first, end, width, words);
    default:
      CAIRN_CHECK(false && "rows of this codec aren't decoded");
  }
}

}  // namespace
// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace cairn::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cairn {

HWY_EXPORT(DecodeAny);

TilePointers DecodeValues(DType codec, const TilePointers& values, int first, int end,
                          int64_t width, std::byte* to) {
  HWY_DYNAMIC_DISPATCH(DecodeAny)(codec, values, first, end, width, to);
  TilePointers decoded;
  decoded.first = values.first;
  decoded.end = values.end;
  for (size_t g = 0; g < kTileGroups; ++g) {
    decoded.groups[g] = to + static_cast<int64_t>(g) * kTileRows * width * 2;
  }
  return decoded;
}

TilePointers DecodeKeys(const TilePointers& keys, int64_t width, std::byte* to) {
  return DecodeValues(DType::kF8E4M3, keys, 0, kTileKeys, width, to);
}

}  // namespace cairn
#endif  // HWY_ONCE
