// Scores and values of attention in which many query heads read the same rows, and a row is both:
// all of it the key, its leading channels the value (latent attention, keys that are values).
//
// Rows are given one by one, as floats; they may lie anywhere. A score is 16 lane sums, each a
// chain of fused multiply-adds over every 16th channel, folded in a fixed tree; an output one chain
// over the rows in order. How many query rows a call has changes no bit. Thread-safe.
#ifndef CAIRN_KERNELS_ROW_ATTENTION_TILE_H_
#define CAIRN_KERNELS_ROW_ATTENTION_TILE_H_

#include <cstddef>
#include <cstdint>

#include "cairn/base/dtype.h"
#include "cairn/kernels/attention_tile.h"

namespace cairn {

// Row `row` of a row-major tile of one head as floats: where it lies, if it is kept as such, else
// in `room`, which has place for `width` of them. REQUIRES: IsStateCodec(codec).
const float* RowAsFloats(DType codec, const std::byte* tile, int row, int64_t width, float* room);

// scores[q * kTileKeys + k] = query q . keys[k], for k < count <= kTileKeys. Queries lie `stride`
// floats apart.
void RowScores(const float* const* keys, int count, const float* queries, int64_t stride,
               int64_t rows, int64_t width, float* scores);

// out[q][c] = out[q][c] * correction[q] + sum over k < count of weights[q * kTileKeys + k] *
// values[k][c]. `out` rows are `stride` floats apart, a multiple of 16; what follows the width in
// them is overwritten.
void RowValues(const float* const* values, int count, const float* weights, int64_t rows,
               int64_t width, const RowSoftmax* softmax, float* out, int64_t stride);

// out[k] = sum over heads, in order, of weights[h] * max(0, scores[h * kTileKeys + k]), for
// k < count <= kTileKeys.
void WeighScores(const float* scores, const float* weights, int64_t heads, int count, float* out);

}  // namespace cairn

#endif  // CAIRN_KERNELS_ROW_ATTENTION_TILE_H_
