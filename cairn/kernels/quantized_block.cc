#include "cairn/kernels/quantized_block.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "cairn/base/check.h"
#include "cairn/kernels/targets.h"
#include "hwy/base.h"

namespace cairn {
namespace {

constexpr uint16_t kHalfSign = 0x8000;
constexpr float kLargestHalf = 65504.0f;

uint16_t Load16(const uint8_t* from) {
  uint16_t value;
  std::memcpy(&value, from, sizeof(value));
  return value;
}

uint32_t Load32(const uint8_t* from) {
  uint32_t value;
  std::memcpy(&value, from, sizeof(value));
  return value;
}

// 16 bytes hold 32 codes: element i in the low half of byte i, element i + 16 in the high half.
void UnpackNibbles(const uint8_t* packed, uint8_t* codes) {
  for (int i = 0; i < 16; ++i) {
    codes[i] = packed[i] & 15;
    codes[i + 16] = packed[i] >> 4;
  }
}

// Bit i is the fifth bit of code i.
void AddFifthBits(uint32_t bits, uint8_t* codes) {
  for (int i = 0; i < 32; ++i) {
    codes[i] = static_cast<uint8_t>(codes[i] | ((bits >> i) & 1) << 4);
  }
}

void UnpackSmall(DType dtype, const uint8_t* in, QuantizedBlock& block) {
  const SmallBlockLayout layout = *SmallBlockLayoutOf(dtype);
  block.scale = Load16(in);
  if (layout.minimum >= 0) block.minimum = Load16(in + layout.minimum);
  if (dtype == DType::kQ8_0) {
    for (int i = 0; i < 32; ++i) block.codes[i] = in[layout.codes + i] ^ 0x80;
    return;
  }
  UnpackNibbles(in + layout.codes, block.codes.data());
  if (layout.fifth_bits >= 0) AddFifthBits(Load32(in + layout.fifth_bits), block.codes.data());
}

// 32 bytes hold 128 codes of two bits: element 32 j + i in bits 2 j and 2 j + 1 of byte i.
void UnpackPairs(const uint8_t* packed, uint8_t* codes) {
  for (int j = 0; j < 4; ++j) {
    for (int i = 0; i < 32; ++i) codes[32 * j + i] = (packed[i] >> (2 * j)) & 3;
  }
}

void UnpackQ2_K(const uint8_t* in, QuantizedBlock& block) {
  for (int g = 0; g < 16; ++g) {
    block.group_scales[g] = static_cast<int8_t>(in[g] & 15);
    block.group_minimums[g] = static_cast<int8_t>(in[g] >> 4);
  }
  UnpackPairs(in + 16, block.codes.data());
  UnpackPairs(in + 48, block.codes.data() + 128);
  block.scale = Load16(in + 80);
  block.minimum = Load16(in + 82) ^ kHalfSign;
}

void UnpackQ3_K(const uint8_t* in, QuantizedBlock& block) {
  const uint8_t* high = in;
  const uint8_t* scales = in + 96;
  UnpackPairs(in + 32, block.codes.data());
  UnpackPairs(in + 64, block.codes.data() + 128);
  for (int j = 0; j < 8; ++j) {
    uint8_t* codes = block.codes.data() + 32 * j;
    for (int i = 0; i < 32; ++i) {
      codes[i] = static_cast<uint8_t>(codes[i] | ((high[i] >> j) & 1) << 2);
    }
  }
  // Low four bits of scale g in nibble g / 8 of byte g % 8, high two in pair g / 4 of byte 8 + g
  // % 4.
  for (int g = 0; g < 16; ++g) {
    const int low = (scales[g % 8] >> (g / 8 * 4)) & 15;
    const int high_pair = (scales[8 + g % 4] >> (g / 4 * 2)) & 3;
    block.group_scales[g] = static_cast<int8_t>((low | high_pair << 4) - 32);
  }
  block.scale = Load16(in + 108);
}

// The 12 bytes of 6-bit scales and minimums of Q4_K and Q5_K: of groups 0 to 3 in bytes 0 to 3 and
// 4 to 7; of groups 4 to 7 the low four bits in bytes 8 to 11, the high two on top of the former.
void UnpackScaleMinimums(const uint8_t* in, QuantizedBlock& block) {
  for (int g = 0; g < 4; ++g) {
    block.group_scales[g] = static_cast<int8_t>(in[g] & 63);
    block.group_minimums[g] = static_cast<int8_t>(in[4 + g] & 63);
    block.group_scales[4 + g] = static_cast<int8_t>((in[8 + g] & 15) | (in[g] >> 6) << 4);
    block.group_minimums[4 + g] = static_cast<int8_t>((in[8 + g] >> 4) | (in[4 + g] >> 6) << 4);
  }
}

// 32 bytes hold 64 codes: element i in the low half of byte i, element 32 + i in the high half.
void UnpackNibbleRows(const uint8_t* packed, uint8_t* codes) {
  for (int i = 0; i < 32; ++i) {
    codes[i] = packed[i] & 15;
    codes[32 + i] = packed[i] >> 4;
  }
}

void UnpackQ4_K(const uint8_t* in, QuantizedBlock& block) {
  block.scale = Load16(in);
  block.minimum = Load16(in + 2) ^ kHalfSign;
  UnpackScaleMinimums(in + 4, block);
  for (int j = 0; j < 4; ++j) UnpackNibbleRows(in + 16 + 32 * j, block.codes.data() + 64 * j);
}

void UnpackQ5_K(const uint8_t* in, QuantizedBlock& block) {
  const uint8_t* high = in + 16;
  block.scale = Load16(in);
  block.minimum = Load16(in + 2) ^ kHalfSign;
  UnpackScaleMinimums(in + 4, block);
  for (int j = 0; j < 4; ++j) UnpackNibbleRows(in + 48 + 32 * j, block.codes.data() + 64 * j);
  for (int j = 0; j < 8; ++j) {
    uint8_t* codes = block.codes.data() + 32 * j;
    for (int i = 0; i < 32; ++i) {
      codes[i] = static_cast<uint8_t>(codes[i] | ((high[i] >> j) & 1) << 4);
    }
  }
}

void UnpackQ6_K(const uint8_t* in, QuantizedBlock& block) {
  for (int half = 0; half < 2; ++half) {
    const uint8_t* low = in + 64 * half;
    const uint8_t* high = in + 128 + 32 * half;
    uint8_t* codes = block.codes.data() + 128 * half;
    for (int j = 0; j < 4; ++j) {
      for (int i = 0; i < 32; ++i) {
        const int nibble = (low[32 * (j % 2) + i] >> (j / 2 * 4)) & 15;
        codes[32 * j + i] = static_cast<uint8_t>(nibble | ((high[i] >> (2 * j)) & 3) << 4);
      }
    }
  }
  std::memcpy(block.group_scales.data(), in + 192, 16);
  block.scale = Load16(in + 208);
}

}  // namespace

void UnpackBlock(DType dtype, const std::byte* source, QuantizedBlock& block) {
  const auto* in = reinterpret_cast<const uint8_t*>(source);
  switch (dtype) {
    case DType::kQ8_0:
    case DType::kQ4_0:
    case DType::kQ4_1:
    case DType::kQ5_0:
    case DType::kQ5_1:
    case DType::kIQ4_NL:
      return UnpackSmall(dtype, in, block);
    case DType::kQ2_K:
      return UnpackQ2_K(in, block);
    case DType::kQ3_K:
      return UnpackQ3_K(in, block);
    case DType::kQ4_K:
      return UnpackQ4_K(in, block);
    case DType::kQ5_K:
      return UnpackQ5_K(in, block);
    case DType::kQ6_K:
      return UnpackQ6_K(in, block);
    default:
      CAIRN_CHECK(false);
  }
}

float HalfToFloat(uint16_t bits) { return hwy::F32FromF16(hwy::float16_t::FromBits(bits)); }

uint16_t HalfFromFloat(float value) {
  const float finite = std::isinf(value) ? value : std::clamp(value, -kLargestHalf, kLargestHalf);
  return hwy::BitCastScalar<uint16_t>(hwy::F16FromF32(finite));
}

}  // namespace cairn
