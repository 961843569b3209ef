#include "cairn/kernels/attention_lloyd_max.h"

#include <array>
#include <bit>

#include "cairn/base/check.h"
#include "cairn/kernels/lloyd_max.h"
#include "cairn/kernels/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cairn/kernels/attention_lloyd_max.cc"
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
constexpr hn::Rebind<uint32_t, FloatTag> dw;
// Four neighbouring channels of kWidth keys.
constexpr hn::Repartition<uint8_t, FloatTag> d8;
using ByteVector = hn::Vec<decltype(d8)>;
constexpr hn::Repartition<uint16_t, FloatTag> d16;

constexpr int kGroupsAtOnce = kParts == 1 ? 2 : 1;
constexpr int kQuads = kLloydMaxBlock / 4;
constexpr int kWordBytes = kTileRows * 4;  // one word of all rows

// Levels are signed where the product of bytes is, and shifted by kZero elsewhere.
constexpr bool kSigned = HWY_TARGET == HWY_AVX2;
constexpr int kZero = kSigned ? 0 : 128;

// Entries of a table for each code; with fewer than 4 bits it begins anew.
template <int kBits>
inline constexpr auto kTable = [] {
  constexpr size_t kCodes = size_t{1} << kBits;
  std::array<uint8_t, 64> table = {};
  for (size_t i = 0; i < table.size(); ++i) {
    table[i] = static_cast<uint8_t>(kLloydMaxLevels<kBits>[i % kCodes] + kZero);
  }
  return table;
}();

// How the codes of a block's run of words are read.
template <int kBits>
struct KeyBlock {
  static constexpr bool kHasHighest = kBits % 2 != 0;
  static constexpr int kLowBits = kBits >= 4 ? 4 : 2;
  static constexpr int kRunBytes = kBits * kWordBytes;

  static HWY_INLINE ByteVector Word(const std::byte* run, int word, int part) {
    return hn::LoadU(d8,
                     reinterpret_cast<const uint8_t*>(run + word * kWordBytes) + part * kWidth * 4);
  }

  // Highest bits of the keys of part p.
  static HWY_INLINE ByteVector Highest(const std::byte* run, int part) {
    if constexpr (!kHasHighest) return hn::Zero(d8);
    return Word(run, kBits - 1, part);
  }

  // Bit `quad` of each byte becomes bit `to`; others are anything.
  static HWY_INLINE ByteVector Moved(ByteVector bits, int quad, int to) {
    const auto words = hn::BitCast(d16, bits);
    return hn::BitCast(
        d8, quad < to ? hn::ShiftLeftSame(words, to - quad) : hn::ShiftRightSame(words, quad - to));
  }

  // The levels of a quad of channels.
  static HWY_INLINE ByteVector Quad(const std::byte* run, int quad, int part, ByteVector highest) {
    const int word = kLowBits == 4 ? quad % 4 : quad / 4;
    const int shift = kLowBits == 4 ? quad / 4 * 4 : quad % 4 * 2;
    const auto shifted = hn::ShiftRightSame(hn::BitCast(d16, Word(run, word, part)), shift);
    const ByteVector low = hn::And(hn::BitCast(d8, shifted), hn::Set(d8, (1 << kLowBits) - 1));
    if constexpr (!kHasHighest) return Lookup(low);
    if constexpr (kBits == 3 || kParts == 1) {
      constexpr int kHighest = kBits - 1;
      return Lookup(hn::OrAnd(low, Moved(highest, quad, kHighest), hn::Set(d8, 1 << kHighest)));
    } else {
      // Indices from 128 on find 0.
      const ByteVector index = hn::OrAnd(low, Moved(highest, quad, 7), hn::Set(d8, uint8_t{128}));
      const ByteVector other = hn::Xor(index, hn::Set(d8, uint8_t{128}));
      return hn::Or(hn::TableLookupBytesOr0(hn::LoadDup128(d8, kTable<5>.data()), index),
                    hn::TableLookupBytesOr0(hn::LoadDup128(d8, kTable<5>.data() + 16), other));
    }
  }

