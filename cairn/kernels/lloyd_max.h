// Lloyd-Max codes of 2 to 5 bits with one scale for a head's row: lm2 lm3 lm4 lm5.
//
// For rows that look like Gaussian noise of one variance, as a rotation makes them. A code stands
// for a level, an 8-bit integer; an element is level x scale. The levels are those integers whose
// expected squared error for a Gaussian, averaged over the steps of the scale, is least
// (docs/adr/0016-lloyd-max-state.md). The scale is a byte e: 0 for e = 0, else about
// 2^((e - 160) / 8), which is kLloydMaxOctave[e % 8] x 2^(e / 8 - 20). These constants have 16
// significant bits, so level x scale is exact in a float.
//
// Encoding: a row's squares are summed (channels c, c + 32, ... in a chain of fused multiply-adds,
// the 32 chains' sums as halves added, then by SumLanes of lanes-inl.h) and multiplied with
// kLloydMaxSquare / width; e is 160 plus the whole quarters of octaves in that, 0 if this is below
// 1, and at most 255. An element gets the magnitude whose border below, the middle between it and
// the next smaller one, is the last that |x| / scale reaches, the quotient taken twice as large, as
// |x| x LloydMaxTwoByScale(e), rounded once; and the sign of x's sign bit. So whatever is above the
// largest level gets the largest, and a row of zeros has e = 0 and the smallest. A NaN gets the
// largest level, and its row a scale of no meaning.
//
// A block of 32 channels is a few 32-bit words: with 4 or 5 bits first four of the codes' low four
// bits, byte b of word q those of channel 4 q + b low and of channel 4 q + b + 16 high; with 2 or 3
// bits first two of the codes' low two bits, byte b of word j those of channels 16 j + 4 i + b at
// bit 2 i; with 3 or 5 bits then one of the codes' highest bit, bit i of byte b that of channel
// 4 i + b. A tile is [row] scales, then words: of values [row][block][word], of keys
// [block][word][row]. Every byte belongs to one row: rows may be written at the same time.
// Thread-safe.
#ifndef CAIRN_KERNELS_LLOYD_MAX_H_
#define CAIRN_KERNELS_LLOYD_MAX_H_

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "cairn/base/dtype.h"

namespace cairn {

inline constexpr int kLloydMaxBlock = 32;
inline constexpr int kLloydMaxMostLevels = 32;

// The bits of a code; nothing for other formats.
constexpr std::optional<int> LloydMaxBitsOf(DType dtype) {
  switch (dtype) {
    case DType::kLM2:
      return 2;
    case DType::kLM3:
      return 3;
    case DType::kLM4:
      return 4;
    case DType::kLM5:
      return 5;
    default:
      return std::nullopt;
  }
}

constexpr bool IsLloydMax(DType dtype) { return LloydMaxBitsOf(dtype).has_value(); }

// What is specific to a number of bits.
template <int kBits>
struct LloydMax;

template <>
struct LloydMax<2> {
  static constexpr std::array<int8_t, 2> kMagnitudes = {33, 110};
  static constexpr double kScale = 0.013729;  // by the root of the mean square
};
template <>
struct LloydMax<3> {
  static constexpr std::array<int8_t, 4> kMagnitudes = {13, 40, 71, 114};
  static constexpr double kScale = 0.018902;
};
template <>
struct LloydMax<4> {
  static constexpr std::array<int8_t, 8> kMagnitudes = {5, 15, 25, 36, 48, 62, 79, 104};
  static constexpr double kScale = 0.026253;
};
template <>
struct LloydMax<5> {
  static constexpr std::array<int8_t, 16> kMagnitudes = {2,  7,  12, 17, 22, 27, 32, 38,
                                                         44, 50, 57, 65, 74, 85, 99, 120};
  static constexpr double kScale = 0.027310;
};

// Levels by code, rising: codes below half are negative.
template <int kBits>
inline constexpr auto kLloydMaxLevels = [] {
  constexpr size_t kHalf = size_t{1} << (kBits - 1);
  std::array<int8_t, 2 * kHalf> levels = {};
  for (size_t i = 0; i < kHalf; ++i) {
    levels[kHalf + i] = LloydMax<kBits>::kMagnitudes[i];
    levels[kHalf - 1 - i] = static_cast<int8_t>(-LloydMax<kBits>::kMagnitudes[i]);
  }
  return levels;
}();

// Twice the borders between neighbouring magnitudes.
template <int kBits>
inline constexpr auto kLloydMaxBorders = [] {
  constexpr auto& kMagnitudes = LloydMax<kBits>::kMagnitudes;
  std::array<uint8_t, kMagnitudes.size() - 1> borders = {};
  for (size_t i = 0; i < borders.size(); ++i) {
    borders[i] = static_cast<uint8_t>(kMagnitudes[i] + kMagnitudes[i + 1]);
  }
  return borders;
}();

// The square of the scale that a mean square of 1 asks for, and half a step of scales on top: so
// the whole steps in it are the nearest scale.
template <int kBits>
inline constexpr auto kLloydMaxSquare = static_cast<float>(
    LloydMax<kBits>::kScale * LloydMax<kBits>::kScale * 1.0905077326652577);  // 2^(1 / 8)

// 2^(i / 8) to 16 bits, and 2 over that.
inline constexpr std::array<float, 8> kLloydMaxOctave = {0x1.0000p0f, 0x1.172cp0f, 0x1.3070p0f,
                                                         0x1.4bfep0f, 0x1.6a0ap0f, 0x1.8acep0f,
                                                         0x1.ae8ap0f, 0x1.d582p0f};
inline constexpr std::array<float, 8> kLloydMaxTwoByOctave = [] {
  std::array<float, 8> by = {};
  for (size_t i = 0; i < 8; ++i) by[i] = 2.0f / kLloydMaxOctave[i];
  return by;
}();
inline constexpr int kLloydMaxUnit = 20;  // e / 8 of the scale 1

constexpr float LloydMaxScale(uint8_t e) {
  const auto octave = std::bit_cast<uint32_t>(kLloydMaxOctave[e % 8]);
  const uint32_t bits = octave + (static_cast<uint32_t>(e / 8) << 23) - (kLloydMaxUnit << 23);
  return e == 0 ? 0.0f : std::bit_cast<float>(bits);
}

// About 2 / LloydMaxScale(e); 0 for e = 0.
constexpr float LloydMaxTwoByScale(uint8_t e) {
  const auto by = std::bit_cast<uint32_t>(kLloydMaxTwoByOctave[e % 8]);
  const uint32_t bits = by - (static_cast<uint32_t>(e / 8) << 23) + (kLloydMaxUnit << 23);
  return e == 0 ? 0.0f : std::bit_cast<float>(bits);
}

// The scale's byte for `square`, the sum of squares x (kLloydMaxSquare / width).
constexpr uint8_t LloydMaxScaleByte(float square) {
  // Where the fraction of a float passes 2^(1/4), 2^(1/2), 2^(3/4).
  constexpr uint32_t kQuarters[] = {0x1837F0, 0x3504F3, 0x5744FD};
  const auto bits = std::bit_cast<uint32_t>(square) & 0x7FFFFFFF;
  int32_t quarters = 4 * (static_cast<int32_t>(bits >> 23) - 127) + 8 * kLloydMaxUnit;
  for (const uint32_t quarter : kQuarters) quarters += (bits & 0x7FFFFF) >= quarter ? 1 : 0;
  if (quarters < 1) return 0;
  return static_cast<uint8_t>(quarters > 255 ? 255 : quarters);
}

}  // namespace cairn

#endif  // CAIRN_KERNELS_LLOYD_MAX_H_
