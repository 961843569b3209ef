#include "cairn/kernels/pack_stripe.h"

#include <algorithm>
#include <cstring>

#include "cairn/base/check.h"
#include "cairn/kernels/packed_matrix.h"
#include "cairn/kernels/quantized_block.h"

namespace cairn {
namespace {

// A stripe row of codes of one step: four bytes to a lane.
constexpr int kVectorBytes = 4 * kStripe;

template <class T>
void PackFloats(const StripeSource& source, std::byte* stripe) {
  auto* out = reinterpret_cast<T*>(stripe);
  for (int lane = 0; lane < source.lanes; ++lane) {
    const auto* row = reinterpret_cast<const T*>(source.rows + lane * source.row_bytes);
    for (int64_t k = 0; k < source.columns; ++k) {
      std::memcpy(&out[k * kStripe + lane], &row[k], sizeof(T));
    }
  }
}

// Spreads `words` four-byte pieces over consecutive vectors, each to this lane's place.
void StoreWords(const uint8_t* words, int count, int lane, uint8_t* plane) {
  for (int i = 0; i < count; ++i) {
    std::memcpy(plane + i * kVectorBytes + 4 * lane, words + 4 * i, 4);
  }
}

uint8_t* StoreNibbles(const uint8_t* codes, int lane, uint8_t* plane) {
  uint8_t packed[16];
  for (int i = 0; i < 16; ++i) {
    packed[i] = static_cast<uint8_t>((codes[i] & 15) | codes[i + 16] << 4);
  }
  StoreWords(packed, 4, lane, plane);
  return plane + 4 * kVectorBytes;
}

// Bits `shift` and shift + 1 of the codes.
uint8_t* StorePairs(const uint8_t* codes, int shift, int lane, uint8_t* plane) {
  uint8_t packed[8] = {};
  for (int j = 0; j < 4; ++j) {
    for (int i = 0; i < 8; ++i) {
      packed[i] = static_cast<uint8_t>(packed[i] | ((codes[8 * j + i] >> shift) & 3) << (2 * j));
    }
  }
  StoreWords(packed, 2, lane, plane);
  return plane + 2 * kVectorBytes;
}

void StoreBits(const uint8_t* codes, int shift, int lane, uint8_t* plane) {
  uint8_t packed[4] = {};
  for (int j = 0; j < 8; ++j) {
    for (int i = 0; i < 4; ++i) {
      packed[i] = static_cast<uint8_t>(packed[i] | ((codes[4 * j + i] >> shift) & 1) << j);
    }
  }
  StoreWords(packed, 1, lane, plane);
}

void StoreCodes(int code_bits, const uint8_t* codes, int lane, uint8_t* plane) {
  switch (code_bits) {
    case 6:
      StorePairs(codes, 4, lane, StoreNibbles(codes, lane, plane));
      return;
    case 5:
      return StoreBits(codes, 4, lane, StoreNibbles(codes, lane, plane));
    case 4:
      StoreNibbles(codes, lane, plane);
      return;
    case 3:
      return StoreBits(codes, 2, lane, StorePairs(codes, 0, lane, plane));
    case 2:
      StorePairs(codes, 0, lane, plane);
      return;
    default:
      CAIRN_CHECK(false);
  }
}

void StoreHalf(uint16_t half, int lane, uint8_t* vector) {
  std::memcpy(vector + 2 * lane, &half, sizeof(half));
}

void StoreScales(const BlockScheme& scheme, const QuantizedBlock& block, int lane, uint8_t* out) {
  StoreHalf(block.scale, lane, out);
  out += 2 * kStripe;
  if (scheme.has_minimum) {
    StoreHalf(block.minimum, lane, out);
    out += 2 * kStripe;
  }
  if (!scheme.has_groups) return;
  for (int g = 0; g < scheme.elements / scheme.group; ++g) {
    out[lane] = static_cast<uint8_t>(block.group_scales[g]);
    out += kStripe;
    if (scheme.has_minimum) {
      out[lane] = static_cast<uint8_t>(block.group_minimums[g]);
      out += kStripe;
    }
  }
}

// Byte b of the result gets bit 4 * j + b of `bits` as its bit j.
uint32_t GatherBits(uint32_t bits) {
  uint32_t bytes = 0;
  for (int b = 0; b < 4; ++b) {
    uint32_t byte = (bits >> b) & 0x11111111;
    byte = (byte | byte >> 3) & 0x03030303;
    byte = (byte | byte >> 6) & 0x000F000F;
    byte = (byte | byte >> 12) & 0xFF;
    bytes |= byte << (8 * b);
  }
  return bytes;
}

// A block of 32 elements is kept nearly as a stripe keeps it: its words only have to be spread.
void PackSmallBlock(DType dtype, const uint8_t* in, int lane, uint8_t* codes, uint8_t* scales) {
  const SmallBlockLayout layout = *SmallBlockLayoutOf(dtype);
  if (dtype == DType::kQ8_0) {
    for (int i = 0; i < 8; ++i) {
      uint32_t word;
      std::memcpy(&word, in + layout.codes + 4 * i, 4);
      word ^= 0x80808080;
      std::memcpy(codes + i * kVectorBytes + 4 * lane, &word, 4);
    }
  } else {
    StoreWords(in + layout.codes, 4, lane, codes);
  }
  if (layout.fifth_bits >= 0) {
    uint32_t bits;
    std::memcpy(&bits, in + layout.fifth_bits, 4);
    bits = GatherBits(bits);
    std::memcpy(codes + 4 * kVectorBytes + 4 * lane, &bits, 4);
  }
  std::memcpy(scales + 2 * lane, in, 2);
  if (layout.minimum >= 0) {
    std::memcpy(scales + 2 * kStripe + 2 * lane, in + layout.minimum, 2);
  }
}

void PackBlock(DType dtype, const BlockScheme& scheme, const std::byte* in, int lane,
               uint8_t* codes, uint8_t* scales) {
  QuantizedBlock block;
  UnpackBlock(dtype, in, block);
  for (int i = 0; i < scheme.elements / kCodeColumns; ++i) {
    StoreCodes(scheme.code_bits, block.codes.data() + i * kCodeColumns, lane,
               codes + i * CodeBytes(scheme));
  }
  StoreScales(scheme, block, lane, scales);
}

// Columns [first, first + columns) of all rows.
void PackChunk(DType dtype, const StripeSource& source, int64_t first, int64_t columns,
               uint8_t* chunk) {
  const BlockScheme scheme = *BlockSchemeOf(dtype);
  const bool small = SmallBlockLayoutOf(dtype).has_value();
  const int64_t block_bytes = InfoOf(dtype).block_bytes;
  const int64_t blocks = columns / scheme.elements;
  const int64_t block_codes = scheme.elements / kCodeColumns * CodeBytes(scheme);
  const std::byte* rows = source.rows + first / scheme.elements * block_bytes;
  uint8_t* scales = chunk + blocks * block_codes;
  for (int64_t b = 0; b < blocks; ++b) {
    for (int lane = 0; lane < source.lanes; ++lane) {
      const std::byte* in = rows + lane * source.row_bytes + b * block_bytes;
      if (small) {
        PackSmallBlock(dtype, reinterpret_cast<const uint8_t*>(in), lane, chunk, scales);
      } else {
        PackBlock(dtype, scheme, in, lane, chunk, scales);
      }
    }
    chunk += block_codes;
    scales += ScaleBytes(scheme);
  }
}

void PackBlocks(DType dtype, const StripeSource& source, std::byte* stripe) {
  const BlockScheme scheme = *BlockSchemeOf(dtype);
  auto* out = reinterpret_cast<uint8_t*>(stripe);
  for (int64_t first = 0; first < source.columns; first += kChunkColumns) {
    const int64_t columns = std::min<int64_t>(kChunkColumns, source.columns - first);
    PackChunk(dtype, source, first, columns, out + StripeBytes(scheme, first));
  }
}

}  // namespace

void PackStripe(DType dtype, const StripeSource& source, std::byte* stripe, int64_t stripe_bytes) {
  if (source.lanes < kStripe) std::memset(stripe, 0, static_cast<size_t>(stripe_bytes));
  switch (dtype) {
    case DType::kF32:
      return PackFloats<float>(source, stripe);
    case DType::kF16:
    case DType::kBF16:
      return PackFloats<uint16_t>(source, stripe);
    default:
      return PackBlocks(dtype, source, stripe);
  }
}

}  // namespace cairn
