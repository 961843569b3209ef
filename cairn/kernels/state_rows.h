// Codecs of Rows components: from computed floats into a block's stored form, and back.
//
// Tiles are one head's rows of one block: kTileRows rows of `width` elements, row-major
// [row][width] or transposed [width][row]; in bf16 and fp8 (OCP's E4M3), neighbours that a dot
// product takes together lie side by side (attention_bf16.h). f16 and fp8 saturate at their largest
// finite value, so that a stored number is finite whenever the computed one was. The block codecs
// quantize 32 channels of a row together, as ggml does; how they lie is told in state_block.h, and
// in lloyd_max.h for codes that have one scale for a row. Thread-safe.
#ifndef CAIRN_KERNELS_STATE_ROWS_H_
#define CAIRN_KERNELS_STATE_ROWS_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "cairn/base/dtype.h"

namespace cairn {

// Rows of one tile; equals the state layout's rows per block.
inline constexpr int kTileRows = 16;

// The codecs that rows can be stored in and attention can read; the widest first.
std::span<const DType> AllStateCodecs();
bool IsStateCodec(DType codec);

// Their names in one line: "f32, f16, ... or lm2".
std::string StateCodecNames();

// Bytes of one tile. REQUIRES: the codec's block divides width.
int64_t StateTileBytes(DType codec, int64_t width);

// Stores one row of `heads` heads x `width` floats as row `row` of `heads` consecutive tiles.
void StoreRow(DType codec, const float* values, int64_t heads, int64_t width, int64_t row,
              std::byte* tiles);
void StoreRowTransposed(DType codec, const float* values, int64_t heads, int64_t width, int64_t row,
                        std::byte* tiles);

// A plain array: numbers one behind the other, as DequantizeRow reads them; for state that isn't
// rows. REQUIRES: codec is kF32, kF16 or kBF16.
void StoreFloats(DType codec, const float* values, int64_t count, std::byte* to);

// The scalar inverse, for tests and tools.
void LoadRow(DType codec, const std::byte* tiles, int64_t heads, int64_t width, int64_t row,
             float* values);
void LoadRowTransposed(DType codec, const std::byte* tiles, int64_t heads, int64_t width,
                       int64_t row, float* values);

}  // namespace cairn

#endif  // CAIRN_KERNELS_STATE_ROWS_H_
