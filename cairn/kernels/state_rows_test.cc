#include "cairn/kernels/state_rows.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace cairn {
namespace {

constexpr DType kCodecs[] = {DType::kF32, DType::kF16, DType::kBF16};

double RelativeError(DType codec) {
  return codec == DType::kF32 ? 0 : codec == DType::kF16 ? 1.0 / 2048 : 1.0 / 256;
}

}  // namespace

TEST_CASE("a stored row comes back within its codec's rounding, in both orders") {
  constexpr int64_t kHeads = 3;
  constexpr int64_t kWidth = 21;
  std::mt19937 random(1);
  std::normal_distribution<float> normal(0, 4);
  for (const DType codec : kCodecs) {
    for (const bool transposed : {false, true}) {
      std::vector<std::byte> tiles(
          static_cast<size_t>(kHeads * kWidth * kTileRows * InfoOf(codec).block_bytes));
      for (int64_t row = 0; row < kTileRows; ++row) {
        std::vector<float> values(kHeads * kWidth);
        for (float& v : values) v = normal(random);
        std::vector<float> back(values.size());
        if (transposed) {
          StoreRowTransposed(codec, values.data(), kHeads, kWidth, row, tiles.data());
          LoadRowTransposed(codec, tiles.data(), kHeads, kWidth, row, back.data());
        } else {
          StoreRow(codec, values.data(), kHeads, kWidth, row, tiles.data());
          LoadRow(codec, tiles.data(), kHeads, kWidth, row, back.data());
        }
        for (size_t i = 0; i < values.size(); ++i) {
          CHECK(std::abs(back[i] - values[i]) <= RelativeError(codec) * std::abs(values[i]));
        }
      }
    }
  }
}

TEST_CASE("a quantized row comes back within its block's step, in both orders") {
  constexpr int64_t kHeads = 2;
  constexpr int64_t kWidth = 96;
  std::mt19937 random(2);
  std::normal_distribution<float> normal(0, 4);
  for (const DType codec : {DType::kQ8_0, DType::kQ4_0}) {
    for (const bool transposed : {false, true}) {
      std::vector<std::byte> tiles(static_cast<size_t>(kHeads * StateTileBytes(codec, kWidth)));
      std::vector<std::vector<float>> rows;
      for (int64_t row = 0; row < kTileRows; ++row) {
        std::vector<float>& values = rows.emplace_back(kHeads * kWidth);
        for (float& v : values) v = normal(random);
        if (row == 3) std::fill_n(values.begin(), 40, 0.0f);
        (transposed ? StoreRowTransposed : StoreRow)(codec, values.data(), kHeads, kWidth, row,
                                                     tiles.data());
      }
      for (int64_t row = 0; row < kTileRows; ++row) {
        const std::vector<float>& values = rows[static_cast<size_t>(row)];
        std::vector<float> back(values.size());
        (transposed ? LoadRowTransposed : LoadRow)(codec, tiles.data(), kHeads, kWidth, row,
                                                   back.data());
        for (size_t i = 0; i < values.size(); ++i) {
          const size_t block = i / 32 * 32;
          float largest = 0;
          for (size_t j = block; j < block + 32; ++j) {
            largest = std::max(largest, std::abs(values[j]));
          }
          // q4_0 has no code for the value opposite to the extreme one: a whole step there.
          const float step = codec == DType::kQ8_0 ? largest / 127 * 0.51f : largest / 8 * 1.01f;
          CHECK(std::abs(back[i] - values[i]) <= step + largest / 1024);
        }
      }
    }
  }
}

TEST_CASE("f16 rounds to nearest even and saturates instead of becoming infinite") {
  const float values[] = {65504.0f,           70000.0f,      -1e9f,         1.0f + 1.0f / 2048,
                          1.0f + 3.0f / 2048, 5.9604645e-8f, 2.9802322e-8f, -0.0f};
  std::vector<std::byte> tiles(8 * kTileRows * 2);
  StoreRow(DType::kF16, values, 1, 8, 0, tiles.data());
  float back[8];
  LoadRow(DType::kF16, tiles.data(), 1, 8, 0, back);
  CHECK(back[0] == 65504.0f);
  CHECK(back[1] == 65504.0f);
  CHECK(back[2] == -65504.0f);
  CHECK(back[3] == 1.0f);
  CHECK(back[4] == 1.0f + 2.0f / 1024);
  CHECK(back[5] == 5.9604645e-8f);
  CHECK(back[6] == 0.0f);
  CHECK(std::signbit(back[7]));
}

TEST_CASE("bf16 rounds to nearest even and keeps NaN") {
  const float values[] = {1.0f + 1.0f / 256, 1.0f + 3.0f / 256,
                          std::numeric_limits<float>::quiet_NaN()};
  std::vector<std::byte> tiles(3 * kTileRows * 2);
  StoreRow(DType::kBF16, values, 1, 3, 0, tiles.data());
  float back[3];
  LoadRow(DType::kBF16, tiles.data(), 1, 3, 0, back);
  CHECK(back[0] == 1.0f);
  CHECK(back[1] == 1.0f + 2.0f / 128);
  CHECK(std::isnan(back[2]));
}

}  // namespace cairn
