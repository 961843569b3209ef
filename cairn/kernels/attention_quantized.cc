#include "cairn/kernels/attention_quantized.h"

#include <algorithm>
#include <array>
#include <limits>

#include "cairn/base/check.h"
#include "cairn/kernels/attention_lloyd_max.h"
#include "cairn/kernels/lloyd_max.h"
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
using IntTag = hn::RebindToSigned<FloatTag>;
constexpr IntTag di;
using IntVector = hn::Vec<IntTag>;
// Four neighbouring channels of kWidth keys.
using ByteTag = hn::Repartition<uint8_t, FloatTag>;
constexpr ByteTag d8;
using ByteVector = hn::Vec<ByteTag>;

constexpr int kGroupsAtOnce = kParts == 1 ? 2 : 1;
constexpr int kQuads = kStateBlock / 4;
constexpr int kQuadBytes = kTileRows * 4;

HWY_INLINE ByteVector LoadBytes(const std::byte* from) {
  return hn::LoadU(d8, reinterpret_cast<const uint8_t*>(from));
}

// ---- Codes of a quad of channels, as unsigned bytes: all that a codec must tell ----

struct Q8_0 {
  static constexpr DType kDType = DType::kQ8_0;
  static HWY_INLINE ByteVector Finish(ByteVector codes) { return codes; }
};
struct Plain4 {
  static HWY_INLINE ByteVector Finish(ByteVector nibbles) { return nibbles; }
};
struct Q4_0 : Plain4 {
  static constexpr DType kDType = DType::kQ4_0;
};
struct Q4_1 : Plain4 {
  static constexpr DType kDType = DType::kQ4_1;
};
struct Q5_0 : Plain4 {
  static constexpr DType kDType = DType::kQ5_0;
};
struct Q5_1 : Plain4 {
  static constexpr DType kDType = DType::kQ5_1;
};
struct IQ4_NL {
  static constexpr DType kDType = DType::kIQ4_NL;
  static HWY_INLINE ByteVector Finish(ByteVector nibbles) {
    alignas(16) static constexpr auto kShifted = [] {
      std::array<uint8_t, 16> values = {};
      for (size_t i = 0; i < 16; ++i) values[i] = static_cast<uint8_t>(kNonlinearValues[i] + 128);
      return values;
    }();
    return hn::TableLookupBytes(hn::LoadDup128(d8, kShifted.data()), nibbles);
  }
};

// Where the parts of a block's run in a key tile start, and how its codes are read.
template <class Codec>
struct KeyBlock {
  static constexpr SmallBlockLayout kLayout = *SmallBlockLayoutOf(Codec::kDType);
  static constexpr BlockScheme kScheme = *BlockSchemeOf(Codec::kDType);
  static constexpr bool kHasMinimum = kScheme.has_minimum;
  static constexpr bool kHasFifth = kScheme.code_bits == 5;
  static constexpr bool kBytes = kScheme.code_bits == 8;
  // Codes may exceed 127: products of pairs don't fit 16 bits.
  static constexpr bool kWide = kBytes || kScheme.has_table;
  static constexpr int kZero = kScheme.has_table ? 128 : kScheme.zero;
  static constexpr int kRunBytes = kTileRows * (kLayout.codes + (kBytes ? 32 : 16));

  // Fifth bits of the keys of part p.
  static HWY_INLINE ByteVector Fifth(const std::byte* run, int part) {
    if constexpr (!kHasFifth) return hn::Zero(d8);
    return LoadBytes(run + kLayout.fifth_bits * kTileRows + part * kWidth * 4);
  }

  static HWY_INLINE ByteVector Quad(const std::byte* run, int quad, int part, ByteVector fifth) {
    const std::byte* codes = run + kLayout.codes * kTileRows + part * kWidth * 4;
    if constexpr (kBytes) return Codec::Finish(LoadBytes(codes + quad * kQuadBytes));
    const ByteVector bytes = LoadBytes(codes + quad % 4 * kQuadBytes);
    const hn::Repartition<uint16_t, ByteTag> d16;
    const ByteVector from =
        quad < 4 ? bytes : hn::BitCast(d8, hn::ShiftRight<4>(hn::BitCast(d16, bytes)));
    ByteVector nibbles = hn::And(from, hn::Set(d8, 15));
    if constexpr (kHasFifth) {
      // Bit `quad` of each byte becomes its bit 4.
      const auto words = hn::BitCast(d16, fifth);
      const auto moved =
          quad < 4 ? hn::ShiftLeftSame(words, 4 - quad) : hn::ShiftRightSame(words, quad - 4);
      nibbles = hn::OrAnd(nibbles, hn::BitCast(d8, moved), hn::Set(d8, 16));
    }
    return Codec::Finish(nibbles);
  }
};

