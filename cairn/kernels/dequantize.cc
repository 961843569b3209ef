#include "cairn/kernels/dequantize.h"

#include <bit>
#include <cstring>

#include "cairn/base/check.h"
#include "cairn/kernels/quantized_block.h"

namespace cairn {
namespace {

uint16_t Load16(const std::byte* from) {
  uint16_t value;
  std::memcpy(&value, from, sizeof(value));
  return value;
}

// One group: `scale` and `minimum` are the products of the block's and the group's.
void DequantizeGroup(const BlockScheme& scheme, const uint8_t* codes, float scale, float minimum,
                     float* out) {
  if (scheme.has_table) {
    for (int i = 0; i < scheme.group; ++i) {
      out[i] = scale * static_cast<float>(kNonlinearValues[codes[i]]);
    }
  } else if (scheme.has_minimum) {
    for (int i = 0; i < scheme.group; ++i) {
      out[i] = scale * static_cast<float>(codes[i]) + minimum;
    }
  } else {
    for (int i = 0; i < scheme.group; ++i) {
      out[i] = scale * static_cast<float>(static_cast<int>(codes[i]) - scheme.zero);
    }
  }
}

void DequantizeBlock(const BlockScheme& scheme, const QuantizedBlock& block, float* out) {
  const float scale = HalfToFloat(block.scale);
  const float minimum = scheme.has_minimum ? HalfToFloat(block.minimum) : 0.0f;
  for (int g = 0; g < scheme.elements / scheme.group; ++g) {
    float group_scale = scale;
    float group_minimum = minimum;
    if (scheme.has_groups) {
      group_scale *= static_cast<float>(block.group_scales[g]);
      if (scheme.has_minimum) group_minimum *= static_cast<float>(block.group_minimums[g]);
    }
    const int first = g * scheme.group;
    DequantizeGroup(scheme, block.codes.data() + first, group_scale, group_minimum, out + first);
  }
}

}  // namespace

bool IsWeightFormat(DType dtype) { return dtype <= DType::kIQ4_NL; }

void DequantizeRow(DType dtype, std::span<const std::byte> row, float* out, int64_t elements) {
  CAIRN_CHECK(IsWeightFormat(dtype));
  CAIRN_CHECK(BytesOf(dtype, ElementCount(elements)).value() <= static_cast<int64_t>(row.size()));
  if (dtype == DType::kF32) {
    std::memcpy(out, row.data(), static_cast<size_t>(elements) * sizeof(float));
  } else if (dtype == DType::kF16) {
    for (int64_t i = 0; i < elements; ++i) out[i] = HalfToFloat(Load16(row.data() + 2 * i));
  } else if (dtype == DType::kBF16) {
    for (int64_t i = 0; i < elements; ++i) {
      out[i] = std::bit_cast<float>(static_cast<uint32_t>(Load16(row.data() + 2 * i)) << 16);
    }
  } else {
    const BlockScheme scheme = *BlockSchemeOf(dtype);
    const int64_t block_bytes = InfoOf(dtype).block_bytes;
    QuantizedBlock block;
    for (int64_t b = 0; b < elements / scheme.elements; ++b) {
      UnpackBlock(dtype, row.data() + b * block_bytes, block);
      DequantizeBlock(scheme, block, out + b * scheme.elements);
    }
  }
}

}  // namespace cairn
