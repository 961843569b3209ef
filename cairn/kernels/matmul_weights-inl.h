// The weights of 32 columns of a stripe in registers, read from the packed form or from a panel.
//
// Include inside HWY_NAMESPACE files only, after hwy/highway.h. A stripe is kParts vectors wide;
// lanes never mix, so a kernel walks a stripe once for each part.
#if defined(CAIRN_KERNELS_MATMUL_WEIGHTS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef CAIRN_KERNELS_MATMUL_WEIGHTS_INL_H_
#undef CAIRN_KERNELS_MATMUL_WEIGHTS_INL_H_
#else
#define CAIRN_KERNELS_MATMUL_WEIGHTS_INL_H_
#endif

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "cairn/base/check.h"
#include "cairn/kernels/packed_matrix.h"
#include "hwy/cache_control.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace cairn::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

using StripeTag = hn::CappedTag<float, kStripe>;
using StripeIntTag = hn::RebindToSigned<StripeTag>;
using CodeTag = hn::Repartition<uint8_t, StripeTag>;
using StripeVector = hn::Vec<StripeTag>;
using StripeIntVector = hn::Vec<StripeIntTag>;
using CodeVector = hn::Vec<CodeTag>;
constexpr int kPartLanes = static_cast<int>(hn::MaxLanes(StripeTag()));
constexpr int kParts = kStripe / kPartLanes;
static_assert(kParts * kPartLanes == kStripe);

// Four columns of 16 lanes.
constexpr int kVectorBytes = 4 * kStripe;
// Steps of four columns to kCodeColumns.
constexpr int kSteps = kCodeColumns / 4;

// Codes as the products take them: unsigned, with zero at kZero; or with a minimum.
template <int kHalvesT, bool kHasMinimumT, bool kWideT>
struct GroupShape {
  // Scales to 32 columns.
  static constexpr int kHalves = kHalvesT;
  static constexpr bool kHasMinimum = kHasMinimumT;
  // Codes above 63: zero at 128; else at 32.
  static constexpr bool kWide = kWideT;
  static constexpr int kZero = kWideT ? 128 : 32;
  // A panel holds, for each 32 columns, the codes and the scales as floats.
  static constexpr int kPanelFloats = kHalves * (kHasMinimum ? 2 : 1) * kStripe;
  static constexpr int kPanelBytes = kSteps * kVectorBytes + kPanelFloats * 4;
};

template <class Shape>
struct GroupWeights {
  // An implicit constructor would be compiled without this target's instructions.
  HWY_ATTR GroupWeights() {}

  CodeVector codes[kSteps];
  StripeVector scales[Shape::kHalves];
  StripeVector minimums[Shape::kHalves];
};

HWY_INLINE CodeVector LoadVector(const uint8_t* plane, int vector, int part) {
  return hn::LoadU(CodeTag(), plane + vector * kVectorBytes + part * 4 * kPartLanes);
}

// Byte-wise (v >> shift) or (v << -shift); bits of neighbours come in, the caller masks.
template <int kShift>
HWY_INLINE CodeVector ShiftBytes(CodeVector v) {
  const hn::Repartition<uint16_t, CodeTag> d16;
  const auto wide = hn::BitCast(d16, v);
  if constexpr (kShift == 0) return v;
  if constexpr (kShift > 0) return hn::BitCast(CodeTag(), hn::ShiftRight<kShift>(wide));
  if constexpr (kShift < 0) return hn::BitCast(CodeTag(), hn::ShiftLeft<-kShift>(wide));
}

HWY_INLINE CodeVector Mask(CodeVector v, int mask) {
  return hn::And(v, hn::Set(CodeTag(), static_cast<uint8_t>(mask)));
}

template <int kStep>
HWY_INLINE CodeVector LoadNibble(const uint8_t* plane, int part) {
  return Mask(ShiftBytes<kStep / 4 * 4>(LoadVector(plane, kStep % 4, part)), 15);
}

// The pair of a step, moved up by kUp bits.
template <int kStep, int kUp>
HWY_INLINE CodeVector LoadPair(const uint8_t* plane, int part) {
  return Mask(ShiftBytes<kStep / 2 * 2 - kUp>(LoadVector(plane, kStep % 2, part)), 3 << kUp);
}

template <int kStep, int kUp>
HWY_INLINE CodeVector LoadBit(const uint8_t* plane, int part) {
  return Mask(ShiftBytes<kStep - kUp>(LoadVector(plane, 0, part)), 1 << kUp);
}

