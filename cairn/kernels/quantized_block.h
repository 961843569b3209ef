// A block of a GGUF quantized format, taken apart: codes and the numbers that scale them.
//
// An element is d * s * (c - zero) for symmetric formats and d * s * c - e * m for formats with a
// minimum, where d and e belong to the block, s and m to a group of elements (1 in formats of one
// group, whose minimum -e * m is then the block's). This is the one place that knows the bit
// layouts. Thread-safe.
#ifndef CAIRN_KERNELS_QUANTIZED_BLOCK_H_
#define CAIRN_KERNELS_QUANTIZED_BLOCK_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "cairn/base/dtype.h"

namespace cairn {

inline constexpr int kMaxBlockElements = 256;
inline constexpr int kMaxBlockGroups = 16;

struct BlockScheme {
  int elements;   // to a block
  int group;      // elements that share s and m
  int code_bits;  // codes are below 1 << code_bits
  int zero;       // the code of 0, in formats without minimum
  bool has_minimum;
  bool has_groups;  // s and m are stored per group
  bool has_table;   // codes index kNonlinearValues; `zero` is already inside the table
};

// Nothing for formats without blocks.
constexpr std::optional<BlockScheme> BlockSchemeOf(DType dtype) {
  switch (dtype) {
    case DType::kQ8_0:
      return BlockScheme{32, 32, 8, 128, false, false, false};
    case DType::kQ4_0:
      return BlockScheme{32, 32, 4, 8, false, false, false};
    case DType::kQ4_1:
      return BlockScheme{32, 32, 4, 0, true, false, false};
    case DType::kQ5_0:
      return BlockScheme{32, 32, 5, 16, false, false, false};
    case DType::kQ5_1:
      return BlockScheme{32, 32, 5, 0, true, false, false};
    case DType::kQ2_K:
      return BlockScheme{256, 16, 2, 0, true, true, false};
    case DType::kQ3_K:
      return BlockScheme{256, 16, 3, 4, false, true, false};
    case DType::kQ4_K:
      return BlockScheme{256, 32, 4, 0, true, true, false};
    case DType::kQ5_K:
      return BlockScheme{256, 32, 5, 0, true, true, false};
    case DType::kQ6_K:
      return BlockScheme{256, 16, 6, 32, false, true, false};
    case DType::kIQ4_NL:
      return BlockScheme{32, 32, 4, 0, false, false, true};
    default:
      return std::nullopt;
  }
}

// Byte offsets inside a block of 32 elements; its scale comes first. -1: the format has no such
// part.
struct SmallBlockLayout {
  int minimum;
  int fifth_bits;  // 32 bits, bit i of element i
  // 16 bytes of nibbles, element i low and element i + 16 high in byte i; or 32 signed bytes.
  int codes;
};

// Nothing for formats with larger blocks or none.
constexpr std::optional<SmallBlockLayout> SmallBlockLayoutOf(DType dtype) {
  switch (dtype) {
    case DType::kQ8_0:
    case DType::kQ4_0:
    case DType::kIQ4_NL:
      return SmallBlockLayout{-1, -1, 2};
    case DType::kQ4_1:
      return SmallBlockLayout{2, -1, 4};
    case DType::kQ5_0:
      return SmallBlockLayout{-1, 2, 6};
    case DType::kQ5_1:
      return SmallBlockLayout{2, 4, 8};
    default:
      return std::nullopt;
  }
}

// IQ4_NL: what its 16 codes stand for.
inline constexpr std::array<int8_t, 16> kNonlinearValues = {
    -127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};

struct QuantizedBlock {
  std::array<uint8_t, kMaxBlockElements> codes;
  // Bits of a half-precision float: d, and the minimum (-e in formats with groups).
  uint16_t scale;
  uint16_t minimum;
  std::array<int8_t, kMaxBlockGroups> group_scales;
  std::array<int8_t, kMaxBlockGroups> group_minimums;
};

// REQUIRES: BlockSchemeOf(dtype); `source` holds one block. Fields that the format lacks are not
// written.
void UnpackBlock(DType dtype, const std::byte* source, QuantizedBlock& block);

float HalfToFloat(uint16_t bits);

// To the nearest half-precision number, ties to even; finite values stay finite.
uint16_t HalfFromFloat(float value);

}  // namespace cairn

#endif  // CAIRN_KERNELS_QUANTIZED_BLOCK_H_
