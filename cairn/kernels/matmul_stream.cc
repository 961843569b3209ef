#include <cstddef>
#include <cstdint>

#include "cairn/base/check.h"
#include "cairn/kernels/matmul_stripes.h"
#include "cairn/kernels/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cairn/kernels/matmul_stream.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
// After foreach_target.h.
#include "cairn/kernels/matmul_tile-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace cairn::HWY_NAMESPACE {
namespace {

// The packed form is read from memory, so a branch for the number of planes costs nothing.
constexpr int kAnyPlanes = 0;

template <class Source>
void TileOfStripe(const IntegerProduct& product, const Source& source, int64_t stripe,
                  int64_t tile) {
  switch (product.x.tiles().At(tile).width) {
    case 1:
      return TileProduct<kAnyPlanes, 1>(product, source, stripe, tile);
    case 2:
      return TileProduct<kAnyPlanes, 2>(product, source, stripe, tile);
    case 4:
      return TileProduct<kAnyPlanes, 4>(product, source, stripe, tile);
    case 8:
      return TileProduct<kAnyPlanes, 8>(product, source, stripe, tile);
    default:
      CAIRN_CHECK(false);
  }
}

template <DType kDType>
void Stripes(const IntegerProduct& product, StripeRange range) {
  for (int64_t stripe = range.first; stripe < range.end; ++stripe) {
    const PackedSource<kDType> source(product.matrix.Stripe(stripe), product.matrix.columns());
    for (int64_t tile = 0; tile < product.x.tiles().count(); ++tile) {
      TileOfStripe(product, source, stripe, tile);
    }
  }
}

struct Stream {
  const IntegerProduct& product;
  StripeRange range;

  template <DType kDType>
  void Run() const {
    Stripes<kDType>(product, range);
  }
};

void StreamStripesOf(const IntegerProduct& product, StripeRange range) {
  ForBlockFormat(product.matrix.dtype(), Stream{product, range});
}

}  // namespace
// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace cairn::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cairn {
namespace {

HWY_EXPORT(StreamStripesOf);

}  // namespace

void StreamStripes(const IntegerProduct& product, StripeRange range) {
  HWY_DYNAMIC_DISPATCH(StreamStripesOf)(product, range);
}

}  // namespace cairn
#endif  // HWY_ONCE
