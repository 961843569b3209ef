// Scores over keys in Lloyd-Max codes (lloyd_max.h); what QuantizedTileScores calls for them.
//
// The arithmetic is attention_quantized.h's: exact sums of level x code for 32 channels, scaled and
// added block by block, and one multiplication with the key's scale at the end. Thread-safe.
#ifndef CAIRN_KERNELS_ATTENTION_LLOYD_MAX_H_
#define CAIRN_KERNELS_ATTENTION_LLOYD_MAX_H_

#include <cstdint>

#include "cairn/kernels/attention_quantized.h"

namespace cairn {

// REQUIRES: IsLloydMax(codec), width a multiple of 32.
void LloydMaxTileScores(DType codec, const TilePointers& keys, const QuantizedQueries& queries,
                        int64_t rows, int64_t width, float* scores);

}  // namespace cairn

#endif  // CAIRN_KERNELS_ATTENTION_LLOYD_MAX_H_
