#include "cairn/models/mixer_attention.h"

#include <algorithm>
#include <array>

#include "cairn/kernels/ops.h"
#include "cairn/kernels/state_rows.h"
#include "cairn/models/token_loop.h"

namespace cairn {
namespace {

static_assert(kTileRows == kRowsPerBlock);

// What the projections get wrong, every later token reads again: they and the head are where 8-bit
// activations cost the most accuracy for the least work (docs/adr/0006 has the measurements).
constexpr ActivationPrecision kProjectionPrecision = ActivationPrecision::k16;

AttentionShape ShapeOf(const AttentionSpec& attention, const AttentionPlaces& places) {
  AttentionShape shape;
  shape.heads = attention.heads;
  shape.kv_heads = attention.kv_heads;
  shape.key_width = attention.key_width;
  shape.value_width = attention.value_width;
  shape.scale = static_cast<float>(attention.scale);
  shape.score_cap = static_cast<float>(attention.score_cap);
  const int64_t limit = attention.lifetime.tokens.value();
  if (attention.lifetime.kind == Lifetime::Kind::kWindow) shape.window = limit;
  if (attention.lifetime.kind == Lifetime::Kind::kChunk) shape.chunk = limit;
  shape.key_codec = places.keys.rows->codec;
  shape.value_codec = places.values.rows->codec;
  return shape;
}

void Reserve(AlignedBuffer& buffer, int64_t floats) {
  buffer.Reserve(static_cast<size_t>(floats) * sizeof(float));
}

}  // namespace

void AttentionMixer::Project(const AttentionSpec& attention, const AttentionWeights& weights,
                             const float* normed, int64_t tokens) {
  const int64_t query_width = attention.heads * attention.key_width;
  const int64_t key_width = attention.kv_heads * attention.key_width;
  const int64_t value_width = attention.kv_heads * attention.value_width;
  Reserve(query_, tokens * query_width);
  Reserve(key_, tokens * key_width);
  Reserve(value_, tokens * value_width);
  activations_.Set(normed, tokens, spec_.hidden, spec_.hidden);
  const std::array<MatMulTask, 3> tasks = {
      MatMulTask{.matrix = &weights.query.matrix,
                 .bias = weights.query.bias_or_null(),
                 .out = query_.As<float>(),
                 .stride = query_width,
                 .precision = kProjectionPrecision},
      MatMulTask{.matrix = &weights.key.matrix,
                 .bias = weights.key.bias_or_null(),
                 .out = key_.As<float>(),
                 .stride = key_width,
                 .precision = kProjectionPrecision},
      MatMulTask{.matrix = &weights.value.matrix,
                 .bias = weights.value.bias_or_null(),
                 .out = value_.As<float>(),
                 .stride = value_width,
                 .precision = kProjectionPrecision},
  };
  MatMul(activations_, tasks, pool_);
}

// Norms and rotation of queries and keys, then keys and values into their blocks.
void AttentionMixer::FinishRows(const AttentionSpec& attention, const AttentionWeights& weights,
                                const AttentionPlaces& places, std::span<const BatchSpan> batch,
                                const RopeTable* rope) {
  const int64_t width = attention.key_width;
  int64_t first = 0;
  for (const BatchSpan& span : batch) {
    const BlockTableView& key_table =
        span.state.tables[static_cast<size_t>(places.keys.block_class.value())];
    const BlockTableView& value_table =
        span.state.tables[static_cast<size_t>(places.values.block_class.value())];
    const auto count = static_cast<int64_t>(span.tokens.size());
    ForTokens(pool_, count, [&](int64_t i) {
      const int64_t t = first + i;
      float* query = query_.As<float>() + t * attention.heads * width;
      float* key = key_.As<float>() + t * attention.kv_heads * width;
      const float* value = value_.As<float>() + t * attention.kv_heads * attention.value_width;
      if (attention.query_key_norm) {
        RmsNormHeads(query, weights.query_norm.data(), spec_.norm_epsilon, attention.heads, width);
        RmsNormHeads(key, weights.key_norm.data(), spec_.norm_epsilon, attention.kv_heads, width);
      }
      if (rope != nullptr) {
        rope->Rotate(t, query, attention.heads, width);
        rope->Rotate(t, key, attention.kv_heads, width);
      }
      const int64_t position = span.state.tokens_before.value() + i;
      const int64_t row = position % kRowsPerBlock;
      StoreRowTransposed(
          places.keys.rows->codec, key, attention.kv_heads, width, row,
          key_table.Block(position / kRowsPerBlock) + places.keys.slot->offset.value());
      StoreRow(places.values.rows->codec, value, attention.kv_heads, attention.value_width, row,
               value_table.Block(position / kRowsPerBlock) + places.values.slot->offset.value());
    });
    first += count;
  }
}

void AttentionMixer::Attend(const AttentionSpec& attention, const AttentionPlaces& places,
                            std::span<const BatchSpan> batch) {
  const int64_t query_stride = attention.heads * attention.key_width;
  const int64_t out_stride = attention.heads * attention.value_width;
  spans_.clear();
  int64_t first = 0;
  for (const BatchSpan& span : batch) {
    const BlockTableView& table =
        span.state.tables[static_cast<size_t>(places.keys.block_class.value())];
    AttentionSpan& to = spans_.emplace_back();
    to.blocks = table.blocks;
    to.first_block = table.first_block;
    to.key_offset = places.keys.slot->offset.value();
    to.value_offset = places.values.slot->offset.value();
    to.first_position = span.state.tokens_before.value();
    to.tokens = static_cast<int64_t>(span.tokens.size());
    to.queries = query_.As<float>() + first * query_stride;
    to.out = attended_.As<float>() + first * out_stride;
    first += to.tokens;
  }
  Attention(ShapeOf(attention, places), spans_, query_stride, out_stride, scratch_, pool_);
}

void AttentionMixer::Run(const AttentionSpec& attention, const AttentionWeights& weights,
                         const AttentionPlaces& places, std::span<const BatchSpan> batch,
                         const RopeTable* rope, const float* normed, int64_t tokens,
                         std::span<const int64_t> rows, float* out) {
  const int64_t width = attention.heads * attention.value_width;
  Reserve(attended_, tokens * width);
  Project(attention, weights, normed, tokens);
  FinishRows(attention, weights, places, batch, rope);
  if (rows.empty()) return;
  Attend(attention, places, batch);
  float* attended = attended_.As<float>();
  for (size_t i = 0; i < rows.size(); ++i) {
    const float* from = attended + rows[i] * width;
    float* to = attended + static_cast<int64_t>(i) * width;
    if (from != to) std::copy_n(from, width, to);
  }
  activations_.Set(attended, static_cast<int64_t>(rows.size()), width, width);
  const MatMulTask task = {.matrix = &weights.output.matrix,
                           .bias = weights.output.bias_or_null(),
                           .out = out,
                           .stride = spec_.hidden};
  MatMul(activations_, {&task, 1}, pool_);
}

}  // namespace cairn
