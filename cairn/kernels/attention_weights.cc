#include "cairn/kernels/attention_weights.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "cairn/base/check.h"
#include "cairn/kernels/hadamard.h"
#include "cairn/kernels/state_rows.h"

namespace cairn {
namespace {

const std::byte* BlockOf(const AttentionSpan& span, int64_t row, int64_t offset) {
  const auto block = static_cast<size_t>(row / kTileRows - span.first_block);
  CAIRN_DCHECK(block < span.blocks.size());
  return span.blocks[block] + offset;
}

float FiniteOr0(float x) { return std::isfinite(x) ? x : 0.0f; }

}  // namespace

void DecodeKeysOf(const AttentionShape& shape, const AttentionSpan& span, int64_t kv_head,
                  int64_t rows, int64_t stride, float* keys) {
  CAIRN_CHECK(shape.standard == nullptr);
  const int64_t offset =
      span.key_offset + kv_head * StateTileBytes(shape.key_codec, shape.key_width);
  std::vector<float> row(static_cast<size_t>(shape.key_width));
  for (int64_t r = 0; r < rows; ++r) {
    LoadRowTransposed(shape.key_codec, BlockOf(span, r, offset), 1, shape.key_width, r % kTileRows,
                      row.data());
    if (shape.keys_rotated) RotateHeads(row.data(), 1, shape.key_width);
    for (int64_t c = 0; c < shape.key_width; ++c) {
      keys[c * stride + r] = FiniteOr0(row[static_cast<size_t>(c)]);
    }
  }
}

void DecodeValuesOf(const AttentionShape& shape, const AttentionSpan& span, int64_t kv_head,
                    int64_t rows, float* values) {
  const int64_t offset =
      span.value_offset + kv_head * StateTileBytes(shape.value_codec, shape.value_width);
  for (int64_t r = 0; r < rows; ++r) {
    float* to = values + r * shape.value_width;
    LoadRow(shape.value_codec, BlockOf(span, r, offset), 1, shape.value_width, r % kTileRows, to);
    if (shape.values_rotated) RotateHeads(to, 1, shape.value_width);
    for (int64_t c = 0; c < shape.value_width; ++c) to[c] = FiniteOr0(to[c]);
  }
}

void SoftmaxWeights(const AttentionShape& shape, int64_t head, const float* query,
                    const DecodedKeys& keys, float* weights) {
  std::fill(weights + keys.first, weights + keys.end, 0.0f);
  for (int64_t c = 0; c < shape.key_width; ++c) {
    const float q = FiniteOr0(query[c] * shape.scale);
    const float* channel = keys.keys + c * keys.stride;
    for (int64_t r = keys.first; r < keys.end; ++r) weights[r] += q * channel[r];
  }
  if (shape.score_cap > 0) {
    for (int64_t r = keys.first; r < keys.end; ++r) {
      weights[r] = shape.score_cap * std::tanh(weights[r] / shape.score_cap);
    }
  }
  float largest = *std::max_element(weights + keys.first, weights + keys.end);
  if (shape.sinks != nullptr) largest = std::max(largest, shape.sinks[head]);
  double sum = shape.sinks == nullptr ? 0 : std::exp(double{shape.sinks[head]} - largest);
  for (int64_t r = keys.first; r < keys.end; ++r) {
    weights[r] = std::exp(weights[r] - largest);
    sum += weights[r];
  }
  const auto inverse = static_cast<float>(1 / sum);
  for (int64_t r = keys.first; r < keys.end; ++r) weights[r] = FiniteOr0(weights[r] * inverse);
}

}  // namespace cairn
