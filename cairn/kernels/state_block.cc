#include "cairn/kernels/state_block.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "cairn/base/check.h"
#include "cairn/kernels/state_rows.h"

namespace cairn {
namespace {

// Below, ggml takes an iq4_nl block as zeros.
constexpr float kSmallestNonlinear = 1e-15f;

struct Range {
  float lowest;
  float highest;
  float extreme;  // the first of those of largest magnitude
};

// Not as a loop that keeps the value of largest magnitude: for AVX2, clang 19 -O3 gets that wrong.
Range RangeOf(const float* x) {
  Range range = {x[0], x[0], 0};
  for (int i = 1; i < kStateBlock; ++i) {
    range.lowest = std::min(range.lowest, x[i]);
    range.highest = std::max(range.highest, x[i]);
  }
  range.extreme = range.highest > -range.lowest ? range.highest : range.lowest;
  if (range.highest != -range.lowest) return range;
  for (int i = kStateBlock - 1; i >= 0; --i) {
    if (std::abs(x[i]) == range.highest) range.extreme = x[i];
  }
  return range;
}

float InverseOf(float scale) { return scale != 0 ? 1.0f / scale : 0.0f; }

// The integer below; 0 for NaN.
uint8_t CodeOf(float value, int largest) {
  if (!(value > 0)) return 0;
  return static_cast<uint8_t>(std::min(value, static_cast<float>(largest)));
}

// Halves away from zero, as C's roundf: v - whole is exact.
int RoundAway(float v) {
  const int whole = static_cast<int>(v);
  const float rest = v - static_cast<float>(whole);
  return whole + (rest >= 0.5f ? 1 : 0) - (rest <= -0.5f ? 1 : 0);
}

void QuantizeQ8_0(const float* x, QuantizedBlock& block) {
  const Range range = RangeOf(x);
  const float scale = std::abs(range.extreme) / 127.0f;
  const float inverse = InverseOf(scale);
  block.scale = HalfFromFloat(scale);
  for (int i = 0; i < kStateBlock; ++i) {
    const float v = x[i] * inverse;
    const bool in_range = v >= -127.5f && v <= 127.5f;  // no NaN
    block.codes[i] = static_cast<uint8_t>(RoundAway(in_range ? v : 0.0f) + 128);
  }
}

// The extreme value gets the code 0, zero the one in the middle.
void QuantizeAroundZero(int middle, const float* x, QuantizedBlock& block) {
  const float scale = RangeOf(x).extreme / static_cast<float>(-middle);
  const float inverse = InverseOf(scale);
  block.scale = HalfFromFloat(scale);
  for (int i = 0; i < kStateBlock; ++i) {
    block.codes[i] = CodeOf(x[i] * inverse + (static_cast<float>(middle) + 0.5f), 2 * middle - 1);
  }
}

void QuantizeFromMinimum(int largest, const float* x, QuantizedBlock& block) {
  const Range range = RangeOf(x);
  const float scale = (range.highest - range.lowest) / static_cast<float>(largest);
  const float inverse = InverseOf(scale);
  block.scale = HalfFromFloat(scale);
  block.minimum = HalfFromFloat(range.lowest);
  for (int i = 0; i < kStateBlock; ++i) {
    block.codes[i] = CodeOf((x[i] - range.lowest) * inverse + 0.5f, largest);
  }
}

// The number of the nearest of kNonlinearValues, the upper one between two.
uint8_t NearestNonlinear(float value) {
  int code = 0;
  for (size_t i = 0; i + 1 < kNonlinearValues.size(); ++i) {
    const float border = 0.5f * static_cast<float>(kNonlinearValues[i] + kNonlinearValues[i + 1]);
    code += value >= border ? 1 : 0;
  }
  return static_cast<uint8_t>(code);
}

// Codes by a scale that makes the extreme value -127; then the scale with the least error for these
// codes, errors weighted with the values' squares.
void QuantizeNonlinear(const float* x, QuantizedBlock& block) {
  const float extreme = RangeOf(x).extreme;
  if (!(std::abs(extreme) >= kSmallestNonlinear)) {
    block.scale = 0;
    std::fill_n(block.codes.begin(), kStateBlock, uint8_t{0});
    return;
  }
  const float inverse = 1.0f / (extreme / static_cast<float>(kNonlinearValues[0]));
  float along = 0;
  float squares = 0;
  for (int i = 0; i < kStateBlock; ++i) block.codes[i] = NearestNonlinear(x[i] * inverse);
  for (int i = 0; i < kStateBlock; ++i) {
    const auto value = static_cast<float>(kNonlinearValues[block.codes[i]]);
    const float weight = x[i] * x[i];
    along += weight * value * x[i];
    squares += weight * value * value;
  }
  block.scale = HalfFromFloat(squares > 0 ? along / squares : 0.0f);
}

// Where one row's parts of a block lie.
struct Place {
  std::byte* scale;
  std::byte* minimum;  // of formats that have them
  std::byte* fifth;
  std::byte* codes;
  bool key;

