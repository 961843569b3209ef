#include "cairn/kernels/machine_peak.h"

#include "cairn/kernels/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cairn/kernels/machine_peak.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"

#include "cairn/kernels/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace cairn::HWY_NAMESPACE {
namespace {

constexpr FloatTag d;
using IntTag = hn::Rebind<int32_t, FloatTag>;
using WordTag = hn::Rebind<uint32_t, FloatTag>;
using IntVector = hn::Vec<IntTag>;
using WordVector = hn::Vec<WordTag>;
constexpr int64_t kVectorBytes = kPeakChunkBytes / kParts;

// Rows of a that have sums at the same time: 16 registers hold eight sums and their operands.
constexpr int kRowsAtOnce = HWY_TARGET <= HWY_AVX3 ? kPeakRows : kPeakRows / 2;

// Four products of bytes to each lane.
struct Int8Step {
  using Sum = IntVector;
  using Operand = WordVector;
  static HWY_INLINE Sum Zero() { return hn::Zero(IntTag()); }
  static HWY_INLINE Sum Add(Sum sum, Operand a, Operand b) {
    const auto codes = hn::BitCast(hn::Repartition<uint8_t, FloatTag>(), a);
    const auto values = hn::BitCast(hn::Repartition<int8_t, FloatTag>(), b);
#if HWY_TARGET == HWY_AVX2
    const hn::Repartition<int16_t, FloatTag> d16;
    const auto pairs = hn::SatWidenMulPairwiseAdd(d16, codes, values);
    return hn::Add(sum, hn::WidenMulPairwiseAdd(IntTag(), pairs, hn::Set(d16, int16_t{1})));
#else
    return hn::SumOfMulQuadAccumulate(IntTag(), codes, values, sum);
#endif
  }
};

// Two products of bf16 numbers to each lane, with attention's step (attention_bf16.h).
struct Bf16Step {
  using Sum = FloatVector;
  using Operand = WordVector;
  static HWY_INLINE Sum Zero() { return hn::Zero(d); }
  static HWY_INLINE Sum Add(Sum sum, Operand a, Operand b) {
#if HWY_TARGET == HWY_AVX3_ZEN4
    return FloatVector{_mm512_dpbf16_ps(sum.raw, reinterpret_cast<__m512bh>(a.raw),
                                        reinterpret_cast<__m512bh>(b.raw))};
#else
    const WordVector odd = hn::Set(WordTag(), 0xFFFF0000u);
    sum = hn::MulAdd(hn::BitCast(d, hn::And(a, odd)), hn::BitCast(d, hn::And(b, odd)), sum);
    return hn::MulAdd(hn::BitCast(d, hn::ShiftLeft<16>(a)), hn::BitCast(d, hn::ShiftLeft<16>(b)),
                      sum);
#endif
  }
};

struct F32Step {
  using Sum = FloatVector;
  using Operand = WordVector;
  static HWY_INLINE Sum Zero() { return hn::Zero(d); }
  static HWY_INLINE Sum Add(Sum sum, Operand a, Operand b) {
    return hn::MulAdd(hn::BitCast(d, a), hn::BitCast(d, b), sum);
  }
};

// One part of the chunks, and kRowsAtOnce rows of a.
template <class Step>
HWY_INLINE typename Step::Sum SumOfRows(const uint8_t* a, const uint8_t* b, int64_t passes) {
  const WordTag dw;
  typename Step::Sum sums[kRowsAtOnce][kPeakColumns];
  for (auto& row : sums)
    for (auto& sum : row) sum = Step::Zero();
  for (int64_t pass = 0; pass < passes; ++pass) {
    for (int64_t step = 0; step < kPeakSteps; ++step) {
      const int64_t offset = step * kPeakRows * kPeakChunkBytes;
      WordVector columns[kPeakColumns];
      for (int c = 0; c < kPeakColumns; ++c) {
        columns[c] = hn::BitCast(
            dw, hn::Load(hn::Repartition<uint8_t, WordTag>(), b + offset + c * kPeakChunkBytes));
      }
      for (int r = 0; r < kRowsAtOnce; ++r) {
        const auto row = hn::BitCast(
            dw, hn::Load(hn::Repartition<uint8_t, WordTag>(), a + offset + r * kPeakChunkBytes));
        for (int c = 0; c < kPeakColumns; ++c) {
          sums[r][c] = Step::Add(sums[r][c], row, columns[c]);
        }
      }
    }
  }
  auto total = Step::Zero();
  for (const auto& row : sums)
    for (const auto& sum : row) total = hn::Add(total, sum);
  return total;
}

template <class Step, class Lane>
HWY_INLINE Lane SumOfAll(const void* a, const void* b, int64_t passes) {
  const auto* rows = static_cast<const uint8_t*>(a);
  const auto* columns = static_cast<const uint8_t*>(b);
  HWY_ALIGN Lane lanes[kWidth];
  Lane total = 0;
  for (int first = 0; first < kPeakRows; first += kRowsAtOnce) {
    for (int part = 0; part < kParts; ++part) {
      const auto sum = SumOfRows<Step>(rows + first * kPeakChunkBytes + part * kVectorBytes,
                                       columns + part * kVectorBytes, passes);
      hn::Store(hn::BitCast(hn::Rebind<Lane, FloatTag>(), sum), hn::Rebind<Lane, FloatTag>(),
                lanes);
      for (const Lane lane : lanes) total += lane;
    }
  }
  return total;
}

uint32_t Int8Sum(const uint8_t* a, const int8_t* b, int64_t passes) {
  return SumOfAll<Int8Step, uint32_t>(a, b, passes);
}
float Bf16Sum(const uint32_t* a, const uint32_t* b, int64_t passes) {
  return SumOfAll<Bf16Step, float>(a, b, passes);
}
float F32Sum(const float* a, const float* b, int64_t passes) {
  return SumOfAll<F32Step, float>(a, b, passes);
}

uint64_t Stream(const uint64_t* words, int64_t count) {
  const hn::Repartition<uint64_t, FloatTag> d64;
  constexpr int kSums = 8;
  constexpr int64_t kVectorWords = static_cast<int64_t>(hn::MaxLanes(d64));
  constexpr int64_t kStep = kSums * kVectorWords;
  // So far ahead that a line is there when its turn comes; the machine's own fetching stops at the
  // end of a page.
  constexpr int64_t kAheadWords = 512;
  hn::Vec<decltype(d64)> sums[kSums];
  for (auto& sum : sums) sum = hn::Zero(d64);
  int64_t i = 0;
  for (; i + kStep <= count; i += kStep) {
    for (int64_t line = 0; line < kStep; line += 8) hwy::Prefetch(words + i + kAheadWords + line);
    for (int s = 0; s < kSums; ++s) {
      sums[s] = hn::Add(sums[s], hn::Load(d64, words + i + s * kVectorWords));
    }
  }
  auto all = hn::Zero(d64);
  for (const auto& sum : sums) all = hn::Add(all, sum);
  uint64_t total = hn::ReduceSum(d64, all);
  for (; i < count; ++i) total += words[i];
  return total;
}

}  // namespace
// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace cairn::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cairn {

HWY_EXPORT(Int8Sum);
HWY_EXPORT(Bf16Sum);
HWY_EXPORT(F32Sum);
HWY_EXPORT(Stream);

uint32_t Int8PeakSum(const uint8_t* a, const int8_t* b, int64_t passes) {
  return HWY_DYNAMIC_DISPATCH(Int8Sum)(a, b, passes);
}
float Bf16PeakSum(const uint32_t* a, const uint32_t* b, int64_t passes) {
  return HWY_DYNAMIC_DISPATCH(Bf16Sum)(a, b, passes);
}
float F32PeakSum(const float* a, const float* b, int64_t passes) {
  return HWY_DYNAMIC_DISPATCH(F32Sum)(a, b, passes);
}
uint64_t StreamSum(std::span<const uint64_t> words) {
  return HWY_DYNAMIC_DISPATCH(Stream)(words.data(), static_cast<int64_t>(words.size()));
}

}  // namespace cairn
#endif  // HWY_ONCE
