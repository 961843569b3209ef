#include "cairn/kernels/state_rows.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>

#include "cairn/base/check.h"
#include "hwy/base.h"

namespace cairn {
namespace {

struct F32 {
  using Stored = float;
  static Stored Encode(float value) { return value; }
  static float Decode(Stored stored) { return stored; }
};

struct F16 {
  using Stored = uint16_t;
  static constexpr float kLargest = 65504.0f;
  static Stored Encode(float value) {
    const float finite = std::isinf(value) ? value : std::clamp(value, -kLargest, kLargest);
    return hwy::BitCastScalar<uint16_t>(hwy::F16FromF32(finite));
  }
  static float Decode(Stored stored) {
    return hwy::F32FromF16(hwy::BitCastScalar<hwy::float16_t>(stored));
  }
};

// Round to nearest even on the upper half; NaN stays NaN.
struct BF16 {
  using Stored = uint16_t;
  static Stored Encode(float value) {
    const auto bits = std::bit_cast<uint32_t>(value);
    if (std::isnan(value)) return static_cast<uint16_t>((bits >> 16) | 0x40u);
    return static_cast<uint16_t>((bits + 0x7FFFu + ((bits >> 16) & 1u)) >> 16);
  }
  static float Decode(Stored stored) {
    return std::bit_cast<float>(static_cast<uint32_t>(stored) << 16);
  }
};

// Element (head, row, channel) of row-major or transposed tiles.
template <class Codec, bool kTransposed>
int64_t IndexOf(int64_t head, int64_t row, int64_t channel, int64_t width) {
  const int64_t tile = head * width * kTileRows;
  return kTransposed ? tile + channel * kTileRows + row : tile + row * width + channel;
}

// bf16 tiles lie in pairs: two channels of a key, two rows of values side by side.
template <>
int64_t IndexOf<BF16, true>(int64_t head, int64_t row, int64_t channel, int64_t width) {
  const int64_t tile = head * width * kTileRows;
  if (channel == width - 1 && width % 2 != 0) return tile + channel * kTileRows + row;
  return tile + (channel / 2 * kTileRows + row) * 2 + channel % 2;
}
template <>
int64_t IndexOf<BF16, false>(int64_t head, int64_t row, int64_t channel, int64_t width) {
  return head * width * kTileRows + (row / 2 * width + channel) * 2 + row % 2;
}

template <class Codec, bool kTransposed>
void Store(const float* values, int64_t heads, int64_t width, int64_t row, std::byte* tiles) {
  auto* stored = reinterpret_cast<typename Codec::Stored*>(tiles);
  for (int64_t h = 0; h < heads; ++h) {
    for (int64_t c = 0; c < width; ++c) {
      stored[IndexOf<Codec, kTransposed>(h, row, c, width)] = Codec::Encode(values[h * width + c]);
    }
  }
}

template <class Codec, bool kTransposed>
void Load(const std::byte* tiles, int64_t heads, int64_t width, int64_t row, float* values) {
  const auto* stored = reinterpret_cast<const typename Codec::Stored*>(tiles);
  for (int64_t h = 0; h < heads; ++h) {
    for (int64_t c = 0; c < width; ++c) {
      values[h * width + c] = Codec::Decode(stored[IndexOf<Codec, kTransposed>(h, row, c, width)]);
    }
  }
}

// ---- q8_0 and q4_0: blocks of 32 channels with one f16 scale ----

constexpr int64_t kBlock = 32;

struct BlockCodes {
  uint16_t scale = 0;                     // f16
  std::array<int8_t, kBlock> codes = {};  // value = scale * code

