// Blocks of 32 channels of a stored row, in GGUF's small formats: q8_0 q4_0 q4_1 q5_0 q5_1 iq4_nl.
//
// Codes and scales equal ggml's, bit by bit: its reference quantizers are followed step by step. In
// a value tile a row is one GGUF block after the other. In a key tile each block of 32 channels is
// a run of its own whose parts are those of the GGUF block, 16 times as long: [row] scales, [row]
// minimums, [row][4] fifth bits, then codes in quads of four channels, [quad][row][4]. A byte of
// nibbles holds channel c low and c + 16 high; q8_0 codes are code + 128 there, for products of
// unsigned by signed bytes; fifth bits of channel c are bit c / 4 of byte c % 4, so that one shift
// brings a quad's into place. Every byte belongs to one row: rows may be written at the same time.
// Thread-safe.
#ifndef CAIRN_KERNELS_STATE_BLOCK_H_
#define CAIRN_KERNELS_STATE_BLOCK_H_

#include <cstddef>
#include <cstdint>

#include "cairn/base/dtype.h"
#include "cairn/kernels/quantized_block.h"

namespace cairn {

inline constexpr int kStateBlock = 32;

// True for the formats named above.
bool IsBlockCodec(DType codec);

// REQUIRES below: IsBlockCodec(codec).
//
// kStateBlock floats to codes. A NaN or infinity among them leaves numbers of no meaning.
void QuantizeBlock(DType codec, const float* x, QuantizedBlock& block);
void DequantizeBlock(DType codec, const QuantizedBlock& block, float* x);

// One block of a row of values.
void StoreValueBlock(DType codec, const QuantizedBlock& block, std::byte* to);

// Row `row` of one block of a key tile, which is kTileRows GGUF blocks long.
void StoreKeyBlock(DType codec, const QuantizedBlock& block, int64_t row, std::byte* to);
void LoadKeyBlock(DType codec, const std::byte* from, int64_t row, QuantizedBlock& block);

}  // namespace cairn

#endif  // CAIRN_KERNELS_STATE_BLOCK_H_
