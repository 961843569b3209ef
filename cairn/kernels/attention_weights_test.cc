#include "cairn/kernels/attention_weights.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "cairn/kernels/hadamard.h"
#include "cairn/kernels/state_rows.h"

namespace cairn {
namespace {

constexpr int64_t kTokens = 100;

// One sequence of random rows as a model stores them.
struct StoredRows {
  explicit StoredRows(const AttentionShape& of) : shape(of) {
    std::mt19937 random(3);
    std::normal_distribution<float> normal(0, 1);
    const auto fill = [&](int64_t count) {
      std::vector<float> numbers(static_cast<size_t>(count));
      for (float& x : numbers) x = normal(random);
      return numbers;
    };
    const int64_t key_bytes = shape.kv_heads * StateTileBytes(shape.key_codec, shape.key_width);
    const int64_t value_bytes =
        shape.kv_heads * StateTileBytes(shape.value_codec, shape.value_width);
    for (int64_t t = 0; t < kTokens; ++t) {
      if (t % kTileRows == 0) {
        storage.emplace_back(static_cast<size_t>(key_bytes + value_bytes));
        std::fill_n(storage.back().data(), storage.back().size(), std::byte{0});
        blocks.push_back(storage.back().data());
      }
      std::vector<float> key = fill(shape.kv_heads * shape.key_width);
      std::vector<float> value = fill(shape.kv_heads * shape.value_width);
      if (shape.keys_rotated) RotateHeads(key.data(), shape.kv_heads, shape.key_width);
      if (shape.values_rotated) RotateHeads(value.data(), shape.kv_heads, shape.value_width);
      StoreRowTransposed(shape.key_codec, key.data(), shape.kv_heads, shape.key_width,
                         t % kTileRows, blocks.back());
      StoreRow(shape.value_codec, value.data(), shape.kv_heads, shape.value_width, t % kTileRows,
               blocks.back() + key_bytes);
    }
    queries = fill(shape.heads * shape.key_width);
    span.blocks = blocks;
    span.value_offset = key_bytes;
    span.first_position = kTokens - 1;
    span.tokens = 1;
    span.queries = queries.data();
  }

  AttentionShape shape;
  std::vector<AlignedBuffer> storage;
  std::vector<std::byte*> blocks;
  std::vector<float> queries;
  AttentionSpan span;
};

AttentionShape Shape(DType codec) {
  AttentionShape shape;
  shape.heads = 4;
  shape.kv_heads = 2;
  shape.key_width = shape.value_width = 32;
  shape.scale = 0.25f;
  shape.key_codec = shape.value_codec = codec;
  return shape;
}

// Weights times values, which Attention must give, too.
std::vector<double> Output(const StoredRows& rows, const std::vector<int32_t>& first_rows) {
  const AttentionShape& shape = rows.shape;
  std::vector<double> out;
  std::vector<float> keys(static_cast<size_t>(shape.key_width * kTokens));
  std::vector<float> values(static_cast<size_t>(shape.value_width * kTokens));
  std::vector<float> weights(kTokens);
  for (int64_t h = 0; h < shape.heads; ++h) {
    const int64_t kv_head = h / (shape.heads / shape.kv_heads);
    DecodeKeysOf(shape, rows.span, kv_head, kTokens, kTokens, keys.data());
    DecodeValuesOf(shape, rows.span, kv_head, kTokens, values.data());
    const int64_t first = first_rows[static_cast<size_t>(kv_head)];
    SoftmaxWeights(shape, h, rows.queries.data() + h * shape.key_width,
                   {keys.data(), kTokens, first, kTokens}, weights.data());
    for (int64_t c = 0; c < shape.value_width; ++c) {
      double sum = 0;
      for (int64_t r = first; r < kTokens; ++r) {
        sum += double{weights[static_cast<size_t>(r)]} *
               values[static_cast<size_t>(r * shape.value_width + c)];
      }
      out.push_back(sum);
    }
  }
  return out;
}

}  // namespace

TEST_CASE("weights times values are what attention gives, for caps, sinks and rotated rows, too") {
  const std::vector<float> sinks = {0.5f, -1.0f, 2.0f, 0.0f};
  const std::vector<int32_t> first_rows = {0, 40};
  ThreadPool pool(1);
  AttentionScratch scratch;
  for (const DType codec : AllStateCodecs()) {
    for (const int kind : {0, 1, 2, 3}) {
      CAPTURE(InfoOf(codec).name);
      CAPTURE(kind);
      AttentionShape shape = Shape(codec);
      if (kind == 1) shape.score_cap = 2;
      if (kind == 2) shape.sinks = sinks.data();
      if (kind == 3) shape.keys_rotated = shape.values_rotated = true;
      StoredRows rows(shape);
      rows.span.first_rows = first_rows;
      std::vector<float> attended(static_cast<size_t>(shape.heads * shape.value_width));
      rows.span.out = attended.data();
      Attention(shape, {&rows.span, 1}, shape.heads * shape.key_width,
                shape.heads * shape.value_width, scratch, pool);
      const std::vector<double> ours = Output(rows, first_rows);
      // Queries in 8 bits and weights in bf16 are Attention's own.
      const bool exact = codec == DType::kF32 || codec == DType::kF16;
      double worst = 0;
      for (size_t i = 0; i < ours.size(); ++i) {
        worst = std::max(worst, std::abs(ours[i] - attended[i]));
      }
      CHECK(worst < (exact ? 4e-6 : 0.03));
    }
  }
}

TEST_CASE("numbers that aren't finite become no weight") {
  AttentionShape shape = Shape(DType::kF32);
  StoredRows rows(shape);
  std::vector<float> bad(32, std::numeric_limits<float>::quiet_NaN());
  bad[1] = std::numeric_limits<float>::infinity();
  StoreRowTransposed(DType::kF32, bad.data(), 1, 32, 5, rows.blocks[0]);
  std::vector<float> keys(32 * kTokens);
  std::vector<float> weights(kTokens);
  DecodeKeysOf(shape, rows.span, 0, kTokens, kTokens, keys.data());
  for (const std::vector<float>* query : {&rows.queries, &bad}) {
    SoftmaxWeights(shape, 0, query->data(), {keys.data(), kTokens, 0, kTokens}, weights.data());
    for (const float weight : weights) CHECK(std::isfinite(weight));
  }
}

}  // namespace cairn
