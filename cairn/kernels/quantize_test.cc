#include "cairn/kernels/quantize.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "cairn/kernels/matmul_reference.h"
#include "cairn/kernels/matmul_test_weights.h"
#include "cairn/kernels/targets.h"
#include "cairn/kernels/targets_for_tests.h"
#include "hwy/highway.h"
#include "hwy/targets.h"

namespace cairn {
namespace {

int32_t IntField(const float* fields, int index) {
  int32_t value;
  std::memcpy(&value, fields + index, sizeof(value));
  return value;
}

int32_t CodeAt(const QuantizedTile& tile, int64_t group, int place, int i) {
  const int8_t* codes = tile.codes + (group * tile.width + place) * tile.planes * kQuantGroup;
  return tile.planes == 1 ? codes[i] : 256 * codes[i] + codes[kQuantGroup + i];
}

// One token's group in a tile equals the reference.
void CheckGroup(const QuantizedTile& tile, int64_t group, int place, const float* x) {
  const auto precision = tile.planes == 1 ? ActivationPrecision::k8 : ActivationPrecision::k16;
  const ReferenceGroup expected = QuantizeReference(x, precision);
  int32_t sums[2] = {};
  for (int i = 0; i < kQuantGroup; ++i) {
    CHECK_EQ(CodeAt(tile, group, place, i), expected.codes[i]);
    sums[i / 16] += expected.codes[i];
  }
  const int32_t sum = sums[0] + sums[1];
  const float* fields = tile.fields + group * kGroupFields * tile.width + place;
  CHECK_EQ(fields[kFieldScale * tile.width], expected.scale);
  CHECK_EQ(fields[kFieldScaledSum * tile.width], expected.scale * static_cast<float>(sum));
  CHECK_EQ(IntField(fields, kFieldZero128 * tile.width), -128 * sum);
  CHECK_EQ(IntField(fields, kFieldZero32 * tile.width), -32 * sum);
  for (int half = 0; half < 2; ++half) {
    const float* halves = tile.halves + (group * 2 + half) * kHalfFields * tile.width + place;
    CHECK_EQ(halves[kFieldHalfScaledSum * tile.width],
             expected.scale * static_cast<float>(sums[half]));
    CHECK_EQ(IntField(halves, kFieldHalfZero32 * tile.width), -32 * sums[half]);
  }
}

void CheckAll(const std::vector<float>& x, int64_t tokens, int64_t columns, int planes) {
  QuantizedRows rows;
  rows.Reset(tokens, columns, planes);
  for (int64_t i = 0; i < rows.tiles().count(); ++i) {
    rows.QuantizeTile(i, x.data(), columns);
    const TokenTile at = rows.tiles().At(i);
    const QuantizedTile tile = rows.Tile(i);
    for (int place = 0; place < at.used; ++place) {
      for (int64_t g = 0; g < columns / kQuantGroup; ++g) {
        CheckGroup(tile, g, place, x.data() + (at.first + place) * columns + g * kQuantGroup);
      }
    }
  }
}

}  // namespace

TEST_CASE("tiles cover every token and stay inside") {
  for (int64_t tokens = 1; tokens < 100; ++tokens) {
    const TokenTiles tiles(tokens);
    std::vector<bool> covered(static_cast<size_t>(tokens));
    int64_t places = 0;
    for (int64_t i = 0; i < tiles.count(); ++i) {
      const TokenTile tile = tiles.At(i);
      CHECK_EQ(tiles.PlacesBefore(i), places);
      places += tile.width;
      REQUIRE_GE(tile.first, 0);
      REQUIRE_LE(tile.first + tile.used, tokens);
      REQUIRE_LE(tile.used, tile.width);
      if (tokens > 8) CHECK_EQ(tile.used, tile.width);
      for (int t = 0; t < tile.used; ++t) covered[tile.first + t] = true;
    }
    CHECK_EQ(tiles.places(), places);
    CHECK_EQ(std::count(covered.begin(), covered.end(), true), tokens);
  }
  CHECK_EQ(TokenTiles(0).count(), 0);
}

TEST_CASE("quantized rows equal the reference on every instruction set") {
  for (const int64_t target : TargetsForTests()) {
    hwy::SetSupportedTargetsForTest(target);
    CAPTURE(std::string(hwy::TargetName(target)));
    for (const int planes : {1, 2}) {
      for (const int64_t tokens : {1, 3, 8, 11, 16, 20, 48}) {
        auto x = RandomFloats(tokens * 96, static_cast<uint32_t>(tokens));
        x[5] = 1e30f;
        CheckAll(x, tokens, 96, planes);
      }
    }
  }
  hwy::SetSupportedTargetsForTest(0);
}

TEST_CASE("codes halfway between integers go to the even one") {
  std::vector<float> x(32, 0.0f);
  x[0] = 127.0f;
  x[1] = 0.5f;
  x[2] = 1.5f;
  x[3] = -2.5f;
  x[4] = -127.0f;
  const ReferenceGroup group = QuantizeReference(x.data(), ActivationPrecision::k8);
  CHECK_EQ(group.scale, 1.0f);
  CHECK_EQ(group.codes[1], 0);
  CHECK_EQ(group.codes[2], 2);
  CHECK_EQ(group.codes[3], -2);
  CHECK_EQ(group.codes[4], -127);
  CheckAll(x, 1, 32, 1);
}

TEST_CASE("zeros, tiny and huge values and values that are no numbers are defined") {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  std::vector<float> x(7 * 32, 0.0f);
  x[32] = 1e-38f;
  x[64] = 1e-45f;
  x[96] = std::numeric_limits<float>::max();
  x[97] = -1.0f;
  x[128] = -kInfinity;
  x[160] = std::numeric_limits<float>::quiet_NaN();
  x[192] = 0x1p-100f;
  for (const int64_t target : TargetsForTests()) {
    hwy::SetSupportedTargetsForTest(target);
    for (const int planes : {1, 2}) {
      QuantizedRows rows;
      rows.Reset(1, 7 * 32, planes);
      rows.QuantizeTile(0, x.data(), 7 * 32);
      const QuantizedTile tile = rows.Tile(0);
      for (const int64_t g : {0, 1, 2, 3, 6}) CheckGroup(tile, g, 0, x.data() + 32 * g);
      for (const int64_t g : {4, 5}) {
        CHECK(std::isnan(tile.fields[g * kGroupFields]));
        CHECK_EQ(CodeAt(tile, g, 0, 0), 0);
      }
    }
  }
  hwy::SetSupportedTargetsForTest(0);
}

}  // namespace cairn
