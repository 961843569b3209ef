#include "cairn/kernels/state_rows.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <type_traits>

#include "cairn/base/check.h"
#include "cairn/kernels/lloyd_max_rows.h"
#include "cairn/kernels/quantized_block.h"
#include "cairn/kernels/state_block.h"

namespace cairn {
namespace {

struct F32 {
  using Stored = float;
  static Stored Encode(float value) { return value; }
  static float Decode(Stored stored) { return stored; }
};

struct F16 {
  using Stored = uint16_t;
  static Stored Encode(float value) { return HalfFromFloat(value); }
  static float Decode(Stored stored) { return HalfToFloat(stored); }
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

// OCP's E4M3: largest 448, no infinity, 0x7F is NaN. To the nearest, ties to even; saturates.
struct F8E4M3 {
  using Stored = uint8_t;
  static constexpr uint32_t kLargest = 0x7E;
  static constexpr uint32_t kNan = 0x7F;
  static constexpr uint32_t kBias = (127 - 7)
                                    << 3;  // of the exponent, above three bits of fraction
  static constexpr float kSmallestNormal = 0x1p-6f;
  static constexpr float kSubnormalRounder = 0x1p14f;  // its last bit is worth 2^-9, as theirs

  static Stored Encode(float value) {
    const auto bits = std::bit_cast<uint32_t>(value);
    const uint32_t sign = (bits >> 24) & 0x80u;
    const uint32_t magnitude = bits & 0x7FFFFFFFu;
    if (std::isnan(value)) return static_cast<Stored>(sign | kNan);
    const float absolute = std::bit_cast<float>(magnitude);
    if (absolute < kSmallestNormal) {
      return static_cast<Stored>(sign | std::bit_cast<uint32_t>(absolute + kSubnormalRounder) % 16);
    }
    const uint32_t rounded = (magnitude + 0x7FFFFu + ((magnitude >> 20) & 1u)) >> 20;
    return static_cast<Stored>(sign | std::min(rounded - kBias, kLargest));
  }
  static float Decode(Stored stored) {
    const uint32_t sign = (stored & 0x80u) << 24;
    const uint32_t code = stored & 0x7Fu;
    if (code == kNan) return std::bit_cast<float>(sign | 0x7FC00000u);
    if (code < 8)
      return std::copysign(static_cast<float>(code) * 0x1p-9f, std::bit_cast<float>(sign));
    return std::bit_cast<float>(sign | ((code + kBias) << 20));
  }
};

// bf16 and fp8 tiles lie in pairs: two channels of a key, two rows of values side by side.
template <class Codec>
constexpr bool kInPairs = std::is_same_v<Codec, BF16> || std::is_same_v<Codec, F8E4M3>;

// Element (head, row, channel) of row-major or transposed tiles.
template <class Codec, bool kTransposed>
int64_t IndexOf(int64_t head, int64_t row, int64_t channel, int64_t width) {
  const int64_t tile = head * width * kTileRows;
  if (kTransposed) {
    const bool alone = channel == width - 1 && width % 2 != 0;
    if (!kInPairs<Codec> || alone) return tile + channel * kTileRows + row;
    return tile + (channel / 2 * kTileRows + row) * 2 + channel % 2;
  }
  return kInPairs<Codec> ? tile + (row / 2 * width + channel) * 2 + row % 2
                         : tile + row * width + channel;
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

// ---- blocks of 32 channels ----

template <bool kTransposed>
void StoreBlocks(DType codec, const float* values, int64_t heads, int64_t width, int64_t row,
                 std::byte* tiles) {
  const int64_t bytes = InfoOf(codec).block_bytes;
  const int64_t blocks = width / kStateBlock;
  QuantizedBlock block;
  for (int64_t h = 0; h < heads; ++h) {
    std::byte* tile = tiles + h * StateTileBytes(codec, width);
    for (int64_t b = 0; b < blocks; ++b) {
      QuantizeBlock(codec, values + h * width + b * kStateBlock, block);
      if (kTransposed) {
        StoreKeyBlock(codec, block, row, tile + b * kTileRows * bytes);
      } else {
        StoreValueBlock(codec, block, tile + (row * blocks + b) * bytes);
      }
    }
  }
}

template <bool kTransposed>
void LoadBlocks(DType codec, const std::byte* tiles, int64_t heads, int64_t width, int64_t row,
                float* values) {
  const int64_t bytes = InfoOf(codec).block_bytes;
  const int64_t blocks = width / kStateBlock;
  QuantizedBlock block;
  for (int64_t h = 0; h < heads; ++h) {
    const std::byte* tile = tiles + h * StateTileBytes(codec, width);
    for (int64_t b = 0; b < blocks; ++b) {
      if (kTransposed) {
        LoadKeyBlock(codec, tile + b * kTileRows * bytes, row, block);
      } else {
        UnpackBlock(codec, tile + (row * blocks + b) * bytes, block);
      }
      DequantizeBlock(codec, block, values + h * width + b * kStateBlock);
    }
  }
}

// ---- Lloyd-Max codes ----

template <bool kTransposed, class Byte>
LloydMaxRow<Byte> LloydMaxRowOf(DType codec, int64_t width, int64_t row, Byte* tile) {
  return kTransposed ? LloydMaxKeyRow(row, tile) : LloydMaxValueRow(codec, width, row, tile);
}

template <bool kTransposed>
void StoreLloydMax(DType codec, const float* values, int64_t heads, int64_t width, int64_t row,
                   std::byte* tiles) {
  const int64_t tile_bytes = StateTileBytes(codec, width);
  for (int64_t h = 0; h < heads; ++h) {
    StoreLloydMaxRow(codec, values + h * width, width,
                     LloydMaxRowOf<kTransposed>(codec, width, row, tiles + h * tile_bytes));
  }
}

template <bool kTransposed>
void LoadLloydMax(DType codec, const std::byte* tiles, int64_t heads, int64_t width, int64_t row,
                  float* values) {
  const int64_t tile_bytes = StateTileBytes(codec, width);
  for (int64_t h = 0; h < heads; ++h) {
    LoadLloydMaxRow(codec, LloydMaxRowOf<kTransposed>(codec, width, row, tiles + h * tile_bytes),
                    width, values + h * width);
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
    case DType::kF8E4M3:
      return Store<F8E4M3, kTransposed>(values, heads, width, row, tiles);
    default:
      if (IsLloydMax(codec)) {
        return StoreLloydMax<kTransposed>(codec, values, heads, width, row, tiles);
      }
      CAIRN_CHECK(IsBlockCodec(codec));
      StoreBlocks<kTransposed>(codec, values, heads, width, row, tiles);
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
    case DType::kF8E4M3:
      return Load<F8E4M3, kTransposed>(tiles, heads, width, row, values);
    default:
      if (IsLloydMax(codec)) {
        return LoadLloydMax<kTransposed>(codec, tiles, heads, width, row, values);
      }
      CAIRN_CHECK(IsBlockCodec(codec));
      LoadBlocks<kTransposed>(codec, tiles, heads, width, row, values);
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

std::span<const DType> AllStateCodecs() {
  static constexpr std::array kCodecs = {DType::kF32,  DType::kF16,  DType::kBF16,   DType::kF8E4M3,
                                         DType::kQ8_0, DType::kQ5_1, DType::kQ5_0,   DType::kLM5,
                                         DType::kQ4_1, DType::kQ4_0, DType::kIQ4_NL, DType::kLM4,
                                         DType::kLM3,  DType::kLM2};
  return kCodecs;
}

bool IsStateCodec(DType codec) {
  return std::ranges::find(AllStateCodecs(), codec) != AllStateCodecs().end();
}

std::string StateCodecNames() {
  std::string names;
  for (const DType codec : AllStateCodecs()) {
    if (!names.empty()) names += codec == AllStateCodecs().back() ? " or " : ", ";
    names += InfoOf(codec).name;
  }
  return names;
}

int64_t StateTileBytes(DType codec, int64_t width) {
  return kTileRows * RowBytesOf(codec, width).value();
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
