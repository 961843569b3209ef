#include "cairn/kernels/machine_peak.h"

#include <doctest/doctest.h>

#include <bit>
#include <random>
#include <vector>

#include "cairn/base/aligned_buffer.h"
#include "cairn/kernels/targets.h"
#include "cairn/kernels/targets_for_tests.h"
#include "hwy/highway.h"
#include "hwy/targets.h"

namespace cairn {
namespace {

// Operands of integers in [low, high], and the sum of one pass by its definition.
struct Operands {
  std::vector<int> a;
  std::vector<int> b;
  int64_t chunk = 0;  // elements

  Operands(int64_t element_bytes, int low_a, int high_a, int low_b, int high_b)
      : chunk(kPeakChunkBytes / element_bytes) {
    std::mt19937 random(7);
    std::uniform_int_distribution<int> of_a(low_a, high_a);
    std::uniform_int_distribution<int> of_b(low_b, high_b);
    for (int64_t i = 0; i < kPeakOperandBytes / element_bytes; ++i) {
      a.push_back(of_a(random));
      b.push_back(of_b(random));
    }
  }

  int64_t Sum() const {
    int64_t sum = 0;
    for (int64_t step = 0; step < kPeakSteps; ++step) {
      for (int row = 0; row < kPeakRows; ++row) {
        for (int column = 0; column < kPeakColumns; ++column) {
          for (int64_t k = 0; k < chunk; ++k) {
            const int64_t i = (step * kPeakRows + row) * chunk + k;
            const int64_t j = (step * kPeakColumns + column) * chunk + k;
            sum += a[static_cast<size_t>(i)] * b[static_cast<size_t>(j)];
          }
        }
      }
    }
    return sum;
  }
};

template <class T>
AlignedBuffer Stored(const std::vector<int>& values, T (*convert)(int)) {
  AlignedBuffer buffer(values.size() * sizeof(T));
  for (size_t i = 0; i < values.size(); ++i) buffer.As<T>()[i] = convert(values[i]);
  return buffer;
}

template <class Body>
void OnEveryTarget(const Body& body) {
  for (const int64_t target : TargetsForTests()) {
    CAPTURE(hwy::TargetName(target));
    hwy::SetSupportedTargetsForTest(target);
    body();
  }
  hwy::SetSupportedTargetsForTest(0);
}

}  // namespace

TEST_CASE("the int8 loop does every product of every pass, up to the largest") {
  const Operands operands(1, 0, 127, -128, 127);
  const AlignedBuffer a = Stored<uint8_t>(operands.a, [](int v) { return uint8_t(v); });
  const AlignedBuffer b = Stored<int8_t>(operands.b, [](int v) { return int8_t(v); });
  OnEveryTarget([&] {
    for (const int64_t passes : {0, 1, 5}) {
      CHECK_EQ(Int8PeakSum(a.As<uint8_t>(), b.As<int8_t>(), passes),
               static_cast<uint32_t>(passes * operands.Sum()));
    }
  });
}

TEST_CASE("the bf16 and f32 loops do every product of every pass") {
  const Operands halves(2, -3, 3, -3, 3);
  const auto to_bf16 = [](int v) {
    return static_cast<uint16_t>(std::bit_cast<uint32_t>(static_cast<float>(v)) >> 16);
  };
  const AlignedBuffer a16 = Stored<uint16_t>(halves.a, to_bf16);
  const AlignedBuffer b16 = Stored<uint16_t>(halves.b, to_bf16);
  const Operands floats(4, -3, 3, -3, 3);
  const AlignedBuffer a32 = Stored<float>(floats.a, [](int v) { return static_cast<float>(v); });
  const AlignedBuffer b32 = Stored<float>(floats.b, [](int v) { return static_cast<float>(v); });
  OnEveryTarget([&] {
    for (const int64_t passes : {0, 1, 5}) {
      CHECK_EQ(Bf16PeakSum(a16.As<uint32_t>(), b16.As<uint32_t>(), passes),
               static_cast<float>(passes * halves.Sum()));
      CHECK_EQ(F32PeakSum(a32.As<float>(), b32.As<float>(), passes),
               static_cast<float>(passes * floats.Sum()));
    }
  });
}

TEST_CASE("streaming reads every word once, whatever their number") {
  AlignedBuffer buffer(1000 * sizeof(uint64_t));
  for (uint64_t i = 0; i < 1000; ++i) buffer.As<uint64_t>()[i] = i * 0x9E3779B97F4A7C15u;
  OnEveryTarget([&] {
    for (const size_t count : {0, 1, 63, 64, 65, 1000}) {
      uint64_t sum = 0;
      for (size_t i = 0; i < count; ++i) sum += buffer.As<uint64_t>()[i];
      CHECK_EQ(StreamSum({buffer.As<uint64_t>(), count}), sum);
    }
  });
}

}  // namespace cairn
