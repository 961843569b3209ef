#include "cairn/kernels/state_rows.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <random>
#include <span>
#include <vector>

#include "cairn/kernels/state_block.h"

namespace cairn {
namespace {

constexpr DType kPlainCodecs[] = {DType::kF32, DType::kF16, DType::kBF16, DType::kF8E4M3};

// Half a step, relative to the value, and the half step of the smallest values.
double RelativeError(DType codec) {
  switch (codec) {
    case DType::kF32:
      return 0;
    case DType::kF16:
      return 0x1p-11;
    case DType::kBF16:
      return 0x1p-8;
    default:
      return 0x1p-4;
  }
}
double AbsoluteError(DType codec) { return codec == DType::kF8E4M3 ? 0x1p-10 : 0; }

// The largest error that a block codec may make: half a step between neighbouring codes of the
// block's values, or what its range leaves out at its end; and what rounding scale and minimum to
// f16 moves.
double BlockError(DType codec, std::span<const float> block) {
  double lowest = block[0];
  double highest = block[0];
  for (const float x : block) {
    lowest = std::min<double>(lowest, x);
    highest = std::max<double>(highest, x);
  }
  const double largest = std::max(std::abs(lowest), std::abs(highest));
  const double rounding = largest * 0x1p-10;
  switch (codec) {
    case DType::kQ8_0:
      return largest / 127 / 2 + rounding;
    case DType::kQ5_1:
      return (highest - lowest) / 31 / 2 + 2 * rounding;
    case DType::kQ4_1:
      return (highest - lowest) / 15 / 2 + 2 * rounding;
    // No code for the value opposite to the extreme one: a whole step there.
    case DType::kQ5_0:
      return largest / 16 + rounding;
    case DType::kQ4_0:
      return largest / 8 + rounding;
    default:
      // iq4_nl's widest half step is (113 - 89) / 2 of 127, its short end 127 - 113; the scale is
      // fitted to all 32 values, which may move the extreme one as much again.
      return largest * 2 * (127 - 113) / 127 + rounding;
  }
}

}  // namespace

TEST_CASE("a stored row comes back within its codec's rounding, in both orders") {
  constexpr int64_t kHeads = 3;
  constexpr int64_t kWidth = 21;
  std::mt19937 random(1);
  std::normal_distribution<float> normal(0, 4);
  for (const DType codec : kPlainCodecs) {
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
          CHECK(std::abs(back[i] - values[i]) <=
                RelativeError(codec) * std::abs(values[i]) + AbsoluteError(codec));
        }
      }
    }
  }
}

TEST_CASE("a quantized row comes back within half its block's step, in both orders") {
  constexpr int64_t kHeads = 2;
  constexpr int64_t kWidth = 96;
  std::mt19937 random(2);
  std::normal_distribution<float> normal(0, 4);
  for (const DType codec : AllStateCodecs()) {
    if (!IsBlockCodec(codec)) continue;
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
          const auto block = std::span(values).subspan(i / kStateBlock * kStateBlock, kStateBlock);
          CHECK(std::abs(back[i] - values[i]) <= BlockError(codec, block));
        }
      }
    }
  }
}

TEST_CASE("fp8 is E4M3: to the nearest, ties to even, saturating, without infinity") {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  const float values[] = {1.0625f, 1.1875f,  3.3f,      447.0f,
                          500.0f,  -1e30f,   kNan,      -0.0f,
                          0x1p-9f, 0x1p-10f, 0x1.8p-9f, 0x1p-6f,
                          0.3f,    17.0f,    240.0f,    std::numeric_limits<float>::infinity()};
  const float expected[] = {1.0f,    1.25f, 3.25f,   448.0f,  448.0f,  -448.0f, kNan,   -0.0f,
                            0x1p-9f, 0.0f,  0x1p-8f, 0x1p-6f, 0.3125f, 16.0f,   240.0f, 448.0f};
  std::vector<std::byte> tiles(16 * kTileRows);
  StoreRow(DType::kF8E4M3, values, 1, 16, 0, tiles.data());
  float back[16];
  LoadRow(DType::kF8E4M3, tiles.data(), 1, 16, 0, back);
  for (int i = 0; i < 16; ++i) {
    CAPTURE(values[i]);
    CHECK((std::isnan(expected[i]) ? std::isnan(back[i]) : back[i] == expected[i]));
  }
  CHECK(std::signbit(back[7]));
}

TEST_CASE("every number of fp8 comes back as itself") {
  for (int code = 0; code < 256; ++code) {
    std::vector<std::byte> tiles(kTileRows, static_cast<std::byte>(code));
    float value;
    LoadRow(DType::kF8E4M3, tiles.data(), 1, 1, 0, &value);
    StoreRow(DType::kF8E4M3, &value, 1, 1, 0, tiles.data());
    CHECK(std::to_integer<int>(tiles[0]) == code);
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
