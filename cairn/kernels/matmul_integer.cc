#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "cairn/base/check.h"
#include "cairn/kernels/matmul_stripes.h"
#include "cairn/kernels/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cairn/kernels/matmul_integer.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
// After foreach_target.h.
#include "cairn/kernels/matmul_weights-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace cairn::HWY_NAMESPACE {
namespace {

// Tokens that a kernel keeps in registers: with 8 vectors of codes, the sums of 16 tokens and what
// one group of one token needs fill 32 registers.
constexpr int kRegisterTokens = HWY_TARGET <= HWY_AVX3 ? 16 : 4;

// sum + codes . x, in each lane over four columns.
template <bool kWide>
HWY_INLINE StripeIntVector AddQuads(StripeIntVector sum, CodeVector codes, const int8_t* x) {
  int32_t quad;
  hwy::CopyBytes<4>(x, &quad);
  const hn::Repartition<int8_t, StripeTag> d8;
  const auto values = hn::BitCast(d8, hn::Set(StripeIntTag(), quad));
  return hn::SumOfMulQuadAccumulate(StripeIntTag(), codes, values, sum);
}

// Adds to sums[t] the products of 16 or 32 columns, columns / 4 vectors of codes.
template <class Shape, int kPlanes>
HWY_INLINE StripeIntVector GroupProduct(const CodeVector* codes, int steps, const int8_t* x,
                                        StripeIntVector start) {
  auto sum = kPlanes == 1 ? start : hn::Zero(StripeIntTag());
  for (int i = 0; i < steps; ++i) sum = AddQuads<Shape::kWide>(sum, codes[i], x + 4 * i);
  if constexpr (kPlanes == 2) {
    sum = hn::Add(hn::ShiftLeft<8>(sum), start);
    for (int i = 0; i < steps; ++i) {
      sum = AddQuads<Shape::kWide>(sum, codes[i], x + kQuantGroup + 4 * i);
    }
  }
  return sum;
}

// One group of 32 columns of kTokens tokens. `fields` and `halves` are those of the group and the
// first token.
template <class Shape, int kPlanes, int kTokens>
HWY_INLINE void AddGroup(const GroupWeights<Shape>& weights, const int8_t* codes,
                         const float* fields, const float* halves, int width,
                         StripeVector (&y)[kTokens]) {
  const StripeTag df;
  const StripeIntTag di;
  constexpr int kHalfSteps = kSteps / Shape::kHalves;
  constexpr int kZeroField = Shape::kWide ? kFieldZero128 : kFieldZero32;
  HWY_UNROLL(16)
  for (int t = 0; t < kTokens; ++t) {
    const float* own = fields + t;
    const float* own_halves = halves + t;
    for (int half = 0; half < Shape::kHalves; ++half) {
      auto start = hn::Zero(di);
      if constexpr (!Shape::kHasMinimum) {
        const float* zero =
            Shape::kHalves == 1 ? own + kZeroField * width : own_halves + kFieldHalfZero32 * width;
        start = hn::BitCast(di, hn::Set(df, *zero));
      }
      const auto product = GroupProduct<Shape, kPlanes>(
          weights.codes + half * kHalfSteps, kHalfSteps,
          codes + t * kPlanes * kQuantGroup + half * 4 * kHalfSteps, start);
      const auto scale = hn::Mul(weights.scales[half], hn::Set(df, own[kFieldScale * width]));
      y[t] = hn::MulAdd(hn::ConvertTo(df, product), scale, y[t]);
      if constexpr (Shape::kHasMinimum) {
        const float* sum = Shape::kHalves == 1 ? own + kFieldScaledSum * width
                                               : own_halves + kFieldHalfScaledSum * width;
        y[t] = hn::MulAdd(weights.minimums[half], hn::Set(df, *sum), y[t]);
      }
      own_halves += kHalfFields * width;
    }
  }
}

// The part of a stripe that a kernel computes, and where it goes.
struct Target {
  float* out;  // of the tile's first token and the part's first lane
  int64_t stride;
  const float* bias;  // or null
  int64_t lanes;      // that exist, may be <= 0 or more than a part
};

template <int kTokens>
HWY_INLINE void StoreTokens(const Target& target, int first, int used,
                            const StripeVector (&y)[kTokens]) {
  const StripeTag df;
  const auto lanes = static_cast<size_t>(std::clamp<int64_t>(target.lanes, 0, kPartLanes));
  const auto bias = target.bias == nullptr ? hn::Zero(df) : hn::LoadN(df, target.bias, lanes);
  HWY_UNROLL(16)
  for (int t = 0; t < kTokens; ++t) {
    if (first + t >= used) return;
    const auto sum = target.bias == nullptr ? y[t] : hn::Add(y[t], bias);
    hn::StoreN(sum, df, target.out + (first + t) * target.stride, lanes);
  }
}

// Tokens [first, first + kTokens) of a tile times a part of a stripe.
template <int kPlanes, int kTokens, class Source>
HWY_NOINLINE void TileProduct(const Source& source, int64_t groups, int part,
                              const QuantizedTile& x, int first, int used, const Target& target) {
  const int64_t width = x.width;
  const int8_t* codes = x.codes + first * kPlanes * kQuantGroup;
  const float* fields = x.fields + first;
  const float* halves = x.halves + first;
  StripeVector y[kTokens];
  for (int t = 0; t < kTokens; ++t) y[t] = hn::Zero(StripeTag());
  GroupWeights<typename Source::Shape> weights;
  for (int64_t g = 0; g < groups; ++g) {
    source.Load(g, part, weights);
    AddGroup<typename Source::Shape, kPlanes>(weights, codes, fields, halves, x.width, y);
    codes += width * kPlanes * kQuantGroup;
    fields += width * kGroupFields;
    halves += width * 2 * kHalfFields;
  }
  StoreTokens(target, first, used, y);
}

template <int kPlanes, int kTokens, class Source>
HWY_INLINE void TileOfWidth(const Source& source, int64_t groups, int part, const QuantizedTile& x,
                            int used, const Target& target) {
  constexpr int kAtOnce = kTokens < kRegisterTokens ? kTokens : kRegisterTokens;
  for (int first = 0; first < used; first += kAtOnce) {
    TileProduct<kPlanes, kAtOnce>(source, groups, part, x, first, used, target);
  }
}

// All a stripe's product needs besides its weights.
struct Job {
  int64_t groups;
  const QuantizedRows& x;
  const ProductOut& out;
  int64_t rows;
};

Target TargetOf(const Job& job, const TokenTile& tile, int64_t stripe, int part) {
  const int64_t lane = stripe * kStripe + part * kPartLanes;
  return {.out = job.out.out + tile.first * job.out.stride + lane,
          .stride = job.out.stride,
          .bias = job.out.bias == nullptr ? nullptr : job.out.bias + lane,
          .lanes = job.rows - lane};
}

// One tile of at most kMaxStreamedTokens tokens, straight from the packed form.
template <int kPlanes, class Source>
void StreamStripe(const Job& job, const Source& source, int64_t stripe) {
  const TokenTile tile = job.x.tiles().At(0);
  const QuantizedTile x = job.x.Tile(0);
  for (int part = 0; part < kParts; ++part) {
    const Target target = TargetOf(job, tile, stripe, part);
    switch (tile.width) {
      case 1:
        TileOfWidth<kPlanes, 1>(source, job.groups, part, x, tile.used, target);
        break;
      case 2:
        TileOfWidth<kPlanes, 2>(source, job.groups, part, x, tile.used, target);
        break;
      case 4:
        TileOfWidth<kPlanes, 4>(source, job.groups, part, x, tile.used, target);
        break;
      default:
        TileOfWidth<kPlanes, 8>(source, job.groups, part, x, tile.used, target);
    }
  }
}

template <class Source>
void FillPanel(const Source& source, int64_t groups, std::byte* to) {
  PanelSource<typename Source::Shape> panel(to);
  GroupWeights<typename Source::Shape> weights;
  for (int part = 0; part < kParts; ++part) {
    for (int64_t g = 0; g < groups; ++g) {
      source.Load(g, part, weights);
      panel.Store(g, part, weights);
    }
  }
}

template <int kPlanes, class Shape>
void PanelProducts(const Job& job, StripeRange range, std::byte* panels, int64_t panel_bytes) {
  for (int64_t i = 0; i < job.x.tiles().count(); ++i) {
    const TokenTile tile = job.x.tiles().At(i);
    const QuantizedTile x = job.x.Tile(i);
    for (int64_t stripe = range.first; stripe < range.end; ++stripe) {
      const PanelSource<Shape> source(panels + (stripe - range.first) * panel_bytes);
      for (int part = 0; part < kParts; ++part) {
        const Target target = TargetOf(job, tile, stripe, part);
        if (tile.width == 8) {
          TileOfWidth<kPlanes, 8>(source, job.groups, part, x, tile.used, target);
        } else {
          TileOfWidth<kPlanes, 16>(source, job.groups, part, x, tile.used, target);
        }
      }
    }
  }
}

template <int kPlanes, DType kDType>
void Stripes(const PackedMatrix& matrix, const Job& job, StripeRange range, std::byte* panels) {
  using Source = PackedSource<kDType>;
  const int64_t columns = matrix.columns();
  if (job.x.tiles().count() == 1 && job.x.tiles().At(0).width <= kMaxStreamedTokens) {
    for (int64_t stripe = range.first; stripe < range.end; ++stripe) {
      StreamStripe<kPlanes>(job, Source(matrix.Stripe(stripe), columns), stripe);
    }
    return;
  }
  const int64_t panel_bytes = PanelBytes(matrix);
  for (int64_t first = range.first; first < range.end; first += kPanelStripes) {
    const int64_t end = std::min(first + kPanelStripes, range.end);
    for (int64_t stripe = first; stripe < end; ++stripe) {
      FillPanel(Source(matrix.Stripe(stripe), columns), job.groups,
                panels + (stripe - first) * panel_bytes);
    }
    PanelProducts<kPlanes, typename Source::Shape>(job, {first, end}, panels, panel_bytes);
  }
}

template <int kPlanes>
void StripesOfFormat(const PackedMatrix& matrix, const Job& job, StripeRange range,
                     std::byte* panels) {
  switch (matrix.dtype()) {
    case DType::kQ8_0:
      return Stripes<kPlanes, DType::kQ8_0>(matrix, job, range, panels);
    case DType::kQ4_0:
      return Stripes<kPlanes, DType::kQ4_0>(matrix, job, range, panels);
    case DType::kQ4_1:
      return Stripes<kPlanes, DType::kQ4_1>(matrix, job, range, panels);
    case DType::kQ5_0:
      return Stripes<kPlanes, DType::kQ5_0>(matrix, job, range, panels);
    case DType::kQ5_1:
      return Stripes<kPlanes, DType::kQ5_1>(matrix, job, range, panels);
    case DType::kQ2_K:
      return Stripes<kPlanes, DType::kQ2_K>(matrix, job, range, panels);
    case DType::kQ3_K:
      return Stripes<kPlanes, DType::kQ3_K>(matrix, job, range, panels);
    case DType::kQ4_K:
      return Stripes<kPlanes, DType::kQ4_K>(matrix, job, range, panels);
    case DType::kQ5_K:
      return Stripes<kPlanes, DType::kQ5_K>(matrix, job, range, panels);
    case DType::kQ6_K:
      return Stripes<kPlanes, DType::kQ6_K>(matrix, job, range, panels);
    case DType::kIQ4_NL:
      return Stripes<kPlanes, DType::kIQ4_NL>(matrix, job, range, panels);
    default:
      CAIRN_CHECK(false);
  }
}

void StripesOfPrecision(const PackedMatrix& matrix, const QuantizedRows& x, const ProductOut& out,
                        StripeRange range, std::byte* panels) {
  const Job job = {matrix.columns() / kQuantGroup, x, out, matrix.rows()};
  return x.planes() == 1 ? StripesOfFormat<1>(matrix, job, range, panels)
                         : StripesOfFormat<2>(matrix, job, range, panels);
}

}  // namespace
// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace cairn::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cairn {
namespace {

HWY_EXPORT(StripesOfPrecision);

}  // namespace

int64_t PanelBytes(const PackedMatrix& matrix) {
  // Codes of 32 columns, and up to two scales and minimums to a lane.
  constexpr int64_t kMostPerGroup = kStripe * (kCodeColumns + 4 * 4);
  return matrix.columns() / kCodeColumns * kMostPerGroup;
}

void IntegerStripes(const PackedMatrix& matrix, const QuantizedRows& x, const ProductOut& out,
                    StripeRange range, std::byte* panels) {
  HWY_DYNAMIC_DISPATCH(StripesOfPrecision)(matrix, x, out, range, panels);
}

}  // namespace cairn
#endif  // HWY_ONCE