  static HWY_INLINE ByteVector Lookup(ByteVector codes) {
    if constexpr (kBits == 5) {
      return hn::TableLookupLanes(hn::LoadU(d8, kTable<5>.data()), hn::IndicesFromVec(d8, codes));
    } else {
      return hn::TableLookupBytes(hn::LoadDup128(d8, kTable<kBits>.data()), codes);
    }
  }
};

// sum + levels . x, in each lane over four channels; exact.
HWY_INLINE IntVector AddQuad(IntVector sum, ByteVector levels, const int8_t* x) {
  int32_t quad;
  hwy::CopyBytes<4>(x, &quad);
  const auto values = hn::BitCast(hn::RebindToSigned<decltype(d8)>(), hn::Set(di, quad));
#if HWY_TARGET == HWY_AVX2
  // The products of two magnitudes fit 16 bits; signs go to the query, whose codes are over -128.
  const hn::Repartition<int16_t, FloatTag> dp;
  const auto is_signed = hn::BitCast(hn::RebindToSigned<decltype(d8)>(), levels);
  const hn::Vec<decltype(hn::RebindToSigned<decltype(d8)>())> with_signs{
      _mm256_sign_epi8(values.raw, levels.raw)};
  const auto pairs =
      hn::SatWidenMulPairwiseAdd(dp, hn::BitCast(d8, hn::Abs(is_signed)), with_signs);
  return hn::Add(sum, hn::WidenMulPairwiseAdd(di, pairs, hn::Set(dp, int16_t{1})));
#else
  return hn::SumOfMulQuadAccumulate(di, levels, values, sum);
#endif
}

// The scales of kWidth keys, LloydMaxScale of each.
HWY_INLINE FloatVector ScalesOf(const std::byte* scales) {
  alignas(64) static constexpr auto kOctave = [] {
    std::array<uint32_t, 16> octave = {};
    for (size_t i = 0; i < octave.size(); ++i) {
      octave[i] = std::bit_cast<uint32_t>(kLloydMaxOctave[i % 8]) - (kLloydMaxUnit << 23);
    }
    return octave;
  }();
  const hn::Rebind<uint8_t, FloatTag> from;
  const auto e = hn::PromoteTo(dw, hn::LoadU(from, reinterpret_cast<const uint8_t*>(scales)));
  const auto index = hn::IndicesFromVec(dw, hn::And(e, hn::Set(dw, 7)));
  hn::Vec<decltype(dw)> octave;
  if constexpr (kWidth >= 8) {
    octave = hn::TableLookupLanes(hn::Load(dw, kOctave.data()), index);
  } else {
    octave = hn::TwoTablesLookupLanes(dw, hn::Load(dw, kOctave.data()),
                                      hn::Load(dw, kOctave.data() + kWidth), index);
  }
  const auto bits = hn::Add(octave, hn::ShiftLeft<20>(hn::And(e, hn::Set(dw, 0xF8))));
  return hn::BitCast(d, hn::IfThenZeroElse(hn::Eq(e, hn::Zero(dw)), bits));
}

template <int kBits, int kRows, int kGroups, class Lines>
struct ScoresOf {
  using Block = KeyBlock<kBits>;

  const std::byte* const* groups;
  Lines& next;
  const int8_t* codes;
  const QueryBlock* blocks;
  int64_t width;
  FloatVector sums[kRows][kGroups][kParts];

