#include "cairn/kernels/attention_decode.h"

#include <array>

#include "cairn/base/check.h"
#include "cairn/kernels/lloyd_max.h"
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
using CodeVector = hn::Vec<decltype(du8)>;

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

// Exact: codes have 8 bits, scales 16 at most.
HWY_INLINE HalfBlock Scaled(ByteVector codes, FloatVector scale) {
  HWY_ALIGN int8_t lanes[kHalf];
  hn::Store(codes, d8, lanes);
  HalfBlock result;
  for (int p = 0; p < kParts; ++p) {
    const auto code =
        hn::PromoteTo(IntTag(), hn::LoadU(hn::Rebind<int8_t, IntTag>(), lanes + p * kWidth));
    result.parts[p] = hn::Mul(hn::ConvertTo(d, code), scale);
  }
  return result;
}

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
  HalfBlock result = Scaled(CodesOf<kCodec>(block, half), scale);
  if constexpr (kScheme.has_minimum) {
    for (FloatVector& part : result.parts) part = hn::Add(part, minimum);
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

// ---- Lloyd-Max codes ----

// Levels by code, with room for a vector's lanes.
template <int kBits, class Number>
constexpr std::array<Number, kLloydMaxMostLevels> LloydMaxTableOf() {
  std::array<Number, kLloydMaxMostLevels> table = {};
  for (size_t i = 0; i < kLloydMaxLevels<kBits>.size(); ++i) table[i] = kLloydMaxLevels<kBits>[i];
  return table;
}

// The codes of channels [16 half, 16 half + 16) of one row's block.
template <int kBits>
HWY_INLINE CodeVector LloydMaxCodesOf(const std::byte* words, int half) {
  const hn::FixedTag<uint32_t, 4> d32;
  alignas(16) static constexpr uint32_t kQuad[2][4] = {{0, 1, 2, 3}, {4, 5, 6, 7}};
  const auto word = [&](int index) HWY_ATTR {
    uint32_t bits;
    hwy::CopyBytes<4>(words + 4 * index, &bits);
    return hn::Set(d32, bits);
  };
  const auto* bytes = reinterpret_cast<const uint8_t*>(words);
  CodeVector codes;
  if constexpr (kBits >= 4) {
    const auto nibbles = hn::LoadU(du8, bytes);
    codes = half == 0 ? hn::And(nibbles, hn::Set(du8, 15)) : hn::ShiftRight<4>(nibbles);
  } else {
    const auto pairs = hn::Shr(word(half), hn::ShiftLeft<1>(hn::Load(d32, kQuad[0])));
    codes = hn::And(hn::BitCast(du8, pairs), hn::Set(du8, 3));
  }
  if constexpr (kBits % 2 != 0) {
    const auto highest =
        hn::And(hn::Shr(word(kBits - 1), hn::Load(d32, kQuad[half])), hn::Set(d32, 0x01010101u));
    codes = hn::Or(codes, hn::BitCast(du8, hn::ShiftLeft<kBits - 1>(highest)));
  }
  return codes;
}

#if HWY_TARGET == HWY_AVX3_ZEN4 || HWY_TARGET == HWY_AVX3_DL
// The numbers of two rows by code, as words of bf16.
template <int kBits>
class TwoRows {
 public:
  HWY_INLINE TwoRows(FloatVector even_scale, FloatVector odd_scale)
      : low_(Numbers(even_scale, odd_scale, 0)), high_(low_) {
    if constexpr (kBits == 5) high_ = Numbers(even_scale, odd_scale, kHalf);
  }

  // 16 channels of both.
  HWY_INLINE void Store(CodeVector even, CodeVector odd, uint32_t* to) const {
    const hn::FixedTag<uint8_t, 2 * kHalf> both;
    const auto codes =
        hn::Combine(both, hn::InterleaveUpper(du8, even, odd), hn::InterleaveLower(du8, even, odd));
    const auto twice = hn::ShiftLeft<1>(hn::PromoteTo(d16, codes));
    const auto is_odd = hn::BitCast(d16, hn::Set(dw, 0x00010000u));
    const auto index = hn::IndicesFromVec(d16, hn::Or(twice, is_odd));
    if constexpr (kBits == 5) {
      hn::StoreU(hn::BitCast(dw, hn::TwoTablesLookupLanes(d16, low_, high_, index)), dw, to);
    } else {
      hn::StoreU(hn::BitCast(dw, hn::TableLookupLanes(low_, index)), dw, to);
    }
  }

 private:
  static constexpr hn::Repartition<uint16_t, FloatTag> d16{};
  using HalfVector = hn::Vec<hn::Repartition<uint16_t, FloatTag>>;

  // Of 16 codes: the number of code first + i in the even row at 2 i, in the odd one behind it.
  static HWY_INLINE HalfVector Numbers(FloatVector even_scale, FloatVector odd_scale, int first) {
    alignas(64) static constexpr auto kLevels = LloydMaxTableOf<kBits, float>();
    const FloatVector levels = hn::Load(d, kLevels.data() + first);
    return hn::BitCast(d16, PackPair(hn::Mul(levels, even_scale), hn::Mul(levels, odd_scale)));
  }

  HalfVector low_;
  HalfVector high_;  // with 5 bits: of the codes from 16 on
};
#else
// The numbers of two rows.
template <int kBits>
class TwoRows {
 public:
  HWY_INLINE TwoRows(FloatVector even_scale, FloatVector odd_scale)
      : even_scale_(even_scale), odd_scale_(odd_scale) {}

  // 16 channels of both.
  HWY_INLINE void Store(CodeVector even, CodeVector odd, uint32_t* to) const {
    const HalfBlock a = Scaled(LevelsOf(even), even_scale_);
    const HalfBlock b = Scaled(LevelsOf(odd), odd_scale_);
    for (int p = 0; p < kParts; ++p) {
      hn::StoreU(PackPair(a.parts[p], b.parts[p]), dw, to + p * kWidth);
    }
  }

 private:
  static HWY_INLINE ByteVector LevelsOf(CodeVector codes) {
    alignas(16) static constexpr auto kLevels = LloydMaxTableOf<kBits, int8_t>();
    const auto low = hn::Load(d8, kLevels.data());
    if constexpr (kBits < 5) {
      return hn::TableLookupBytes(low, hn::BitCast(d8, codes));
    } else {
      // Indices from 128 on find 0.
      const auto high = hn::Load(d8, kLevels.data() + kHalf);
      const auto top = hn::ShiftLeft<3>(hn::And(codes, hn::Set(du8, 16)));
      const auto index = hn::Or(hn::And(codes, hn::Set(du8, 15)), top);
      const auto other = hn::Xor(index, hn::Set(du8, uint8_t{128}));
      return hn::Or(hn::TableLookupBytesOr0(low, hn::BitCast(d8, index)),
                    hn::TableLookupBytesOr0(high, hn::BitCast(d8, other)));
    }
  }

  FloatVector even_scale_;
  FloatVector odd_scale_;
};
#endif

template <int kBits>
void DecodeLloydMax(const TilePointers& values, int first, int end, int64_t width, uint32_t* to) {
  constexpr int kBlockBytes = kBits * kStateBlock / 8;
  const int64_t row_bytes = width / kStateBlock * kBlockBytes;
  LineStream next(values.next.data(), kTileGroups, (row_bytes + 1) * kTileRows);
  for (int pair = first / 2; pair < (end + 1) / 2; ++pair) {
    const std::byte* tile = values.groups[static_cast<size_t>(2 * pair / kTileRows)];
    const int64_t row = 2 * pair % kTileRows;
    for (int64_t line = -kTileRows; line < 2 * row_bytes; line += LineStream::kLineBytes) {
      next.Fetch();
    }
    const auto scale = [&](int64_t r) HWY_ATTR {
      return hn::Set(d, LloydMaxScale(std::to_integer<uint8_t>(tile[r])));
    };
    const TwoRows<kBits> rows(scale(row), scale(row + 1));
    const std::byte* even = tile + kTileRows + row * row_bytes;
    for (int64_t c = 0; c < width; c += kStateBlock, even += kBlockBytes) {
      for (int half = 0; half < 2; ++half) {
        rows.Store(LloydMaxCodesOf<kBits>(even, half),
                   LloydMaxCodesOf<kBits>(even + row_bytes, half),
                   to + pair * width + c + half * kHalf);
      }
    }
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
    case DType::kLM2:
      return DecodeLloydMax<2>(values, first, end, width, words);
    case DType::kLM3:
      return DecodeLloydMax<3>(values, first, end, width, words);
    case DType::kLM4:
      return DecodeLloydMax<4>(values, first, end, width, words);
    case DType::kLM5:
      return DecodeLloydMax<5>(values, first, end, width, words);
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
