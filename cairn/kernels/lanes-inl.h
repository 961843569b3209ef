// Sixteen float lanes, whatever the machine's vectors hold: what makes a sum the same everywhere.
//
// A group of 16 values is kParts vectors of kWidth lanes. Element-wise work is the same for any
// split; the one sum across lanes, SumLanes, folds halves in a fixed tree. Include inside
// HWY_NAMESPACE files only, after hwy/highway.h.
#if defined(CAIRN_KERNELS_LANES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef CAIRN_KERNELS_LANES_INL_H_
#undef CAIRN_KERNELS_LANES_INL_H_
#else
#define CAIRN_KERNELS_LANES_INL_H_
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "hwy/cache_control.h"
#include "hwy/contrib/math/math-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace cairn::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

inline constexpr int kLanes = 16;
using FloatTag = hn::CappedTag<float, kLanes>;
using FloatVector = hn::Vec<FloatTag>;
inline constexpr int kWidth = static_cast<int>(hn::MaxLanes(FloatTag()));
inline constexpr int kParts = kLanes / kWidth;
static_assert(kWidth * kParts == kLanes);

// Lane i is added to lane i + 8, then i + 4, i + 2, i + 1.
HWY_INLINE float SumLanes(const float* HWY_RESTRICT lanes) {
  const hn::FixedTag<float, 4> d4;
  const auto low = hn::Add(hn::LoadU(d4, lanes), hn::LoadU(d4, lanes + 8));
  const auto high = hn::Add(hn::LoadU(d4, lanes + 4), hn::LoadU(d4, lanes + 12));
  const auto four = hn::Add(low, high);
  const auto two = hn::Add(four, hn::Shuffle1032(four));
  const auto one = hn::Add(two, hn::Shuffle2301(two));
  return hn::GetLane(one);
}

HWY_INLINE float MaxLanes16(const float* HWY_RESTRICT lanes) {
  const hn::FixedTag<float, 4> d4;
  const auto low = hn::Max(hn::LoadU(d4, lanes), hn::LoadU(d4, lanes + 8));
  const auto high = hn::Max(hn::LoadU(d4, lanes + 4), hn::LoadU(d4, lanes + 12));
  const auto four = hn::Max(low, high);
  const auto two = hn::Max(four, hn::Shuffle1032(four));
  return hn::GetLane(hn::Max(two, hn::Shuffle2301(two)));
}

// kWidth stored elements as floats.
HWY_INLINE FloatVector LoadAsFloat(FloatTag d, const float* from) { return hn::LoadU(d, from); }
HWY_INLINE FloatVector LoadAsFloat(FloatTag d, const hwy::float16_t* from) {
  return hn::PromoteTo(d, hn::LoadU(hn::Rebind<hwy::float16_t, FloatTag>(), from));
}
HWY_INLINE FloatVector LoadAsFloat(FloatTag d, const hwy::bfloat16_t* from) {
  return hn::PromoteTo(d, hn::LoadU(hn::Rebind<hwy::bfloat16_t, FloatTag>(), from));
}

// Starts to fetch the cache line at `tile` + offset; nothing for a null tile.
HWY_INLINE void FetchLine(const std::byte* tile, int64_t offset) {
  if (tile != nullptr) hwy::Prefetch(tile + offset);
}

// Fetches the lines of up to four tiles into the cache one after the other, as a loop over other
// data goes on. In that order, for memory serves a stream faster than several at once.
class LineStream {
 public:
  static constexpr int64_t kLineBytes = 64;

  // Ends before the first null tile.
  LineStream(const std::byte* const* tiles, int count, int64_t tile_bytes)
      : tile_(tiles), end_(std::find(tiles, tiles + count, nullptr)), bytes_(tile_bytes) {}

  HWY_INLINE void Fetch() {
    if (tile_ == end_) return;
    hwy::Prefetch(*tile_ + offset_);
    offset_ += kLineBytes;
    if (offset_ < bytes_) return;
    offset_ = 0;
    ++tile_;
  }

 private:
  const std::byte* const* tile_;
  const std::byte* const* end_;
  int64_t bytes_;
  int64_t offset_ = 0;
};

// In place of a LineStream where the lines have been fetched already.
struct NoLines {
  NoLines(const std::byte* const* /*tiles*/, int /*count*/, int64_t /*tile_bytes*/) {}
  HWY_INLINE void Fetch() {}
};

// Calls body.operator()<count, Lines>(first) for batches of up to four of `rows` rows; Lines is
// NoLines where an earlier batch has fetched what comes next.
template <class Body>
HWY_INLINE void ForRowBatches(int64_t rows, const Body& body) {
  constexpr int kMost = 4;
  int64_t r = 0;
  if (rows >= kMost) body.template operator()<kMost, LineStream>(0);
  for (r = kMost; r + kMost <= rows; r += kMost) body.template operator()<kMost, NoLines>(r);
  if (rows < kMost) r = 0;
  switch (rows - r) {
    case 3:
      return body.template operator()<3, LineStream>(r);
    case 2:
      return body.template operator()<2, LineStream>(r);
    case 1:
      return body.template operator()<1, LineStream>(r);
    default:
      return;
  }
}

// exp(x) for any x up to +inf: large arguments are clamped to where the result is still finite.
HWY_INLINE FloatVector SafeExp(FloatTag d, FloatVector x) {
  return hn::Exp(d, hn::Min(x, hn::Set(d, 88.0f)));
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace cairn::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // CAIRN_KERNELS_LANES_INL_H_