  // The integer sums of one block, then what they are worth to the query.
  HWY_INLINE void Add(int64_t block) {
    IntVector exact[kRows][kGroups][kParts];
    ByteVector highest[kGroups][kParts];
    const int64_t offset = kTileRows + block * Block::kRunBytes;
    for (int g = 0; g < kGroups; ++g) {
      for (int p = 0; p < kParts; ++p) {
        highest[g][p] = Block::Highest(groups[g] + offset, p);
        for (int r = 0; r < kRows; ++r) {
          exact[r][g][p] = kSigned ? hn::Zero(di) : hn::Set(di, Of(r, block).start);
        }
      }
    }
    HWY_UNROLL(8)
    for (int quad = 0; quad < kQuads; ++quad) {
      for (int g = 0; g < kGroups; ++g) {
        // A run is kBits lines, and a tile a quarter of a line more.
        if (quad < kBits || (quad == kBits && block == 0)) next.Fetch();
        for (int p = 0; p < kParts; ++p) {
          const ByteVector key = Block::Quad(groups[g] + offset, quad, p, highest[g][p]);
          for (int r = 0; r < kRows; ++r) {
            exact[r][g][p] =
                AddQuad(exact[r][g][p], key, codes + r * width + block * kLloydMaxBlock + quad * 4);
          }
        }
      }
    }
    for (int r = 0; r < kRows; ++r) {
      const FloatVector scale = hn::Set(d, Of(r, block).scale);
      for (int g = 0; g < kGroups; ++g) {
        for (int p = 0; p < kParts; ++p) {
          sums[r][g][p] = hn::MulAdd(hn::ConvertTo(d, exact[r][g][p]), scale, sums[r][g][p]);
        }
      }
    }
  }

  const QueryBlock& Of(int r, int64_t block) const {
    return blocks[r * (width / kLloydMaxBlock) + block];
  }
};

template <int kBits, int kRows, int kGroups, class Lines>
HWY_INLINE void ScoresBlock(const TilePointers& keys, int group, Lines& next,
                            const QuantizedQueries& queries, int64_t width,
                            float* HWY_RESTRICT scores) {
  ScoresOf<kBits, kRows, kGroups, Lines> of = {
      &keys.groups[static_cast<size_t>(group)], next, queries.codes, queries.blocks, width, {}};
  for (int r = 0; r < kRows; ++r)
    for (int g = 0; g < kGroups; ++g)
      for (int p = 0; p < kParts; ++p) of.sums[r][g][p] = hn::Zero(d);
  for (int64_t block = 0; block < width / kLloydMaxBlock; ++block) of.Add(block);
  for (int g = 0; g < kGroups; ++g) {
    for (int p = 0; p < kParts; ++p) {
      const FloatVector scale = ScalesOf(of.groups[g] + p * kWidth);
      for (int r = 0; r < kRows; ++r) {
        hn::StoreU(hn::Mul(of.sums[r][g][p], scale), d,
                   scores + r * kTileKeys + (group + g) * kTileRows + p * kWidth);
      }
    }
  }
}

template <int kBits>
void ScoresT(DType codec, const TilePointers& keys, const QuantizedQueries& queries, int64_t rows,
             int64_t width, float* scores) {
  ForRowBatches(rows, [&]<int kRows, class Lines>(int64_t r) HWY_ATTR {
    Lines next(keys.next.data(), r == 0 ? kTileGroups : 0, StateTileBytes(codec, width));
    const QuantizedQueries q = queries.From(r, width);
    float* to = scores + r * kTileKeys;
    int g = keys.first;
    for (; g + kGroupsAtOnce <= keys.end; g += kGroupsAtOnce) {
      ScoresBlock<kBits, kRows, kGroupsAtOnce>(keys, g, next, q, width, to);
    }
    for (; g < keys.end; ++g) ScoresBlock<kBits, kRows, 1>(keys, g, next, q, width, to);
  });
}

void LloydMaxScoresAny(DType codec, const TilePointers& keys, const QuantizedQueries& queries,
                       int64_t rows, int64_t width, float* scores) {
  switch (codec) {
    case DType::kLM2:
      return ScoresT<2>(codec, keys, queries, rows, width, scores);
    case DType::kLM3:
      return ScoresT<3>(codec, keys, queries, rows, width, scores);
    case DType::kLM4:
      return ScoresT<4>(codec, keys, queries, rows, width, scores);
    case DType::kLM5:
      return ScoresT<5>(codec, keys, queries, rows, width, scores);
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

HWY_EXPORT(LloydMaxScoresAny);

void LloydMaxTileScores(DType codec, const TilePointers& keys, const QuantizedQueries& queries,
                        int64_t rows, int64_t width, float* scores) {
  HWY_DYNAMIC_DISPATCH(LloydMaxScoresAny)(codec, keys, queries, rows, width, scores);
}

}  // namespace cairn
#endif  // HWY_ONCE