  float Scale() const { return F16::Decode(scale); }
};

// As GGUF's quantizers: q8_0 has scale max|x| / 127; q4_0 maps the value of largest magnitude to
// -8.
BlockCodes Quantize(DType codec, const float* x) {
  // Not as a loop that keeps the value of largest magnitude: for AVX2, clang 19 -O3 gets that
  // wrong.
  float lowest = 0;
  float highest = 0;
  for (int64_t i = 0; i < kBlock; ++i) {
    lowest = std::min(lowest, x[i]);
    highest = std::max(highest, x[i]);
  }
  const float extreme = highest >= -lowest ? highest : lowest;
  const bool eight = codec == DType::kQ8_0;
  const float scale = eight ? std::abs(extreme) / 127.0f : extreme / -8.0f;
  const float inverse = scale != 0 ? 1.0f / scale : 0.0f;
  BlockCodes block;
  block.scale = F16::Encode(scale);
  for (size_t i = 0; i < kBlock; ++i) {
    // A NaN or infinity among the values leaves codes of no meaning, but in range.
    const float code = std::nearbyint(x[i] * inverse);
    block.codes[i] = static_cast<int8_t>(
        std::isfinite(code) ? std::clamp(code, eight ? -127.0f : -8.0f, eight ? 127.0f : 7.0f) : 0);
  }
  return block;
}

// Where a block's scale and codes lie: in a value tile one GGUF block after the other, in a key
// tile 16 scales, then the codes of 16 rows side by side.
struct BlockPlace {
  std::byte* scale;
  std::byte* codes;
  int64_t step;  // bytes from one channel's code to the next's

