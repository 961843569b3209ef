// Scores and values of attention over bf16 rows, with the machine's dot product of bf16 pairs.
//
// Both factors are bf16: queries and softmax weights are rounded to the form that the rows are
// stored in. A step takes two neighbours (channels of a score, keys of an output): the sum gains
// first the odd one's product, then the even one's, each with one rounding. That is what vdpbf16ps
// does on the machines that have it, and two fused multiply-adds everywhere else, provided that the
// thread flushes subnormal numbers (flush_subnormals.h), as the instruction always does. A last
// channel without a neighbour is paired with zero.
// Tiles lie in pairs: keys [width / 2][16 rows][2 channels], then the odd channel's [16];
// values [8][width][2 rows]. Thread-safe.
#ifndef CAIRN_KERNELS_ATTENTION_BF16_H_
#define CAIRN_KERNELS_ATTENTION_BF16_H_

#include <cstdint>

#include "cairn/kernels/attention_tile.h"

namespace cairn {

// Words of one query row in pairs.
inline int64_t Bf16PairWords(int64_t width) { return (width + 1) / 2; }

// Rounds `width` floats to bf16 and packs neighbours into words: the even one in the low half.
void PackBf16Pairs(const float* values, int64_t width, uint32_t* pairs);

// As TileScores; `queries` are rows of Bf16PairWords(width) words.
void Bf16TileScores(const TilePointers& keys, const uint32_t* queries, int64_t rows, int64_t width,
                    float* scores);

// As TileValues; the weights must be bf16 numbers (TileSoftmax with round_to_bf16).
void Bf16TileValues(const TilePointers& values, const float* weights, int first, int end,
                    int64_t rows, int64_t width, const RowSoftmax* softmax, float* out,
                    int64_t stride);

}  // namespace cairn

#endif  // CAIRN_KERNELS_ATTENTION_BF16_H_