  // From the first byte of codes to byte i.
  int64_t Step(int i) const { return key ? i / 4 * (4 * kTileRows) + i % 4 : i; }
  int FifthBit(int channel) const { return key ? channel % 4 * 8 + channel / 4 : channel; }
};

Place ValuePlace(DType codec, std::byte* block) {
  const SmallBlockLayout layout = *SmallBlockLayoutOf(codec);
  return {block, block + layout.minimum, block + layout.fifth_bits, block + layout.codes, false};
}

Place KeyPlace(DType codec, std::byte* block, int64_t row) {
  const SmallBlockLayout layout = *SmallBlockLayoutOf(codec);
  return {block + 2 * row, block + layout.minimum * kTileRows + 2 * row,
          block + layout.fifth_bits * kTileRows + 4 * row,
          block + layout.codes * kTileRows + 4 * row, true};
}

void Store(DType codec, const QuantizedBlock& block, const Place& place) {
  const BlockScheme scheme = *BlockSchemeOf(codec);
  std::memcpy(place.scale, &block.scale, 2);
  if (scheme.has_minimum) std::memcpy(place.minimum, &block.minimum, 2);
  if (scheme.code_bits == 8) {
    // GGUF stores the code itself, signed.
    const int flip = place.key ? 0 : 0x80;
    for (int i = 0; i < kStateBlock; ++i) {
      place.codes[place.Step(i)] = static_cast<std::byte>(block.codes[i] ^ flip);
    }
    return;
  }
  for (int i = 0; i < kStateBlock / 2; ++i) {
    const int high = block.codes[i + kStateBlock / 2] & 15;
    place.codes[place.Step(i)] = static_cast<std::byte>((block.codes[i] & 15) | (high << 4));
  }
  if (scheme.code_bits != 5) return;
  uint32_t bits = 0;
  for (int i = 0; i < kStateBlock; ++i) {
    bits |= static_cast<uint32_t>(block.codes[i] >> 4) << place.FifthBit(i);
  }
  std::memcpy(place.fifth, &bits, 4);
}

void LoadFromKey(DType codec, const Place& place, QuantizedBlock& block) {
  const BlockScheme scheme = *BlockSchemeOf(codec);
  std::memcpy(&block.scale, place.scale, 2);
  if (scheme.has_minimum) std::memcpy(&block.minimum, place.minimum, 2);
  const auto byte = [&](int i) { return std::to_integer<uint8_t>(place.codes[place.Step(i)]); };
  if (scheme.code_bits == 8) {
    for (int i = 0; i < kStateBlock; ++i) block.codes[i] = byte(i);
    return;
  }
  for (int i = 0; i < kStateBlock / 2; ++i) {
    block.codes[i] = byte(i) & 15;
    block.codes[i + kStateBlock / 2] = byte(i) >> 4;
  }
  if (scheme.code_bits != 5) return;
  uint32_t bits;
  std::memcpy(&bits, place.fifth, 4);
  for (int i = 0; i < kStateBlock; ++i) {
    const auto fifth = static_cast<uint8_t>(((bits >> place.FifthBit(i)) & 1) << 4);
    block.codes[i] = static_cast<uint8_t>(block.codes[i] | fifth);
  }
}

}  // namespace

bool IsBlockCodec(DType codec) { return SmallBlockLayoutOf(codec).has_value(); }

void QuantizeBlock(DType codec, const float* x, QuantizedBlock& block) {
  const BlockScheme scheme = *BlockSchemeOf(codec);
  if (scheme.has_table) return QuantizeNonlinear(x, block);
  if (scheme.has_minimum) return QuantizeFromMinimum((1 << scheme.code_bits) - 1, x, block);
  if (scheme.code_bits == 8) return QuantizeQ8_0(x, block);
  QuantizeAroundZero(scheme.zero, x, block);
}

void DequantizeBlock(DType codec, const QuantizedBlock& block, float* x) {
  const BlockScheme scheme = *BlockSchemeOf(codec);
  const float scale = HalfToFloat(block.scale);
  const float minimum = scheme.has_minimum ? HalfToFloat(block.minimum) : 0.0f;
  for (int i = 0; i < kStateBlock; ++i) {
    const int code = block.codes[i];
    const int value =
        scheme.has_table ? kNonlinearValues[static_cast<size_t>(code)] : code - scheme.zero;
    const float scaled = scale * static_cast<float>(value);
    x[i] = scheme.has_minimum ? scaled + minimum : scaled;
  }
}

void StoreValueBlock(DType codec, const QuantizedBlock& block, std::byte* to) {
  Store(codec, block, ValuePlace(codec, to));
}

void StoreKeyBlock(DType codec, const QuantizedBlock& block, int64_t row, std::byte* to) {
  Store(codec, block, KeyPlace(codec, to, row));
}

void LoadKeyBlock(DType codec, const std::byte* from, int64_t row, QuantizedBlock& block) {
  // A Place serves reading and writing; nothing is written here.
  LoadFromKey(codec, KeyPlace(codec, const_cast<std::byte*>(from), row), block);
}

}  // namespace cairn
