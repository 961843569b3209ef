#include "cairn/kernels/matmul_reference.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "cairn/base/check.h"
#include "cairn/kernels/dequantize.h"
#include "cairn/kernels/quantized_block.h"

namespace cairn {
namespace {

// Elements [first, first + count) of a group of x times weights of one scale and minimum.
float AddProducts(const ReferenceGroup& x, int first, int count, const int32_t* weights,
                  float scale, const float* minimum, float y) {
  int32_t product = 0;
  int32_t sum = 0;
  for (int i = first; i < first + count; ++i) {
    product += weights[i - first] * x.codes[i];
    sum += x.codes[i];
  }
  y = std::fma(static_cast<float>(product), scale * x.scale, y);
  if (minimum != nullptr) y = std::fma(*minimum, x.scale * static_cast<float>(sum), y);
  return y;
}

int32_t WeightOf(const BlockScheme& scheme, uint8_t code) {
  return scheme.has_table ? kNonlinearValues[code] : static_cast<int32_t>(code) - scheme.zero;
}

float AddBlock(const BlockScheme& scheme, const QuantizedBlock& block, const float* x,
               ActivationPrecision precision, float y) {
  ReferenceGroup group = {};
  for (int first = 0; first < scheme.elements; first += scheme.group) {
    if (first % kQuantGroup == 0) group = QuantizeReference(x + first, precision);
    int32_t weights[kQuantGroup];
    for (int i = 0; i < scheme.group; ++i) weights[i] = WeightOf(scheme, block.codes[first + i]);
    const int g = first / scheme.group;
    float scale = HalfToFloat(block.scale);
    float minimum = scheme.has_minimum ? HalfToFloat(block.minimum) : 0.0f;
    if (scheme.has_groups) {
      scale *= static_cast<float>(block.group_scales[g]);
      minimum *= static_cast<float>(block.group_minimums[g]);
    }
    y = AddProducts(group, first % kQuantGroup, scheme.group, weights, scale,
                    scheme.has_minimum ? &minimum : nullptr, y);
  }
  return y;
}

}  // namespace

ReferenceGroup QuantizeReference(const float* x, ActivationPrecision precision) {
  const float unit = precision == ActivationPrecision::k16 ? 1.0f / 256 : 1.0f;
  ReferenceGroup group = {};
  float max = 0;
  bool finite = true;
  for (int i = 0; i < kQuantGroup; ++i) {
    finite = finite && std::isfinite(x[i]);
    max = std::max(max, std::fabs(x[i]));
  }
  if (!finite) group.scale = std::numeric_limits<float>::quiet_NaN();
  if (!finite || max < kSmallestMax) return group;
  group.scale = max / 127.0f * unit;
  const float inverse = 127.0f / max;
  for (int i = 0; i < kQuantGroup; ++i) {
    const float scaled = x[i] * inverse;
    const float code = std::nearbyint(scaled);
    group.codes[i] = static_cast<int32_t>(code);
    if (precision == ActivationPrecision::k16) {
      const float fine = std::nearbyint(std::min((scaled - code) * 256.0f, 127.0f));
      group.codes[i] = 256 * group.codes[i] + static_cast<int32_t>(fine);
    }
  }
  return group;
}

float DotReference(DType dtype, std::span<const std::byte> row, const float* x, int64_t columns,
                   ActivationPrecision precision) {
  float y = 0;
  const auto scheme = BlockSchemeOf(dtype);
  if (!scheme) {
    std::vector<float> weights(static_cast<size_t>(columns));
    DequantizeRow(dtype, row, weights.data(), columns);
    for (int64_t k = 0; k < columns; ++k) y = std::fma(weights[k], x[k], y);
    return y;
  }
  const int64_t block_bytes = InfoOf(dtype).block_bytes;
  QuantizedBlock block;
  for (int64_t b = 0; b < columns / scheme->elements; ++b) {
    UnpackBlock(dtype, row.data() + b * block_bytes, block);
    y = AddBlock(*scheme, block, x + b * scheme->elements, precision, y);
  }
  return y;
}

}  // namespace cairn
