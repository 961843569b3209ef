#include "cairn/kernels/state_block.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "cairn/kernels/state_rows.h"

namespace cairn {
namespace {

constexpr DType kBlockCodecs[] = {DType::kQ8_0, DType::kQ4_0, DType::kQ4_1,
                                  DType::kQ5_0, DType::kQ5_1, DType::kIQ4_NL};

constexpr float kValues[kStateBlock] = {
    -2.6875f, 0.3125f,  1.875f,  2.0f,    0.6875f,  -2.0625f, -0.1875f, 0.25f,
    -0.75f,   2.875f,   -1.0f,   -0.25f,  -0.9375f, 3.0f,     -0.5625f, 0.5f,
    0.125f,   -1.6875f, 1.125f,  2.5f,    2.4375f,  0.9375f,  -2.0f,    -0.3125f,
    -0.0625f, -1.25f,   2.1875f, -1.875f, -1.3125f, -2.1875f, 1.5625f,  -2.1875f};

struct Expected {
  DType codec;
  std::vector<uint8_t> bytes;
};

// The blocks that the gguf Python package makes of kValues (iq4_nl: ggml's rule in NumPy).
const Expected kExpected[] = {
    {DType::kQ8_0,
     {12, 38, 142, 13, 79,  85,  29, 169, 248, 11,  224, 122, 214, 245, 216, 127, 232,
      21, 5,  185, 48, 106, 103, 40, 171, 243, 253, 203, 93,  177, 200, 163, 66,  163}},
    {DType::kQ4_0,
     {0, 182, 143, 215, 83, 19, 38, 110, 217, 151, 138, 176, 43, 217, 203, 224, 74, 231}},
    {DType::kQ4_1,
     {17, 54, 96, 193, 112, 56, 172, 236, 233, 162, 39, 104, 117, 79, 212, 38, 69, 31, 182, 24}},
    {DType::kQ5_0, {0,   178, 97, 93, 194, 187, 254, 158, 166, 53,  60,
                    187, 177, 47, 4,  113, 69,  161, 117, 192, 131, 205}},
    {DType::kQ5_1, {223, 49, 96, 193, 158, 162, 60,  68, 240, 80, 89,  202,
                    194, 67, 78, 208, 235, 142, 185, 77, 122, 63, 124, 49}},
    {DType::kIQ4_NL,
     {8, 166, 127, 215, 66, 18, 21, 94, 233, 151, 139, 192, 43, 233, 203, 224, 58, 230}},
};

std::vector<uint8_t> StoredAsValue(DType codec, const float* x) {
  QuantizedBlock block;
  QuantizeBlock(codec, x, block);
  std::vector<uint8_t> bytes(static_cast<size_t>(InfoOf(codec).block_bytes));
  StoreValueBlock(codec, block, reinterpret_cast<std::byte*>(bytes.data()));
  return bytes;
}

}  // namespace

TEST_CASE("blocks equal those of ggml's reference quantizers") {
  for (const auto& [codec, bytes] : kExpected) {
    CAPTURE(InfoOf(codec).name);
    CHECK(StoredAsValue(codec, kValues) == bytes);
  }
}

TEST_CASE("the first of two opposite extremes counts, as in ggml") {
  float values[kStateBlock] = {0.5f, -4.0f, 1.0f, 4.0f};
  QuantizedBlock block;
  QuantizeBlock(DType::kQ4_0, values, block);
  CHECK(block.codes[1] == 0);
  CHECK(HalfToFloat(block.scale) == 0.5f);
  std::swap(values[1], values[3]);
  QuantizeBlock(DType::kQ4_0, values, block);
  CHECK(block.codes[1] == 0);
  CHECK(HalfToFloat(block.scale) == -0.5f);
}

TEST_CASE("a block of zeros, of one number, or with numbers that aren't any, stays in range") {
  for (const DType codec : kBlockCodecs) {
    CAPTURE(InfoOf(codec).name);
    for (const float filler : {0.0f, -3.5f, 1e-30f, 1e30f, INFINITY, NAN}) {
      float values[kStateBlock];
      std::fill_n(values, kStateBlock, filler);
      QuantizedBlock block;
      QuantizeBlock(codec, values, block);
      for (int i = 0; i < kStateBlock; ++i) {
        CHECK_EQ(block.codes[static_cast<size_t>(i)] >> BlockSchemeOf(codec)->code_bits, 0);
      }
      float back[kStateBlock];
      DequantizeBlock(codec, block, back);
      if (filler == 0.0f) CHECK(std::ranges::all_of(back, [](float x) { return x == 0; }));
    }
  }
}

TEST_CASE("a row of a key tile decodes as that of a value tile, and owns its bytes") {
  std::mt19937 random(3);
  std::normal_distribution<float> normal(0, 2);
  for (const DType codec : kBlockCodecs) {
    CAPTURE(InfoOf(codec).name);
    const auto bytes = static_cast<size_t>(InfoOf(codec).block_bytes);
    std::vector<std::byte> tile(kTileRows * bytes, std::byte{0xA5});
    std::vector<QuantizedBlock> blocks(kTileRows);
    // In an order in which each row has later neighbours on both sides.
    for (int64_t i = 0; i < kTileRows; ++i) {
      const int64_t row = i * 7 % kTileRows;
      float values[kStateBlock];
      for (float& v : values) v = normal(random);
      QuantizedBlock& block = blocks[static_cast<size_t>(row)];
      QuantizeBlock(codec, values, block);
      StoreKeyBlock(codec, block, row, tile.data());
    }
    for (int64_t row = 0; row < kTileRows; ++row) {
      const QuantizedBlock& expected = blocks[static_cast<size_t>(row)];
      QuantizedBlock from_key;
      LoadKeyBlock(codec, tile.data(), row, from_key);
      std::vector<std::byte> stored(bytes);
      StoreValueBlock(codec, expected, stored.data());
      QuantizedBlock from_value;
      UnpackBlock(codec, stored.data(), from_value);
      for (const QuantizedBlock* got : {&from_key, &from_value}) {
        CHECK(std::equal(got->codes.begin(), got->codes.begin() + kStateBlock,
                         expected.codes.begin()));
        CHECK(got->scale == expected.scale);
        if (BlockSchemeOf(codec)->has_minimum) CHECK(got->minimum == expected.minimum);
      }
    }
  }
}

}  // namespace cairn
