#include "cairn/kernels/state_rows.h"

#include <algorithm>
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
template <bool kTransposed>
int64_t IndexOf(int64_t head, int64_t row, int64_t channel, int64_t width) {
  const int64_t tile = head * width * kTileRows;
  return kTransposed ? tile + channel * kTileRows + row : tile + row * width + channel;
}

template <class Codec, bool kTransposed>
void Store(const float* values, int64_t heads, int64_t width, int64_t row, std::byte* tiles) {
  auto* stored = reinterpret_cast<typename Codec::Stored*>(tiles);
  for (int64_t h = 0; h < heads; ++h) {
    for (int64_t c = 0; c < width; ++c) {
      stored[IndexOf<kTransposed>(h, row, c, width)] = Codec::Encode(values[h * width + c]);
    }
  }
}

template <class Codec, bool kTransposed>
void Load(const std::byte* tiles, int64_t heads, int64_t width, int64_t row, float* values) {
  const auto* stored = reinterpret_cast<const typename Codec::Stored*>(tiles);
  for (int64_t h = 0; h < heads; ++h) {
    for (int64_t c = 0; c < width; ++c) {
      values[h * width + c] = Codec::Decode(stored[IndexOf<kTransposed>(h, row, c, width)]);
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
    default:
      CAIRN_CHECK(IsStateCodec(codec));
  }
}

}  // namespace

bool IsStateCodec(DType codec) {
  return codec == DType::kF32 || codec == DType::kF16 || codec == DType::kBF16;
}

void StoreRow(DType codec, const float* values, int64_t heads, int64_t width, int64_t row,
              std::byte* tiles) {
  StoreAny<false>(codec, values, heads, width, row, tiles);
}

void StoreRowTransposed(DType codec, const float* values, int64_t heads, int64_t width, int64_t row,
                        std::byte* tiles) {
  StoreAny<true>(codec, values, heads, width, row, tiles);
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