// sum + codes . x, in each lane over four channels; exact.
template <bool kWide>
HWY_INLINE IntVector AddQuad(IntVector sum, ByteVector codes, const int8_t* x) {
  int32_t quad;
  hwy::CopyBytes<4>(x, &quad);
  const auto values = hn::BitCast(hn::RebindToSigned<ByteTag>(), hn::Set(di, quad));
#if HWY_TARGET == HWY_AVX2
  // Sums of two products fit 16 bits if codes stay below 128, and for the code 128 alone, too.
  const hn::Repartition<int16_t, FloatTag> d16;
  const auto ones = hn::Set(d16, int16_t{1});
  if constexpr (kWide) {
    const auto low = hn::SatWidenMulPairwiseAdd(d16, hn::And(codes, hn::Set(d8, 127)), values);
    const auto high = hn::SatWidenMulPairwiseAdd(d16, hn::And(codes, hn::Set(d8, 128)), values);
    const auto sums = hn::WidenMulPairwiseAdd(di, high, ones);
    return hn::Add(sum, hn::Add(sums, hn::WidenMulPairwiseAdd(di, low, ones)));
  }
  const auto pairs = hn::SatWidenMulPairwiseAdd(d16, codes, values);
  return hn::Add(sum, hn::WidenMulPairwiseAdd(di, pairs, ones));
#else
  return hn::SumOfMulQuadAccumulate(di, codes, values, sum);
#endif
}

template <class Codec, int kRows, int kGroups, class Lines>
struct ScoresOf {
  using Block = KeyBlock<Codec>;
  static constexpr int64_t kRun = Block::kRunBytes;

  const std::byte* const* groups;
  Lines& next;
  const int8_t* codes;
  const QueryBlock* blocks;
  int64_t width;
  FloatVector sums[kRows][kGroups][kParts];

  // The integer sums of one block, then what they are worth.
  HWY_INLINE void Add(int64_t block) {
    IntVector exact[kRows][kGroups][kParts];
    ByteVector fifth[kGroups][kParts];
    const int64_t offset = block * kRun;
    for (int g = 0; g < kGroups; ++g) {
      for (int p = 0; p < kParts; ++p) {
        fifth[g][p] = Block::Fifth(groups[g] + offset, p);
        for (int r = 0; r < kRows; ++r) exact[r][g][p] = hn::Set(di, Of(r, block).start);
      }
    }
    HWY_UNROLL(8)
    for (int quad = 0; quad < kQuads; ++quad) {
      for (int g = 0; g < kGroups; ++g) {
        // A run is at most kQuads lines and a half.
        if (Block::kBytes || quad % 2 == 0) next.Fetch();
        if (quad == kQuads - 1) next.Fetch();
        for (int p = 0; p < kParts; ++p) {
          const ByteVector key = Block::Quad(groups[g] + offset, quad, p, fifth[g][p]);
          for (int r = 0; r < kRows; ++r) {
            exact[r][g][p] = AddQuad<Block::kWide>(
                exact[r][g][p], key, codes + r * width + block * kStateBlock + quad * 4);
          }
        }
      }
    }
    for (int g = 0; g < kGroups; ++g) {
      for (int p = 0; p < kParts; ++p) AddScaled(groups[g] + offset, block, g, p, exact);
    }
  }

  HWY_INLINE void AddScaled(const std::byte* run, int64_t block, int g, int p,
                            const IntVector (&exact)[kRows][kGroups][kParts]) {
    const auto* halves = reinterpret_cast<const hwy::float16_t*>(run) + p * kWidth;
    const FloatVector scale = LoadAsFloat(d, halves);
    for (int r = 0; r < kRows; ++r) {
      const FloatVector product =
          hn::Mul(hn::ConvertTo(d, exact[r][g][p]), hn::Set(d, Of(r, block).scale));
      sums[r][g][p] = hn::MulAdd(product, scale, sums[r][g][p]);
    }
    if constexpr (Block::kHasMinimum) {
      const FloatVector minimum = LoadAsFloat(d, halves + Block::kLayout.minimum / 2 * kTileRows);
      for (int r = 0; r < kRows; ++r) {
        sums[r][g][p] = hn::MulAdd(hn::Set(d, Of(r, block).sum), minimum, sums[r][g][p]);
      }
    }
  }

  const QueryBlock& Of(int r, int64_t block) const {
    return blocks[r * (width / kStateBlock) + block];
  }
};

template <class Codec, int kRows, int kGroups, class Lines>
HWY_INLINE void ScoresBlock(const TilePointers& keys, int group, Lines& next,
                            const QuantizedQueries& queries, int64_t width,
                            float* HWY_RESTRICT scores) {
  ScoresOf<Codec, kRows, kGroups, Lines> of = {
      &keys.groups[static_cast<size_t>(group)], next, queries.codes, queries.blocks, width, {}};
  for (int r = 0; r < kRows; ++r)
    for (int g = 0; g < kGroups; ++g)
      for (int p = 0; p < kParts; ++p) of.sums[r][g][p] = hn::Zero(d);
  for (int64_t block = 0; block < width / kStateBlock; ++block) of.Add(block);
  for (int r = 0; r < kRows; ++r)
    for (int g = 0; g < kGroups; ++g)
      for (int p = 0; p < kParts; ++p)
        hn::StoreU(of.sums[r][g][p], d,
                   scores + r * kTileKeys + (group + g) * kTileRows + p * kWidth);
}

