// TileScores and TileValues (attention_tile.h) over block-quantized rows: q8_0 and q4_0.
//
// A key tile is, for each block of 32 channels, 16 scales (one a position, f16) and then the codes:
// q8_0 [channel][position] bytes; q4_0 bytes whose low nibble is channel c and high nibble channel
// c + 16, [c < 16][position]. A value tile is 16 rows of GGUF blocks. Codes are read as they are; a
// score is, block by block, the chain over its channels times the position's scale, added in order.
// Thread-safe.
#ifndef CAIRN_KERNELS_ATTENTION_QUANTIZED_H_
#define CAIRN_KERNELS_ATTENTION_QUANTIZED_H_

#include "cairn/kernels/attention_tile.h"

namespace cairn {

bool IsQuantizedStateCodec(DType codec);

// REQUIRES: IsQuantizedStateCodec(codec), width a multiple of 32.
void QuantizedTileScores(DType codec, const TilePointers& keys, const float* queries, int64_t rows,
                         int64_t width, float* scores);
void QuantizedTileValues(DType codec, const TilePointers& values, const float* weights, int first,
                         int end, int64_t rows, int64_t width, const RowSoftmax* softmax,
                         float* out, int64_t stride);

}  // namespace cairn

#endif  // CAIRN_KERNELS_ATTENTION_QUANTIZED_H_