template <int kBits, int kStep>
HWY_INLINE CodeVector LoadCode(const uint8_t* plane, int part) {
  if constexpr (kBits == 8) {
    return LoadVector(plane, kStep, part);
  } else if constexpr (kBits == 3) {
    return hn::Or(LoadPair<kStep, 0>(plane, part),
                  LoadBit<kStep, 2>(plane + 2 * kVectorBytes, part));
  } else if constexpr (kBits == 2) {
    return LoadPair<kStep, 0>(plane, part);
  } else {
    const auto low = LoadNibble<kStep>(plane, part);
    const uint8_t* high = plane + 4 * kVectorBytes;
    if constexpr (kBits == 4) return low;
    if constexpr (kBits == 5) return hn::Or(low, LoadBit<kStep, 4>(high, part));
    if constexpr (kBits == 6) return hn::Or(low, LoadPair<kStep, 4>(high, part));
  }
}

HWY_INLINE StripeVector LoadHalves(const uint8_t* from, int part) {
  const hn::Rebind<hwy::float16_t, StripeTag> d16;
  return hn::PromoteTo(StripeTag(), hn::LoadU(d16, reinterpret_cast<const hwy::float16_t*>(from) +
                                                       part * kPartLanes));
}

HWY_INLINE StripeVector LoadGroupBytes(const uint8_t* from, int part) {
  const hn::Rebind<int8_t, StripeTag> d8;
  const auto bytes = hn::LoadU(d8, reinterpret_cast<const int8_t*>(from) + part * kPartLanes);
  return hn::ConvertTo(StripeTag(), hn::PromoteTo(StripeIntTag(), bytes));
}

// A stripe in its packed form.
template <DType kDType>
class PackedSource {
 public:
  static constexpr BlockScheme kScheme = *BlockSchemeOf(kDType);
  using Shape = GroupShape<kCodeColumns / kScheme.group, kScheme.has_minimum,
                           kScheme.code_bits == 8 || kScheme.has_table>;

  PackedSource(const std::byte* stripe, int64_t columns)
      : stripe_(reinterpret_cast<const uint8_t*>(stripe)), groups_(columns / kCodeColumns) {}

  HWY_INLINE void Load(int64_t group, int part, GroupWeights<Shape>& weights) const {
    const int64_t first = group / kChunkGroups * kChunkGroups;
    const int64_t count = HWY_MIN(groups_ - first, int64_t{kChunkGroups});
    const int64_t place = group - first;
    const uint8_t* chunk = stripe_ + first / kChunkGroups * StripeBytes(kScheme, kChunkColumns);
    const uint8_t* codes = chunk + place * kCodeBytes;
    const uint8_t* scales = chunk + count * kCodeBytes;
    // In the order of addresses, which memory serves fastest, and not of their use.
    const uint8_t* ahead = stripe_ + group * kGroupBytes + kPrefetchBytes;
    for (int64_t line = 0; line < kGroupBytes; line += kLineBytes) hwy::Prefetch(ahead + line);
    LoadCodes<0>(codes, part, weights);
    LoadScales(scales, place, part, weights);
  }

 private:
  static constexpr int kChunkGroups = kChunkColumns / kCodeColumns;
  static constexpr int64_t kCodeBytes = CodeBytes(kScheme);
  // Codes and scales, on average.
  static constexpr int64_t kGroupBytes = StripeBytes(kScheme, kChunkColumns) / kChunkGroups;
  static constexpr int kHalfBytes = 2 * kStripe;
  static constexpr int64_t kLineBytes = 64;
  // Far enough to hide memory's latency; stripes follow each other, so it reads ahead into the
  // next.
  static constexpr int64_t kPrefetchBytes = 12288;

  template <int kStep>
  static HWY_INLINE void LoadCodes(const uint8_t* plane, int part, GroupWeights<Shape>& weights) {
    auto code = LoadCode<kScheme.code_bits, kStep>(plane, part);
    if constexpr (kScheme.has_table) {
      const auto table = hn::LoadDup128(CodeTag(), kTable);
      code = hn::TableLookupBytes(table, code);
    } else if constexpr (!kScheme.has_minimum && kScheme.zero != Shape::kZero) {
      code = hn::Add(code, hn::Set(CodeTag(), uint8_t{Shape::kZero - kScheme.zero}));
    }
    weights.codes[kStep] = code;
    if constexpr (kStep + 1 < kSteps) LoadCodes<kStep + 1>(plane, part, weights);
  }

