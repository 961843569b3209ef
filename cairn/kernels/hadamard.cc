#include "cairn/kernels/hadamard.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "cairn/base/check.h"
#include "cairn/kernels/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cairn/kernels/hadamard.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
// After foreach_target.h.
#include "cairn/kernels/lanes-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace cairn::HWY_NAMESPACE {
namespace {

constexpr FloatTag d;
constexpr hn::RebindToSigned<FloatTag> di;

// Butterflies of lanes that lie `stride` apart in one vector.
struct LaneStage {
  hn::Vec<decltype(di)> partner;  // of each lane
  FloatVector sign;               // -1 for the lanes that subtract

  static HWY_INLINE LaneStage Of(int stride) {
    HWY_ALIGN int32_t partners[kWidth];
    HWY_ALIGN float signs[kWidth];
    for (int lane = 0; lane < kWidth; ++lane) {
      partners[lane] = lane ^ stride;
      signs[lane] = (lane & stride) != 0 ? -1.0f : 1.0f;
    }
    return {hn::Load(di, partners), hn::Load(d, signs)};
  }

  HWY_INLINE FloatVector Apply(FloatVector x) const {
    return hn::Add(hn::TableLookupLanes(x, hn::IndicesFromVec(d, partner)), hn::Mul(x, sign));
  }
};

void WithinVectors(float* block, int64_t size, float scale) {
  for (int stride = kWidth / 2; stride >= 1; stride /= 2) {
    const LaneStage stage = LaneStage::Of(stride);
    for (int64_t i = 0; i < size; i += kWidth) {
      hn::StoreU(stage.Apply(hn::LoadU(d, block + i)), d, block + i);
    }
  }
  const FloatVector factor = hn::Set(d, scale);
  for (int64_t i = 0; i < size; i += kWidth) {
    hn::StoreU(hn::Mul(hn::LoadU(d, block + i), factor), d, block + i);
  }
}

// REQUIRES: kWidth divides size.
void RotateBlock(float* block, int64_t size, float scale) {
  for (int64_t stride = size / 2; stride >= kWidth; stride /= 2) {
    for (int64_t start = 0; start < size; start += 2 * stride) {
      for (int64_t i = start; i < start + stride; i += kWidth) {
        const FloatVector low = hn::LoadU(d, block + i);
        const FloatVector high = hn::LoadU(d, block + i + stride);
        hn::StoreU(hn::Add(low, high), d, block + i);
        hn::StoreU(hn::Sub(low, high), d, block + i + stride);
      }
    }
  }
  WithinVectors(block, size, scale);
}

void RotateBlocks(float* blocks, int64_t count, int64_t size, float scale) {
  for (int64_t b = 0; b < count; ++b) RotateBlock(blocks + b * size, size, scale);
}

}  // namespace
// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace cairn::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cairn {
namespace {

constexpr int64_t kMaxBlock = 256;
constexpr int64_t kSmallestOfVectors = 16;

float ScaleOf(int64_t size) { return static_cast<float>(1 / std::sqrt(static_cast<double>(size))); }

// Strides from the largest down, as the vectors have it.
void RotateScalar(float* block, int64_t size, float scale) {
  for (int64_t stride = size / 2; stride >= 1; stride /= 2) {
    for (int64_t i = 0; i < size; ++i) {
      if ((i & stride) != 0) continue;
      const float low = block[i];
      const float high = block[i + stride];
      block[i] = low + high;
      block[i + stride] = low - high;
    }
  }
  for (int64_t i = 0; i < size; ++i) block[i] *= scale;
}

}  // namespace

HWY_EXPORT(RotateBlocks);

int64_t HadamardBlock(int64_t width) {
  CAIRN_CHECK(width > 0);
  return std::min(kMaxBlock, int64_t{1} << std::countr_zero(static_cast<uint64_t>(width)));
}

void RotateHeads(float* heads, int64_t count, int64_t width) {
  const int64_t size = HadamardBlock(width);
  const int64_t blocks = count * width / size;
  if (size >= kSmallestOfVectors) {
    HWY_DYNAMIC_DISPATCH(RotateBlocks)(heads, blocks, size, ScaleOf(size));
    return;
  }
  for (int64_t b = 0; b < blocks; ++b) RotateScalar(heads + b * size, size, ScaleOf(size));
}

void RotateHeadsReference(float* heads, int64_t count, int64_t width) {
  const int64_t size = HadamardBlock(width);
  for (float* block = heads; block < heads + count * width; block += size) {
    std::array<double, kMaxBlock> sums = {};
    for (int64_t i = 0; i < size; ++i) {
      for (int64_t j = 0; j < size; ++j) {
        const bool odd = std::popcount(static_cast<uint64_t>(i & j)) % 2 != 0;
        sums[static_cast<size_t>(i)] += odd ? -double{block[j]} : double{block[j]};
      }
    }
    for (int64_t i = 0; i < size; ++i) {
      block[i] =
          static_cast<float>(sums[static_cast<size_t>(i)] / std::sqrt(static_cast<double>(size)));
    }
  }
}

}  // namespace cairn
#endif  // HWY_ONCE
