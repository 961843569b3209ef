// A tile of tokens times a part of a stripe, for block formats: the inner loop of matrix products.
//
// Include inside HWY_NAMESPACE files only, after hwy/highway.h.
#if defined(CAIRN_KERNELS_MATMUL_TILE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef CAIRN_KERNELS_MATMUL_TILE_INL_H_
#undef CAIRN_KERNELS_MATMUL_TILE_INL_H_
#else
#define CAIRN_KERNELS_MATMUL_TILE_INL_H_
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "cairn/kernels/matmul_stripes.h"
#include "cairn/kernels/matmul_weights-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace cairn::HWY_NAMESPACE {
namespace {

// Tokens that a kernel keeps in registers: with 8 vectors of codes, the sums of 16 tokens and what
// one group of one token needs fill 32 registers; 16 registers hold 4 tokens and spill the codes.
constexpr int kRegisterTokens = HWY_TARGET <= HWY_AVX3 ? 16 : 4;

// sum + codes . x, in each lane over four columns.
template <bool kWide>
HWY_INLINE StripeIntVector AddQuads(StripeIntVector sum, CodeVector codes, const int8_t* x) {
  const StripeIntTag di;
  int32_t quad;
  hwy::CopyBytes<4>(x, &quad);
  const auto values = hn::BitCast(hn::Repartition<int8_t, StripeTag>(), hn::Set(di, quad));
#if HWY_TARGET == HWY_AVX2
  // Sums of two products fit 16 bits if codes stay below 128, and for the code 128 alone, too.
  const hn::Repartition<int16_t, StripeTag> d16;
  const auto ones = hn::Set(d16, int16_t{1});
  if constexpr (kWide) {
    const auto low = hn::SatWidenMulPairwiseAdd(d16, Mask(codes, 127), values);
    const auto high = hn::SatWidenMulPairwiseAdd(d16, Mask(codes, 128), values);
    const auto sums = hn::WidenMulPairwiseAdd(di, high, ones);
    return hn::Add(sum, hn::Add(sums, hn::WidenMulPairwiseAdd(di, low, ones)));
  } else {
    const auto pairs = hn::SatWidenMulPairwiseAdd(d16, codes, values);
    return hn::Add(sum, hn::WidenMulPairwiseAdd(di, pairs, ones));
  }
#else
  return hn::SumOfMulQuadAccumulate(di, codes, values, sum);
#endif
}

// Where one group's numbers of the tokens of a tile start.
struct GroupOfTile {
  const int8_t* codes;
  const float* fields;
  const float* halves;
  int width;
};

// Which of a group's fields a product reads.
template <class Shape>
HWY_INLINE const float* FieldOf(const GroupOfTile& x, int half, GroupField whole,
                                HalfField of_half) {
  return Shape::kHalves == 1 ? x.fields + whole * x.width
                             : x.halves + (half * kHalfFields + of_half) * x.width;
}

// The exact products of a half (or all) of the group with token t.
template <class Shape>
HWY_INLINE StripeIntVector GroupProduct(const CodeVector* codes, const GroupOfTile& x, int planes,
                                        int t, int half) {
  constexpr int kHalfSteps = kSteps / Shape::kHalves;
  const StripeIntTag di;
  auto start = hn::Zero(di);
  if constexpr (!Shape::kHasMinimum) {
    constexpr GroupField kZeroField = Shape::kWide ? kFieldZero128 : kFieldZero32;
    const float* zero = FieldOf<Shape>(x, half, kZeroField, kFieldHalfZero32);
    start = hn::BitCast(di, hn::Set(StripeTag(), zero[t]));
  }
  const int8_t* values = x.codes + t * planes * kQuantGroup + half * 4 * kHalfSteps;
  codes += half * kHalfSteps;
  auto sum = planes == 1 ? start : hn::Zero(di);
  for (int i = 0; i < kHalfSteps; ++i) {
    sum = AddQuads<Shape::kWide>(sum, codes[i], values + 4 * i);
  }
  if (planes == 2) {
    sum = hn::Add(hn::ShiftLeft<8>(sum), start);
    for (int i = 0; i < kHalfSteps; ++i) {
      sum = AddQuads<Shape::kWide>(sum, codes[i], values + kQuantGroup + 4 * i);
    }
  }
  return sum;
}

// Adds one group of 32 columns to the sums of kTokens tokens.
template <class Shape, int kTokens>
HWY_INLINE void AddGroup(const GroupWeights<Shape>& weights, const GroupOfTile& x, int planes,
                         StripeVector (&y)[kTokens]) {
  const StripeTag df;
  HWY_UNROLL(16)
  for (int t = 0; t < kTokens; ++t) {
    for (int half = 0; half < Shape::kHalves; ++half) {
      const auto product = GroupProduct<Shape>(weights.codes, x, planes, t, half);
      const auto x_scale = hn::Set(df, x.fields[kFieldScale * x.width + t]);
      const auto scale = hn::Mul(weights.scales[half], x_scale);
      y[t] = hn::MulAdd(hn::ConvertTo(df, product), scale, y[t]);
      if constexpr (Shape::kHasMinimum) {
        const float* sums = FieldOf<Shape>(x, half, kFieldScaledSum, kFieldHalfScaledSum);
        y[t] = hn::MulAdd(weights.minimums[half], hn::Set(df, sums[t]), y[t]);
      }
    }
  }
}

// Where the products of a tile and a part of a stripe go.
struct Target {
  float* out;  // of the tile's first token and the part's first lane
  int64_t stride;
  const float* bias;  // or null
  int64_t lanes;      // that exist: any number, also none or more than a part
  int used;           // tokens that exist
};

HWY_INLINE Target TargetOf(const IntegerProduct& product, const TokenTile& tile, int64_t stripe,
                           int part) {
  const ProductOut& out = product.out;
  const int64_t lane = stripe * kStripe + part * kPartLanes;
  return {.out = out.out + tile.first * out.stride + lane,
          .stride = out.stride,
          .bias = out.bias == nullptr ? nullptr : out.bias + lane,
          .lanes = product.matrix.rows() - lane,
          .used = tile.used};
}

template <int kTokens>
HWY_INLINE void StoreTokens(const Target& target, int first, const StripeVector (&y)[kTokens]) {
  const StripeTag df;
  const auto lanes = static_cast<size_t>(std::clamp<int64_t>(target.lanes, 0, kPartLanes));
  const auto bias = target.bias == nullptr ? hn::Zero(df) : hn::LoadN(df, target.bias, lanes);
  HWY_UNROLL(16)
  for (int t = 0; t < kTokens; ++t) {
    if (first + t >= target.used) return;
    const auto sum = target.bias == nullptr ? y[t] : hn::Add(y[t], bias);
    hn::StoreN(sum, df, target.out + (first + t) * target.stride, lanes);
  }
}

// Tokens [first, first + kTokens) of a tile. kPlanes: those of x, or 0 if known only at run time.
template <int kPlanes, int kTokens, class Source>
HWY_NOINLINE void TokensProduct(const Source& source, int64_t groups, int part,
                                const QuantizedTile& x, int first, const Target& target) {
  const int planes = kPlanes == 0 ? x.planes : kPlanes;
  GroupOfTile group = {x.codes + first * planes * kQuantGroup, x.fields + first, x.halves + first,
                       x.width};
  StripeVector y[kTokens];
  for (int t = 0; t < kTokens; ++t) y[t] = hn::Zero(StripeTag());
  GroupWeights<typename Source::Shape> weights;
  for (int64_t g = 0; g < groups; ++g) {
    source.Load(g, part, weights);
    AddGroup(weights, group, planes, y);
    group.codes += x.width * planes * kQuantGroup;
    group.fields += x.width * kGroupFields;
    group.halves += x.width * 2 * kHalfFields;
  }
  StoreTokens(target, first, y);
}

// A tile of kWidth tokens times a stripe.
template <int kPlanes, int kWidth, class Source>
HWY_INLINE void TileProduct(const IntegerProduct& product, const Source& source, int64_t stripe,
                            int64_t tile) {
  constexpr int kTokens = kWidth < kRegisterTokens ? kWidth : kRegisterTokens;
  const TokenTile tokens = product.x.tiles().At(tile);
  const QuantizedTile x = product.x.Tile(tile);
  const int64_t groups = product.matrix.columns() / kQuantGroup;
  for (int part = 0; part < kParts; ++part) {
    const Target target = TargetOf(product, tokens, stripe, part);
    for (int first = 0; first < tokens.used; first += kTokens) {
      TokensProduct<kPlanes, kTokens>(source, groups, part, x, first, target);
    }
  }
}

}  // namespace
// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace cairn::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // CAIRN_KERNELS_MATMUL_TILE_INL_H_
