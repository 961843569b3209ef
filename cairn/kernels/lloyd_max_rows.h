// Rows of Lloyd-Max codes (lloyd_max.h) in tiles: from floats, and back.
//
// The same bytes on every instruction set. Thread-safe; rows of a tile may be written at the same
// time.
#ifndef CAIRN_KERNELS_LLOYD_MAX_ROWS_H_
#define CAIRN_KERNELS_LLOYD_MAX_ROWS_H_

#include <cstddef>
#include <cstdint>

#include "cairn/base/dtype.h"
#include "cairn/kernels/lloyd_max.h"

namespace cairn {

// Where one row of a tile lies: its scale, then its words, `step` bytes apart.
template <class Byte>
struct LloydMaxRow {
  Byte* scale;
  Byte* words;
  int64_t step;
};

// Row `row` of a tile of values, or of keys. REQUIRES here and below: IsLloydMax(codec), width a
// multiple of kLloydMaxBlock.
template <class Byte>
LloydMaxRow<Byte> LloydMaxValueRow(DType codec, int64_t width, int64_t row, Byte* tile);
template <class Byte>
LloydMaxRow<Byte> LloydMaxKeyRow(int64_t row, Byte* tile);

void StoreLloydMaxRow(DType codec, const float* values, int64_t width,
                      const LloydMaxRow<std::byte>& to);

// The scalar inverse, for tests and tools.
void LoadLloydMaxRow(DType codec, const LloydMaxRow<const std::byte>& from, int64_t width,
                     float* values);

// ---- Details ----

inline constexpr int64_t kLloydMaxTileRows = 16;
inline constexpr int64_t kLloydMaxWordBytes = 4;

template <class Byte>
LloydMaxRow<Byte> LloydMaxValueRow(DType codec, int64_t width, int64_t row, Byte* tile) {
  const int64_t code_bytes = width / 8 * *LloydMaxBitsOf(codec);
  return {tile + row, tile + kLloydMaxTileRows + row * code_bytes, kLloydMaxWordBytes};
}

template <class Byte>
LloydMaxRow<Byte> LloydMaxKeyRow(int64_t row, Byte* tile) {
  return {tile + row, tile + kLloydMaxTileRows + row * kLloydMaxWordBytes,
          kLloydMaxTileRows * kLloydMaxWordBytes};
}

}  // namespace cairn

#endif  // CAIRN_KERNELS_LLOYD_MAX_ROWS_H_
