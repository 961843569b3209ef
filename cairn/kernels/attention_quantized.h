// Scores over keys in the block codecs (state_block.h) and in Lloyd-Max codes (lloyd_max.h): exact
// products of small integers.
//
// A query row is quantized once, in blocks of 32 channels, to 8-bit integers: scale max|q| / 127,
// codes to the nearest, ties to even; a block with a NaN or infinity gets the scale NaN, one below
// kSmallestQuery zeros. A score is, block by block and in order: the integer sum of code x code, as
// float, times the query's scale, times the key's scale, added with one rounding; in codecs with
// minimums then the key's minimum times the query block's sum, added with one rounding. With
// Lloyd-Max codes block sums, as float, times the query's scale are added with one rounding each,
// and all of it is multiplied with the key's scale. A row's scores depend on no other row.
// Thread-safe.
#ifndef CAIRN_KERNELS_ATTENTION_QUANTIZED_H_
#define CAIRN_KERNELS_ATTENTION_QUANTIZED_H_

#include <cstddef>
#include <cstdint>

#include "cairn/kernels/attention_tile.h"
#include "cairn/kernels/state_block.h"

namespace cairn {

inline constexpr float kSmallestQuery = 0x1p-100f;

// What a score must know of a query's block besides its codes.
struct QueryBlock {
  float scale;
  float sum;      // scale x the sum of the codes
  int32_t start;  // -the sum of the codes x the key code that means 0
};

// Query rows of `width` channels: [row][width] codes, [row][width / 32] blocks.
struct QuantizedQueries {
  int8_t* codes;
  QueryBlock* blocks;

  QuantizedQueries From(int64_t row, int64_t width) const {
    return {codes + row * width, blocks + row * (width / kStateBlock)};
  }
};

// For keys in `codec`. REQUIRES here and below: IsBlockCodec(codec) or IsLloydMax(codec), width a
// multiple of 32.
void QuantizeQueries(DType codec, const float* queries, int64_t rows, int64_t width,
                     const QuantizedQueries& to);

// As TileScores (attention_tile.h).
void QuantizedTileScores(DType codec, const TilePointers& keys, const QuantizedQueries& queries,
                         int64_t rows, int64_t width, float* scores);

}  // namespace cairn

#endif  // CAIRN_KERNELS_ATTENTION_QUANTIZED_H_