  static HWY_INLINE void LoadScales(const uint8_t* scales, int64_t place, int part,
                                    GroupWeights<Shape>& weights) {
    constexpr int kFieldsPerGroup = kScheme.has_minimum ? 2 : 1;
    const uint8_t* block = kScheme.has_groups ? scales : scales + place * ScaleBytes(kScheme);
    const auto scale = LoadHalves(block, part);
    auto minimum = scale;
    if constexpr (kScheme.has_minimum) minimum = LoadHalves(block + kHalfBytes, part);
    const uint8_t* bytes =
        block + kFieldsPerGroup * kHalfBytes + place * Shape::kHalves * kFieldsPerGroup * kStripe;
    for (int half = 0; half < Shape::kHalves; ++half) {
      weights.scales[half] = scale;
      weights.minimums[half] = minimum;
      if constexpr (kScheme.has_groups) {
        weights.scales[half] = hn::Mul(scale, LoadGroupBytes(bytes, part));
        bytes += kStripe;
        if constexpr (kScheme.has_minimum) {
          weights.minimums[half] = hn::Mul(minimum, LoadGroupBytes(bytes, part));
          bytes += kStripe;
        }
      }
    }
  }

  // kNonlinearValues + 128.
  HWY_ALIGN static constexpr uint8_t kTable[16] = {1,   24,  45,  63,  79,  93,  106, 118,
                                                   129, 141, 153, 166, 181, 197, 217, 241};

  const uint8_t* stripe_;
  int64_t groups_;
};

// Calls body.Run<dtype>().
template <class Body>
void ForBlockFormat(DType dtype, const Body& body) {
  switch (dtype) {
    case DType::kQ8_0:
      return body.template Run<DType::kQ8_0>();
    case DType::kQ4_0:
      return body.template Run<DType::kQ4_0>();
    case DType::kQ4_1:
      return body.template Run<DType::kQ4_1>();
    case DType::kQ5_0:
      return body.template Run<DType::kQ5_0>();
    case DType::kQ5_1:
      return body.template Run<DType::kQ5_1>();
    case DType::kQ2_K:
      return body.template Run<DType::kQ2_K>();
    case DType::kQ3_K:
      return body.template Run<DType::kQ3_K>();
    case DType::kQ4_K:
      return body.template Run<DType::kQ4_K>();
    case DType::kQ5_K:
      return body.template Run<DType::kQ5_K>();
    case DType::kQ6_K:
      return body.template Run<DType::kQ6_K>();
    case DType::kIQ4_NL:
      return body.template Run<DType::kIQ4_NL>();
    default:
      CAIRN_CHECK(false);
  }
}

// A stripe unpacked: for each 32 columns kSteps vectors of codes, then the scales, then the
// minimums.
template <class ShapeT>
class PanelSource {
 public:
  using Shape = ShapeT;
  explicit PanelSource(std::byte* panel) : panel_(reinterpret_cast<uint8_t*>(panel)) {}

  HWY_INLINE void Load(int64_t group, int part, GroupWeights<Shape>& weights) const {
    const uint8_t* at = panel_ + group * Shape::kPanelBytes;
    for (int step = 0; step < kSteps; ++step) weights.codes[step] = LoadVector(at, step, part);
    const float* scales = Floats(at, part);
    for (int half = 0; half < Shape::kHalves; ++half) {
      weights.scales[half] = hn::LoadU(StripeTag(), scales + half * kStripe);
      if constexpr (Shape::kHasMinimum) {
        weights.minimums[half] = hn::LoadU(StripeTag(), scales + (Shape::kHalves + half) * kStripe);
      }
    }
  }

  HWY_INLINE void Store(int64_t group, int part, const GroupWeights<Shape>& weights) {
    uint8_t* at = panel_ + group * Shape::kPanelBytes;
    for (int step = 0; step < kSteps; ++step) {
      hn::StoreU(weights.codes[step], CodeTag(), at + step * kVectorBytes + part * 4 * kPartLanes);
    }
    float* scales = Floats(at, part);
    for (int half = 0; half < Shape::kHalves; ++half) {
      hn::StoreU(weights.scales[half], StripeTag(), scales + half * kStripe);
      if constexpr (Shape::kHasMinimum) {
        hn::StoreU(weights.minimums[half], StripeTag(), scales + (Shape::kHalves + half) * kStripe);
      }
    }
  }

 private:
  template <class Byte>
  static auto* Floats(Byte* at, int part) {
    using Float = std::conditional_t<std::is_const_v<Byte>, const float, float>;
    return reinterpret_cast<Float*>(at + kSteps * kVectorBytes) + part * kPartLanes;
  }

  uint8_t* panel_;
};

}  // namespace
// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace cairn::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // CAIRN_KERNELS_MATMUL_WEIGHTS_INL_H_
