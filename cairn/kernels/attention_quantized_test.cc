#include "cairn/kernels/attention_quantized.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "cairn/kernels/lloyd_max.h"
#include "cairn/kernels/targets_for_tests.h"
#include "hwy/targets.h"

namespace cairn {
namespace {

constexpr int64_t kWidth = 96;
constexpr int64_t kBlocks = kWidth / kStateBlock;
constexpr int64_t kRows = 7;

std::vector<float> RandomFloats(int64_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0, 1);
  std::vector<float> values(static_cast<size_t>(count));
  for (float& v : values) v = normal(random);
  return values;
}

struct Queries {
  std::vector<int8_t> codes = std::vector<int8_t>(kRows * kWidth);
  std::vector<QueryBlock> blocks = std::vector<QueryBlock>(kRows * kBlocks);

  QuantizedQueries View() { return {codes.data(), blocks.data()}; }
};

// 64 keys in four groups.
struct Keys {
  std::vector<std::vector<std::byte>> groups;
  TilePointers pointers;

  explicit Keys(DType codec) {
    for (int g = 0; g < kTileGroups; ++g) {
      groups.emplace_back(static_cast<size_t>(StateTileBytes(codec, kWidth)));
      for (int64_t row = 0; row < kTileRows; ++row) {
        const auto key = RandomFloats(kWidth, static_cast<uint32_t>(100 + g * kTileRows + row));
        StoreRowTransposed(codec, key.data(), 1, kWidth, row, groups.back().data());
      }
    }
    for (size_t g = 0; g < kTileGroups; ++g) pointers.groups[g] = groups[g].data();
    pointers.end = kTileGroups;
  }
};

// The definition, one number after the other.
float LloydMaxScore(DType codec, const Keys& keys, int key, const QuantizedQueries& query) {
  std::vector<float> row(kWidth);
  const std::byte* group = keys.groups[static_cast<size_t>(key / kTileRows)].data();
  LoadRowTransposed(codec, group, 1, kWidth, key % kTileRows, row.data());
  const float scale = LloydMaxScale(std::to_integer<uint8_t>(group[key % kTileRows]));
  float score = 0;
  for (int64_t b = 0; b < kBlocks; ++b) {
    int32_t sum = 0;
    for (int64_t c = b * kStateBlock; c < (b + 1) * kStateBlock; ++c) {
      sum += static_cast<int32_t>(row[static_cast<size_t>(c)] / scale) * query.codes[c];
    }
    score = std::fma(static_cast<float>(sum), query.blocks[b].scale, score);
  }
  return score * scale;
}

float Score(DType codec, const Keys& keys, int key, const QuantizedQueries& query) {
  if (IsLloydMax(codec)) return LloydMaxScore(codec, keys, key, query);
  const BlockScheme scheme = *BlockSchemeOf(codec);
  float score = 0;
  for (int64_t b = 0; b < kBlocks; ++b) {
    const std::byte* group = keys.groups[static_cast<size_t>(key / kTileRows)].data();
    QuantizedBlock block;
    LoadKeyBlock(codec, group + b * kTileRows * InfoOf(codec).block_bytes, key % kTileRows, block);
    int32_t sum = 0;
    int32_t query_sum = 0;
    for (int64_t c = 0; c < kStateBlock; ++c) {
      const int code = block.codes[static_cast<size_t>(c)];
      const int value =
          scheme.has_table ? kNonlinearValues[static_cast<size_t>(code)] : code - scheme.zero;
      sum += value * query.codes[b * kStateBlock + c];
      query_sum += query.codes[b * kStateBlock + c];
    }
    const float scale = query.blocks[b].scale;
    score = std::fma(static_cast<float>(sum) * scale, HalfToFloat(block.scale), score);
    if (!scheme.has_minimum) continue;
    score = std::fma(scale * static_cast<float>(query_sum), HalfToFloat(block.minimum), score);
  }
  return score;
}

}  // namespace

TEST_CASE(
    "scores of every quantized codec equal the scalar definition bit by bit on every target") {
  const std::vector<float> queries = RandomFloats(kRows * kWidth, 1);
  for (const DType codec : AllStateCodecs()) {
    if (!IsBlockCodec(codec) && !IsLloydMax(codec)) continue;
    CAPTURE(InfoOf(codec).name);
    Keys keys(codec);
    Queries quantized;
    QuantizeQueries(codec, queries.data(), kRows, kWidth, quantized.View());
    std::vector<float> expected(kRows * kTileKeys);
    for (int64_t r = 0; r < kRows; ++r) {
      for (int key = 0; key < kTileKeys; ++key) {
        expected[static_cast<size_t>(r * kTileKeys + key)] =
            Score(codec, keys, key, quantized.View().From(r, kWidth));
      }
    }
    for (const int64_t target : TargetsForTests()) {
      hwy::SetSupportedTargetsForTest(target);
      CAPTURE(hwy::TargetName(target));
      for (const int64_t rows : {int64_t{1}, int64_t{2}, int64_t{3}, int64_t{4}, kRows}) {
        for (const int first : {0, 1}) {
          std::vector<float> got = expected;
          std::fill(got.begin(), got.begin() + rows * kTileKeys, -1.0f);
          if (first == 1) std::copy_n(expected.begin(), rows * kTileKeys, got.begin());
          keys.pointers.first = first;
          Queries again;
          QuantizeQueries(codec, queries.data(), rows, kWidth, again.View());
          QuantizedTileScores(codec, keys.pointers, again.View(), rows, kWidth, got.data());
          CHECK(std::memcmp(got.data(), expected.data(), got.size() * sizeof(float)) == 0);
        }
      }
    }
    hwy::SetSupportedTargetsForTest(0);
  }
}

TEST_CASE("a query is within half a step of its integers; a bad one is a NaN of its block only") {
  std::vector<float> queries = RandomFloats(kRows * kWidth, 2);
  std::fill_n(queries.begin(), kStateBlock, 0.0f);
  queries[kWidth + 5] = std::numeric_limits<float>::infinity();
  Queries quantized;
  QuantizeQueries(DType::kQ4_0, queries.data(), kRows, kWidth, quantized.View());
  CHECK(quantized.blocks[0].scale == 0);
  CHECK(std::isnan(quantized.blocks[kBlocks].scale));
  for (size_t b = 0; b < quantized.blocks.size(); ++b) {
    if (b == kBlocks) continue;
    const QueryBlock& block = quantized.blocks[b];
    int32_t sum = 0;
    for (size_t i = b * kStateBlock; i < (b + 1) * kStateBlock; ++i) {
      const float back = block.scale * static_cast<float>(quantized.codes[i]);
      CHECK(std::abs(back - queries[i]) <= block.scale * 0.5001f);
      sum += quantized.codes[i];
    }
    CHECK(block.start == -8 * sum);
    CHECK(block.sum == block.scale * static_cast<float>(sum));
  }
}

}  // namespace cairn
