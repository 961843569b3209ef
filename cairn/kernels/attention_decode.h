// Tiles of small codecs as bf16 tiles, which attention_bf16.h then reads.
//
// Values in a block codec or in Lloyd-Max codes, and keys and values in fp8, are decoded tile by
// tile into memory of the thread, once for all query rows that read the tile: scale x code (+
// minimum), or scale x level, rounded once to bf16, ties to even. fp8 numbers are bf16 numbers.
// Thread-safe.
#ifndef CAIRN_KERNELS_ATTENTION_DECODE_H_
#define CAIRN_KERNELS_ATTENTION_DECODE_H_

#include <cstddef>
#include <cstdint>

#include "cairn/kernels/attention_tile.h"

namespace cairn {

// The form in which rows of this codec are multiplied as bf16, though stored in another.
inline bool IsDecodedAsBf16(DType values) {
  return values != DType::kF32 && values != DType::kF16 && values != DType::kBF16;
}

// Bytes of one decoded tile.
inline int64_t DecodedTileBytes(int64_t width) { return kTileKeys * width * 2; }

// Decodes at least the keys [first, end) of the tile into `to`, DecodedTileBytes(width) bytes, and
// returns where they lie. While it reads the tile it fetches the next one.
// REQUIRES: a codec with IsDecodedAsBf16.
TilePointers DecodeValues(DType codec, const TilePointers& values, int first, int end,
                          int64_t width, std::byte* to);

// All set groups of a tile of fp8 keys.
TilePointers DecodeKeys(const TilePointers& keys, int64_t width, std::byte* to);

}  // namespace cairn

#endif  // CAIRN_KERNELS_ATTENTION_DECODE_H_
