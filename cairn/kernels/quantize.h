// Rows of x as small integers, laid out for the integer products.
//
// Each token is quantized alone, in groups of 32. With one plane, x = scale * a: scale is
// max|x| / 127, a is x * (127 / max|x|) to the nearest integer (ties to even). With two planes,
// x = scale * (256 a + b): scale is max|x| / 127 / 256, a as before, and b the nearest integer to
// 256 times what a left over, clamped to int8. "Sum" below is that of a, or of 256 a + b. A group
// whose largest value is below kSmallestMax becomes zeros; a group with a NaN or infinity gets the
// scale NaN. Tokens are put into tiles of 1, 2, 4, 8 or 16 that a kernel walks together; a token's
// numbers don't depend on its tile. Thread safety: Reset from one thread; QuantizeTile on different
// tiles from several.
#ifndef CAIRN_KERNELS_QUANTIZE_H_
#define CAIRN_KERNELS_QUANTIZE_H_

#include <cstdint>

#include "cairn/base/aligned_buffer.h"

namespace cairn {

inline constexpr int kQuantGroup = 32;
inline constexpr int kMaxTileTokens = 16;
// Far above where 127 / max overflows, far below what a network's values mean.
inline constexpr float kSmallestMax = 0x1p-100f;

// Tokens [first, first + used) in the first `used` of `width` places; the other places hold zeros.
struct TokenTile {
  int64_t first;
  int width;
  int used;
};

// Covers n tokens with tiles. Up to 8 tokens: one tile, padded. More: tiles of 16 (of 8 below 16
// tokens), the last of 8 or 16 overlapping its predecessor: computing a token twice gives the same
// bits.
class TokenTiles {
 public:
  TokenTiles() = default;
  explicit TokenTiles(int64_t tokens);
  int64_t count() const { return count_; }
  TokenTile At(int64_t tile) const;
  // Places in the tiles before this one.
  int64_t PlacesBefore(int64_t tile) const { return tile * width_; }
  int64_t places() const { return count_ == 0 ? 0 : PlacesBefore(count_ - 1) + last_width_; }

 private:
  int64_t tokens_ = 0;
  int64_t count_ = 0;
  int width_ = 0;  // of all tiles but the last
  int last_width_ = 0;
};

// What a product must know of a group besides its codes.
enum GroupField {
  kFieldScale,      // float
  kFieldScaledSum,  // float: scale * sum of codes, for weights with minimums
  kFieldZero128,    // int32: -128 * sum, for weight codes around 128
  kFieldZero32,     // int32: -32 * sum, for weight codes around 32
  kGroupFields,
};
// The same of each half of a group, for weights with a scale to 16 columns.
enum HalfField { kFieldHalfScaledSum, kFieldHalfZero32, kHalfFields };

struct QuantizedTile {
  const int8_t* codes;  // [group][place][plane][32]
  const float* fields;  // [group][kGroupFields][place]
  const float* halves;  // [group][2][kHalfFields][place]
  int width;
  int planes;
};

// Where QuantizeTile writes; the same arrays.
struct QuantizedTileOut {
  int8_t* codes;
  float* fields;
  float* halves;
};

class QuantizedRows {
 public:
  // Makes room; contents are lost. REQUIRES: columns is a multiple of 32, planes is 1 or 2.
  void Reset(int64_t tokens, int64_t columns, int planes);
  // `rows` is row 0 of all tokens, rows are `stride` floats apart.
  void QuantizeTile(int64_t tile, const float* rows, int64_t stride);

  const TokenTiles& tiles() const { return tiles_; }
  int planes() const { return planes_; }
  QuantizedTile Tile(int64_t tile) const;

 private:
  TokenTiles tiles_;
  int64_t groups_ = 0;
  int planes_ = 1;
  AlignedBuffer codes_;
  AlignedBuffer fields_;
  AlignedBuffer halves_;
};

}  // namespace cairn

#endif  // CAIRN_KERNELS_QUANTIZE_H_
