#include "cairn/kernels/attention_decode.h"
#include "cairn/kernels/targets_for_tests.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <vector>

#include "hwy/targets.h"

namespace cairn {
namespace {

// Random rows of a tile's four groups in `codec`, and the same numbers stored as bf16.
struct Tile {
  std::vector<std::vector<std::byte>> stored;
  std::vector<std::byte> expected;
  TilePointers pointers;

  Tile(DType codec, int64_t width, bool keys) {
    std::mt19937 random(7);
    std::normal_distribution<float> normal(0, 1);
    const int64_t group_bytes = kTileRows * width * 2;
    expected.resize(static_cast<size_t>(DecodedTileBytes(width)));
    std::vector<float> row(static_cast<size_t>(width));
    for (int64_t g = 0; g < kTileGroups; ++g) {
      std::byte* tile =
          stored.emplace_back(static_cast<size_t>(StateTileBytes(codec, width))).data();
      for (int64_t r = 0; r < kTileRows; ++r) {
        // Small enough for subnormal numbers of fp8, too.
        for (float& v : row) v = normal(random) * (r % 2 == 0 ? 1.0f : 0.01f);
        (keys ? StoreRowTransposed : StoreRow)(codec, row.data(), 1, width, r, tile);
        (keys ? LoadRowTransposed : LoadRow)(codec, tile, 1, width, r, row.data());
        (keys ? StoreRowTransposed : StoreRow)(DType::kBF16, row.data(), 1, width, r,
                                               expected.data() + g * group_bytes);
      }
    }
    for (size_t g = 0; g < kTileGroups; ++g) pointers.groups[g] = stored[g].data();
    pointers.end = kTileGroups;
  }
};

template <class Body>
void OnEveryTarget(const Body& body) {
  for (const int64_t target : TargetsForTests()) {
    hwy::SetSupportedTargetsForTest(target);
    CAPTURE(hwy::TargetName(target));
    body();
  }
  hwy::SetSupportedTargetsForTest(0);
}

}  // namespace

TEST_CASE("decoded values are the stored numbers rounded to bf16, on every target") {
  for (const DType codec : AllStateCodecs()) {
    if (!IsDecodedAsBf16(codec)) continue;
    CAPTURE(InfoOf(codec).name);
    for (const int64_t width : {32, 96}) {
      const Tile tile(codec, width, false);
      OnEveryTarget([&] {
        std::vector<std::byte> got(tile.expected.size());
        const TilePointers decoded =
            DecodeValues(codec, tile.pointers, 0, kTileKeys, width, got.data());
        CHECK(std::memcmp(got.data(), tile.expected.data(), got.size()) == 0);
        CHECK(decoded.groups[1] == got.data() + kTileRows * width * 2);
        CHECK(decoded.end == kTileGroups);
      });
    }
  }
}

TEST_CASE("only the rows in question are read") {
  for (const DType codec : {DType::kQ5_1, DType::kLM5, DType::kLM2}) {
    constexpr int64_t kWidth = 64;
    Tile tile(codec, kWidth, false);
    tile.pointers.groups[0] = nullptr;
    tile.pointers.groups[3] = nullptr;
    tile.pointers.first = 1;
    tile.pointers.end = 3;
    std::vector<std::byte> got(tile.expected.size());
    DecodeValues(codec, tile.pointers, 21, 38, kWidth, got.data());
    const int64_t pair_bytes = kWidth * 4;
    CHECK(std::equal(got.begin() + 10 * pair_bytes, got.begin() + 19 * pair_bytes,
                     tile.expected.begin() + 10 * pair_bytes));
    CHECK(std::all_of(got.begin(), got.begin() + 10 * pair_bytes,
                      [](std::byte b) { return b == std::byte{0}; }));
  }
}

TEST_CASE("fp8 keys and values are decoded in place for any width") {
  for (const bool keys : {true, false}) {
    for (const int64_t width : {1, 7, 20, 64}) {
      const Tile tile(DType::kF8E4M3, width, keys);
      OnEveryTarget([&] {
        std::vector<std::byte> got(tile.expected.size());
        if (keys) {
          DecodeKeys(tile.pointers, width, got.data());
        } else {
          DecodeValues(DType::kF8E4M3, tile.pointers, 0, kTileKeys, width, got.data());
        }
        CHECK(std::memcmp(got.data(), tile.expected.data(), got.size()) == 0);
      });
    }
  }
}

TEST_CASE("every number of fp8 is decoded, NaN as NaN") {
  std::vector<std::byte> stored(256);
  for (size_t i = 0; i < 256; ++i) stored[i] = static_cast<std::byte>(i);
  TilePointers tile;
  tile.groups[0] = stored.data();
  tile.end = 1;
  OnEveryTarget([&] {
    std::vector<uint16_t> got(static_cast<size_t>(DecodedTileBytes(16) / 2));
    DecodeKeys(tile, 16, reinterpret_cast<std::byte*>(got.data()));
    for (size_t i = 0; i < 256; ++i) {
      float expected;
      std::vector<std::byte> one(kTileRows, static_cast<std::byte>(i));
      LoadRow(DType::kF8E4M3, one.data(), 1, 1, 0, &expected);
      uint32_t bits;
      std::memcpy(&bits, &expected, sizeof(bits));
      CHECK(bits == static_cast<uint32_t>(got[i]) << 16);
    }
  });
}

}  // namespace cairn
