#include "cairn/kernels/lloyd_max_rows.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "cairn/kernels/state_rows.h"
#include "cairn/kernels/targets_for_tests.h"
#include "hwy/targets.h"

namespace cairn {
namespace {

constexpr DType kCodecs[] = {DType::kLM2, DType::kLM3, DType::kLM4, DType::kLM5};

// Magnitudes and the square of a codec, as numbers.
struct Table {
  std::vector<int> magnitudes;
  float square;
};

template <int kBits>
Table TableOf() {
  const auto& magnitudes = LloydMax<kBits>::kMagnitudes;
  return {{magnitudes.begin(), magnitudes.end()}, kLloydMaxSquare<kBits>};
}

Table TableOf(DType codec) {
  switch (*LloydMaxBitsOf(codec)) {
    case 2:
      return TableOf<2>();
    case 3:
      return TableOf<3>();
    case 4:
      return TableOf<4>();
    default:
      return TableOf<5>();
  }
}

// The definition, one number after the other.
float SumOfSquares(const std::vector<float>& row) {
  float lanes[32] = {};
  for (size_t c = 0; c < row.size(); ++c) lanes[c % 32] = std::fma(row[c], row[c], lanes[c % 32]);
  for (int i = 0; i < 16; ++i) lanes[i] += lanes[i + 16];
  for (int half = 8; half > 0; half /= 2) {
    for (int i = 0; i < half; ++i) lanes[i] += lanes[i + half];
  }
  return lanes[0];
}

std::vector<int> CodesOf(const Table& table, const std::vector<float>& row, uint8_t e) {
  std::vector<int> codes;
  const auto half = static_cast<int>(table.magnitudes.size());
  for (const float x : row) {
    const float twice = std::abs(x) * LloydMaxTwoByScale(e);
    int index = 0;
    while (index + 1 < half &&
           !(twice < static_cast<float>(table.magnitudes[index] + table.magnitudes[index + 1]))) {
      ++index;
    }
    codes.push_back(std::signbit(x) ? half - 1 - index : half + index);
  }
  return codes;
}

// Byte `b` of word `w` of the code words of a block, from the codes of its channels.
int WordByte(int bits, const int* codes, int w, int b) {
  if (bits % 2 != 0 && w == bits - 1) {
    int byte = 0;
    for (int i = 0; i < 8; ++i) byte |= (codes[4 * i + b] >> (bits - 1)) << i;
    return byte;
  }
  if (bits >= 4) return (codes[4 * w + b] & 15) | (codes[4 * w + b + 16] & 15) << 4;
  int byte = 0;
  for (int i = 0; i < 4; ++i) byte |= (codes[16 * w + 4 * i + b] & 3) << (2 * i);
  return byte;
}

void StoreByDefinition(DType codec, const std::vector<float>& row, int64_t index, bool key,
                       std::vector<std::byte>& tile) {
  const Table table = TableOf(codec);
  const int bits = *LloydMaxBitsOf(codec);
  const auto width = static_cast<int64_t>(row.size());
  const uint8_t e =
      LloydMaxScaleByte(SumOfSquares(row) * (table.square / static_cast<float>(width)));
  tile[static_cast<size_t>(index)] = static_cast<std::byte>(e);
  const std::vector<int> codes = CodesOf(table, row, e);
  for (int64_t word = 0; word < width / 32 * bits; ++word) {
    for (int b = 0; b < 4; ++b) {
      const int64_t at =
          key ? (word * 16 + index) * 4 + b : index * (width / 8 * bits) + 4 * word + b;
      const int* block = codes.data() + word / bits * 32;
      tile[static_cast<size_t>(16 + at)] =
          static_cast<std::byte>(WordByte(bits, block, static_cast<int>(word % bits), b));
    }
  }
}

std::vector<float> RandomRow(int64_t width, float deviation, std::mt19937& random) {
  std::normal_distribution<float> normal(0, deviation);
  std::vector<float> row(static_cast<size_t>(width));
  for (float& x : row) x = normal(random);
  return row;
}

}  // namespace

TEST_CASE("a row is stored as defined, bit by bit, on every target, and nothing beside it") {
  std::mt19937 random(1);
  for (const DType codec : kCodecs) {
    for (const int64_t width : {32, 64, 96, 256}) {
      for (const bool key : {false, true}) {
        CAPTURE(InfoOf(codec).name);
        CAPTURE(width);
        std::vector<std::byte> expected(static_cast<size_t>(StateTileBytes(codec, width)),
                                        std::byte{0xA5});
        std::vector<std::vector<float>> rows;
        for (int64_t r = 0; r < kTileRows; ++r) {
          rows.push_back(RandomRow(width, std::exp2(static_cast<float>(r - 8)), random));
          // What is at or beyond the ends: zeros of both signs, borders, the largest levels.
          std::fill_n(rows.back().begin(), 3, 0.0f);
          rows.back()[1] = -0.0f;
          rows.back()[4] *= 40;
        }
        // Row 5 stays unwritten.
        for (int64_t r = 0; r < kTileRows; ++r) {
          if (r != 5) StoreByDefinition(codec, rows[static_cast<size_t>(r)], r, key, expected);
        }
        for (const int64_t target : TargetsForTests()) {
          hwy::SetSupportedTargetsForTest(target);
          CAPTURE(hwy::TargetName(target));
          std::vector<std::byte> got(expected.size(), std::byte{0xA5});
          for (int64_t i = 0; i < kTileRows; ++i) {
            const int64_t r = i * 7 % kTileRows;
            if (r == 5) continue;
            (key ? StoreRowTransposed : StoreRow)(codec, rows[static_cast<size_t>(r)].data(), 1,
                                                  width, r, got.data());
          }
          CHECK(got == expected);
        }
        hwy::SetSupportedTargetsForTest(0);
      }
    }
  }
}

TEST_CASE("a number between two levels gets the larger magnitude, on every target") {
  for (const DType codec : kCodecs) {
    const Table table = TableOf(codec);
    // With the scale 1 quotients are exact.
    std::vector<float> row(32, 0.0f);
    for (size_t i = 0; i + 1 < table.magnitudes.size(); ++i) {
      const auto border = static_cast<float>(table.magnitudes[i] + table.magnitudes[i + 1]) / 2;
      row[2 * i % 32] = border;
      row[(2 * i + 1) % 32] = -std::nextafter(border, 0.0f);
    }
    std::vector<int> expected = CodesOf(table, row, 160);
    // Brings the mean square to that of the scale 1.
    constexpr int64_t kWidth = 128;
    row.resize(kWidth);
    const float wanted = kWidth / table.square * 1.0905077f;
    row[40] = std::sqrt(wanted - SumOfSquares(row));
    for (const int64_t target : TargetsForTests()) {
      hwy::SetSupportedTargetsForTest(target);
      std::vector<std::byte> tile(static_cast<size_t>(StateTileBytes(codec, kWidth)));
      StoreRow(codec, row.data(), 1, kWidth, 0, tile.data());
      REQUIRE(std::to_integer<int>(tile[0]) == 160);
      std::vector<float> back(kWidth);
      LoadRow(codec, tile.data(), 1, kWidth, 0, back.data());
      for (size_t c = 0; c < 32; ++c) {
        const int half = static_cast<int>(table.magnitudes.size());
        const int code = expected[c];
        const int level = code >= half ? table.magnitudes[static_cast<size_t>(code - half)]
                                       : -table.magnitudes[static_cast<size_t>(half - 1 - code)];
        CHECK(back[c] == static_cast<float>(level));
      }
    }
    hwy::SetSupportedTargetsForTest(0);
  }
}

TEST_CASE("rows of zeros, of huge, tiny or no numbers have bytes of their own on all targets") {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  for (const DType codec : kCodecs) {
    for (const float filler : {0.0f, -0.0f, 1e-30f, 1e-4f, 1e30f, kInfinity, -kInfinity, kNan}) {
      CAPTURE(InfoOf(codec).name);
      CAPTURE(filler);
      std::vector<float> row(64, 1.0f);
      std::fill_n(row.begin() + (std::isfinite(filler) ? 0 : 63), std::isfinite(filler) ? 64 : 1,
                  filler);
      std::vector<std::byte> expected(static_cast<size_t>(StateTileBytes(codec, 64)));
      StoreByDefinition(codec, row, 3, true, expected);
      for (const int64_t target : TargetsForTests()) {
        hwy::SetSupportedTargetsForTest(target);
        std::vector<std::byte> got(expected.size());
        StoreRowTransposed(codec, row.data(), 1, 64, 3, got.data());
        CHECK(got == expected);
      }
      hwy::SetSupportedTargetsForTest(0);
      std::vector<float> back(64);
      LoadRowTransposed(codec, expected.data(), 1, 64, 3, back.data());
      for (const float x : back) CHECK(std::isfinite(x));
      if (std::abs(filler) < 1e-20f) {
        for (const float x : back) CHECK(x == 0);
      }
    }
  }
}

TEST_CASE("a Gaussian row comes back with the error that its levels promise") {
  std::mt19937 random(4);
  constexpr double kMost[] = {0.120, 0.0355, 0.0099, 0.0027};
  for (const DType codec : kCodecs) {
    double error = 0;
    double power = 0;
    std::vector<std::byte> tile(static_cast<size_t>(StateTileBytes(codec, 128)));
    std::vector<float> back(128);
    for (int i = 0; i < 400; ++i) {
      const float deviation = std::exp2(static_cast<float>(i % 97) / 9 - 5);
      const std::vector<float> row = RandomRow(128, deviation, random);
      StoreRow(codec, row.data(), 1, 128, i % kTileRows, tile.data());
      LoadRow(codec, tile.data(), 1, 128, i % kTileRows, back.data());
      for (size_t c = 0; c < row.size(); ++c) {
        error += std::pow(static_cast<double>(back[c] - row[c]) / deviation, 2);
        power += std::pow(static_cast<double>(row[c]) / deviation, 2);
      }
    }
    CHECK(error / power < kMost[*LloydMaxBitsOf(codec) - 2]);
  }
}

}  // namespace cairn
