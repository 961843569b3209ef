// Random stored weights and rows of x for the tests and benchmarks of matrix products.
#ifndef CAIRN_KERNELS_MATMUL_TEST_WEIGHTS_H_
#define CAIRN_KERNELS_MATMUL_TEST_WEIGHTS_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include "cairn/base/dtype.h"

namespace cairn {

inline std::vector<float> RandomFloats(int64_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(static_cast<size_t>(count));
  for (float& value : values) value = normal(random);
  return values;
}

// Byte offsets of the half-precision numbers of a block; -1: there is no second one.
struct HalfOffsets {
  int first;
  int second;
};
inline HalfOffsets HalfOffsetsOf(DType dtype) {
  switch (dtype) {
    case DType::kQ4_1:
    case DType::kQ5_1:
    case DType::kQ4_K:
    case DType::kQ5_K:
      return {0, 2};
    case DType::kQ2_K:
      return {80, 82};
    case DType::kQ3_K:
      return {108, -1};
    case DType::kQ6_K:
      return {208, -1};
    default:
      return {0, -1};
  }
}

// Random codes; half-precision numbers of both signs, about as large as real scales.
inline std::vector<std::byte> RandomWeights(DType dtype, int64_t rows, int64_t columns,
                                            uint32_t seed) {
  const DTypeInfo& info = InfoOf(dtype);
  std::vector<std::byte> bytes(
      static_cast<size_t>(rows * columns / info.block_elements * info.block_bytes));
  std::mt19937 random(seed);
  if (dtype == DType::kF32) {
    const auto values = RandomFloats(rows * columns, seed);
    std::memcpy(bytes.data(), values.data(), bytes.size());
    return bytes;
  }
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  const HalfOffsets offsets = HalfOffsetsOf(dtype);
  for (size_t at = 0; at < bytes.size(); at += info.block_bytes) {
    for (const int offset : {offsets.first, offsets.second}) {
      if (offset < 0) continue;
      // As half precision 2^-12 to 2^-8, as bfloat16 2^-31 to 2^1.
      std::byte& top = bytes[at + offset + 1];
      top = (top & std::byte{0x8F}) | static_cast<std::byte>(dtype == DType::kBF16 ? 0x30 : 0x10);
    }
  }
  return bytes;
}

}  // namespace cairn

#endif  // CAIRN_KERNELS_MATMUL_TEST_WEIGHTS_H_