  BlockPlace(DType codec, bool transposed, int64_t width, int64_t block, int64_t row,
             std::byte* tile) {
    const int64_t block_bytes = InfoOf(codec).block_bytes;
    step = transposed ? kTileRows : 1;
    if (transposed) {
      std::byte* start = tile + block * kTileRows * block_bytes;
      scale = start + 2 * row;
      codes = start + 2 * kTileRows + row;
    } else {
      scale = tile + (row * (width / kBlock) + block) * block_bytes;
      codes = scale + 2;
    }
  }
};

void StoreBlock(DType codec, const BlockCodes& block, const BlockPlace& place) {
  std::memcpy(place.scale, &block.scale, 2);
  if (codec == DType::kQ8_0) {
    for (int64_t i = 0; i < kBlock; ++i) {
      place.codes[i * place.step] = static_cast<std::byte>(block.codes[static_cast<size_t>(i)]);
    }
    return;
  }
  for (int64_t i = 0; i < kBlock / 2; ++i) {
    const int low = block.codes[static_cast<size_t>(i)] + 8;
    const int high = block.codes[static_cast<size_t>(i + kBlock / 2)] + 8;
    place.codes[i * place.step] = static_cast<std::byte>(low | (high << 4));
  }
}

BlockCodes LoadBlock(DType codec, const BlockPlace& place) {
  BlockCodes block;
  std::memcpy(&block.scale, place.scale, 2);
  for (int64_t i = 0; i < kBlock; ++i) {
    const int64_t at = codec == DType::kQ8_0 ? i : i % (kBlock / 2);
    const auto byte = std::to_integer<uint8_t>(place.codes[at * place.step]);
    const int nibble = i < kBlock / 2 ? byte & 15 : byte >> 4;
    block.codes[static_cast<size_t>(i)] =
        codec == DType::kQ8_0 ? static_cast<int8_t>(byte) : static_cast<int8_t>(nibble - 8);
  }
  return block;
}

template <bool kTransposed>
void StoreBlocks(DType codec, const float* values, int64_t heads, int64_t width, int64_t row,
                 std::byte* tiles) {
  const int64_t tile_bytes = StateTileBytes(codec, width);
  for (int64_t h = 0; h < heads; ++h) {
    for (int64_t b = 0; b < width / kBlock; ++b) {
      StoreBlock(codec, Quantize(codec, values + h * width + b * kBlock),
                 BlockPlace(codec, kTransposed, width, b, row, tiles + h * tile_bytes));
    }
  }
}

template <bool kTransposed>
void LoadBlocks(DType codec, const std::byte* tiles, int64_t heads, int64_t width, int64_t row,
                float* values) {
  const int64_t tile_bytes = StateTileBytes(codec, width);
  for (int64_t h = 0; h < heads; ++h) {
    for (int64_t b = 0; b < width / kBlock; ++b) {
      // BlockPlace serves reading and writing; nothing is written here.
      auto* tile = const_cast<std::byte*>(tiles + h * tile_bytes);
      const BlockCodes block =
          LoadBlock(codec, BlockPlace(codec, kTransposed, width, b, row, tile));
      for (int64_t i = 0; i < kBlock; ++i) {
        values[h * width + b * kBlock + i] =
            block.Scale() * static_cast<float>(block.codes[static_cast<size_t>(i)]);
      }
    }
  }
}

template <bool kTransposed>
void StoreAny(DType codec, const float* values, int64_t heads, int64_t width, int64_t row,
              std::byte* tiles) {
  switch (codec) {
    case DType::kF32:
      return Store<F32, kTransposed>(values, heads, width, row, tiles);
    case DType::kF16:
      return Store<F16, kTransposed>(values, heads, width, row, tiles);
    case DType::kBF16:
      return Store<BF16, kTransposed>(values, heads, width, row, tiles);
    case DType::kQ8_0:
    case DType::kQ4_0:
      return StoreBlocks<kTransposed>(codec, values, heads, width, row, tiles);
    default:
      CAIRN_CHECK(IsStateCodec(codec));
  }
}

template <bool kTransposed>
void LoadAny(DType codec, const std::byte* tiles, int64_t heads, int64_t width, int64_t row,
             float* values) {
  switch (codec) {
    case DType::kF32:
      return Load<F32, kTransposed>(tiles, heads, width, row, values);
    case DType::kF16:
      return Load<F16, kTransposed>(tiles, heads, width, row, values);
    case DType::kBF16:
      return Load<BF16, kTransposed>(tiles, heads, width, row, values);
    case DType::kQ8_0:
    case DType::kQ4_0:
      return LoadBlocks<kTransposed>(codec, tiles, heads, width, row, values);
    default:
      CAIRN_CHECK(IsStateCodec(codec));
  }
}

template <class Codec>
void StorePlain(const float* values, int64_t count, std::byte* to) {
  using Stored = typename Codec::Stored;
  for (int64_t i = 0; i < count; ++i) {
    const Stored stored = Codec::Encode(values[i]);
    std::memcpy(to + static_cast<size_t>(i) * sizeof(Stored), &stored, sizeof(Stored));
  }
}

}  // namespace

bool IsStateCodec(DType codec) {
  return codec == DType::kF32 || codec == DType::kF16 || codec == DType::kBF16 ||
         codec == DType::kQ8_0 || codec == DType::kQ4_0;
}

int64_t StateTileBytes(DType codec, int64_t width) {
  return kTileRows * BytesOf(codec, ElementCount(width)).value();
}

void StoreRow(DType codec, const float* values, int64_t heads, int64_t width, int64_t row,
              std::byte* tiles) {
  StoreAny<false>(codec, values, heads, width, row, tiles);
}

void StoreRowTransposed(DType codec, const float* values, int64_t heads, int64_t width, int64_t row,
                        std::byte* tiles) {
  StoreAny<true>(codec, values, heads, width, row, tiles);
}

void StoreFloats(DType codec, const float* values, int64_t count, std::byte* to) {
  switch (codec) {
    case DType::kF32:
      return StorePlain<F32>(values, count, to);
    case DType::kF16:
      return StorePlain<F16>(values, count, to);
    case DType::kBF16:
      return StorePlain<BF16>(values, count, to);
    default:
      CAIRN_CHECK(false);
  }
}

void LoadRow(DType codec, const std::byte* tiles, int64_t heads, int64_t width, int64_t row,
             float* values) {
  LoadAny<false>(codec, tiles, heads, width, row, values);
}

void LoadRowTransposed(DType codec, const std::byte* tiles, int64_t heads, int64_t width,
                       int64_t row, float* values) {
  LoadAny<true>(codec, tiles, heads, width, row, values);
}

}  // namespace cairn
