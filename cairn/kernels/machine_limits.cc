#include "cairn/kernels/machine_limits.h"

#include <algorithm>
#include <atomic>
#include <span>

#include "cairn/base/check.h"
#include "cairn/base/env.h"
#include "cairn/kernels/machine_peak.h"

namespace cairn {
namespace {

constexpr int kRepetitions = 21;
// A repetition is long beside a tick of the clock and the start of a loop, and short beside the
// moments that other processes take.
constexpr int64_t kRepetition_us = 1000;
// Parts of the work to a thread: one that loses its core for a moment leaves the rest to others.
constexpr int64_t kPartsPerThread = 8;
// A part is read so often that it comes to at least so many words.
constexpr int64_t kPartWordsRead = 16384;

// Amount per second of `work(times)`, `amount` each time.
template <class Work>
Rate Measure(double amount, const Work& work) {
  int64_t times = 1;
  int64_t elapsed_us = 0;
  const auto run = [&] {
    const int64_t start_us = NowMicroseconds();
    work(times);
    elapsed_us = std::max<int64_t>(1, NowMicroseconds() - start_us);
  };
  run();
  while (elapsed_us < kRepetition_us) {
    times = std::max(times + 1, times * kRepetition_us / elapsed_us * 5 / 4);
    run();
  }
  std::vector<double> samples;
  for (int i = 0; i < kRepetitions; ++i) {
    run();
    samples.push_back(1e6 * amount * static_cast<double>(times) / static_cast<double>(elapsed_us));
  }
  return RateOf(std::move(samples));
}

int64_t ElementBytes(Arithmetic kind) {
  switch (kind) {
    case Arithmetic::kInt8:
      return 1;
    case Arithmetic::kBf16:
      return 2;
    case Arithmetic::kF32:
      return 4;
  }
  CAIRN_CHECK(false);
}

// Ones, and ones whose sign turns from step to step: every sum is zero, and no product is.
struct Operands {
  AlignedBuffer a{kPeakOperandBytes};
  AlignedBuffer b{kPeakOperandBytes};

  explicit Operands(Arithmetic kind) {
    switch (kind) {
      case Arithmetic::kInt8:
        Fill<int8_t>(1, -1);
        return;
      case Arithmetic::kBf16:
        Fill<uint16_t>(0x3F80, 0xBF80);
        return;
      case Arithmetic::kF32:
        Fill<float>(1, -1);
        return;
    }
  }

  template <class T>
  void Fill(T one, T minus_one) {
    constexpr int64_t kCount = kPeakOperandBytes / static_cast<int64_t>(sizeof(T));
    std::fill_n(a.As<T>(), kCount, one);
    for (int64_t i = 0; i < kCount; ++i) {
      b.As<T>()[i] = i / (kCount / kPeakSteps) % 2 == 0 ? one : minus_one;
    }
  }

  bool SumIsZero(Arithmetic kind, int64_t passes) const {
    switch (kind) {
      case Arithmetic::kInt8:
        return Int8PeakSum(a.As<uint8_t>(), b.As<int8_t>(), passes) == 0;
      case Arithmetic::kBf16:
        return Bf16PeakSum(a.As<uint32_t>(), b.As<uint32_t>(), passes) == 0;
      case Arithmetic::kF32:
        return F32PeakSum(a.As<float>(), b.As<float>(), passes) == 0;
    }
    CAIRN_CHECK(false);
  }
};

}  // namespace

Rate RateOf(std::vector<double> samples) {
  CAIRN_CHECK(!samples.empty());
  std::ranges::sort(samples);
  return {samples.back(), samples[samples.size() / 2]};
}

Rate LimitMeter::Reading(int64_t bytes) {
  constexpr int64_t kLineWords = 8;
  const int64_t words = (bytes + 7) / 8;
  if (buffer_.size() < static_cast<size_t>(8 * words)) {
    buffer_ = AlignedBuffer(static_cast<size_t>(8 * words));
    buffer_.PreferHugePages();
    std::fill_n(buffer_.As<uint64_t>(), words, uint64_t{1});
  }
  const int64_t parts = pool_.threads() * kPartsPerThread;
  const int64_t part_words =
      ((words + parts - 1) / parts + kLineWords - 1) / kLineWords * kLineWords;
  // Of a small buffer each part is read again and again: to claim a part takes as long as 10 KiB.
  const int64_t repeats = std::max<int64_t>(1, kPartWordsRead / part_words);
  return Measure(static_cast<double>(8 * words * repeats), [&](int64_t times) {
    std::atomic<uint64_t> sum{0};
    auto body = [&](int64_t index, int /*thread*/) {
      const int64_t first = std::min(words, index % parts * part_words);
      const int64_t count = std::min(words - first, part_words);
      uint64_t part_sum = 0;
      for (int64_t i = 0; i < repeats; ++i) {
        part_sum += StreamSum({buffer_.As<uint64_t>() + first, static_cast<size_t>(count)});
      }
      sum += part_sum;
    };
    pool_.ParallelFor(parts * times, body);
    CAIRN_CHECK(sum == static_cast<uint64_t>(words * repeats * times));
  });
}

Rate LimitMeter::Operations(Arithmetic kind) {
  const Operands operands(kind);
  constexpr int64_t kPasses = 64;
  const int64_t parts = pool_.threads() * kPartsPerThread;
  const int64_t operations = parts * kPasses * PeakOperations(ElementBytes(kind));
  return Measure(static_cast<double>(operations), [&](int64_t times) {
    std::atomic<int> wrong{0};
    auto body = [&](int64_t /*index*/, int /*thread*/) {
      if (!operands.SumIsZero(kind, kPasses * times)) ++wrong;
    };
    pool_.ParallelFor(parts, body);
    CAIRN_CHECK(wrong == 0);
  });
}

MachineLimits LimitMeter::All() {
  MachineLimits limits;
  limits.threads = pool_.threads();
  for (const Arithmetic kind : {Arithmetic::kInt8, Arithmetic::kBf16, Arithmetic::kF32}) {
    limits.arithmetic[static_cast<size_t>(kind)] = Operations(kind);
  }
  limits.memory = Reading(kMemoryBytes);
  return limits;
}

}  // namespace cairn