template <class Codec>
void ScoresT(const TilePointers& keys, const QuantizedQueries& queries, int64_t rows, int64_t width,
             float* scores) {
  ForRowBatches(rows, [&]<int kRows, class Lines>(int64_t r) HWY_ATTR {
    Lines next(keys.next.data(), r == 0 ? kTileGroups : 0, StateTileBytes(Codec::kDType, width));
    const QuantizedQueries q = queries.From(r, width);
    float* to = scores + r * kTileKeys;
    int g = keys.first;
    for (; g + kGroupsAtOnce <= keys.end; g += kGroupsAtOnce) {
      ScoresBlock<Codec, kRows, kGroupsAtOnce>(keys, g, next, q, width, to);
    }
    for (; g < keys.end; ++g) ScoresBlock<Codec, kRows, 1>(keys, g, next, q, width, to);
  });
}

void ScoresAny(DType codec, const TilePointers& keys, const QuantizedQueries& queries, int64_t rows,
               int64_t width, float* scores) {
  switch (codec) {
    case DType::kQ8_0:
      return ScoresT<Q8_0>(keys, queries, rows, width, scores);
    case DType::kQ4_0:
      return ScoresT<Q4_0>(keys, queries, rows, width, scores);
    case DType::kQ4_1:
      return ScoresT<Q4_1>(keys, queries, rows, width, scores);
    case DType::kQ5_0:
      return ScoresT<Q5_0>(keys, queries, rows, width, scores);
    case DType::kQ5_1:
      return ScoresT<Q5_1>(keys, queries, rows, width, scores);
    case DType::kIQ4_NL:
      return ScoresT<IQ4_NL>(keys, queries, rows, width, scores);
    default:
      CAIRN_CHECK(false && "rows of this codec are read elsewhere");
  }
}

// ---- Queries ----

// The codes' sum.
HWY_INLINE int32_t QuantizeOne(const float* x, float inverse, int8_t* codes) {
  const hn::Rebind<int8_t, FloatTag> to;
  IntVector sum = hn::Zero(di);
  for (int i = 0; i < kStateBlock; i += kWidth) {
    const IntVector code = hn::NearestInt(hn::Mul(hn::LoadU(d, x + i), hn::Set(d, inverse)));
    hn::StoreU(hn::DemoteTo(to, code), to, codes + i);
    sum = hn::Add(sum, code);
  }
  return hn::ReduceSum(di, sum);
}

// The bits of max|x|: as integers, magnitudes order like floats, and NaNs come last.
HWY_INLINE int32_t LargestBits(const float* x) {
  IntVector largest = hn::Zero(di);
  for (int i = 0; i < kStateBlock; i += kWidth) {
    largest = hn::Max(largest, hn::BitCast(di, hn::Abs(hn::LoadU(d, x + i))));
  }
  return hn::ReduceMax(di, largest);
}

void Queries(int32_t zero, const float* queries, int64_t count, const QuantizedQueries& to) {
  for (int64_t b = 0; b < count; ++b) {
    const float* x = queries + b * kStateBlock;
    const auto largest = hwy::BitCastScalar<float>(LargestBits(x));
    const bool finite = largest <= std::numeric_limits<float>::max();
    const float scale = !finite                    ? std::numeric_limits<float>::quiet_NaN()
                        : largest < kSmallestQuery ? 0.0f
                                                   : largest / 127.0f;
    const bool scaled = finite && largest >= kSmallestQuery;
    int8_t* codes = to.codes + b * kStateBlock;
    int32_t sum = 0;
    if (scaled) {
      sum = QuantizeOne(x, 127.0f / largest, codes);
    } else {
      std::fill_n(codes, kStateBlock, int8_t{0});
    }
    to.blocks[b] = {scale, scale * static_cast<float>(sum), -zero * sum};
  }
}

}  // namespace
// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace cairn::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cairn {

HWY_EXPORT(ScoresAny);
HWY_EXPORT(Queries);

void QuantizeQueries(DType codec, const float* queries, int64_t rows, int64_t width,
                     const QuantizedQueries& to) {
  // Tables have 0 at 128.
  const bool has_table = IsLloydMax(codec) || BlockSchemeOf(codec)->has_table;
  const int32_t zero = has_table ? 128 : BlockSchemeOf(codec)->zero;
  HWY_DYNAMIC_DISPATCH(Queries)(zero, queries, rows * (width / kStateBlock), to);
}

void QuantizedTileScores(DType codec, const TilePointers& keys, const QuantizedQueries& queries,
                         int64_t rows, int64_t width, float* scores) {
  if (IsLloydMax(codec)) return LloydMaxTileScores(codec, keys, queries, rows, width, scores);
  HWY_DYNAMIC_DISPATCH(ScoresAny)(codec, keys, queries, rows, width, scores);
}

}  // namespace cairn
#endif  // HWY_ONCE
