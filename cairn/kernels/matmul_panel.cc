#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "cairn/base/check.h"
#include "cairn/kernels/matmul_stripes.h"
#include "cairn/kernels/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cairn/kernels/matmul_panel.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
// After foreach_target.h.
#include "cairn/kernels/matmul_tile-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace cairn::HWY_NAMESPACE {
namespace {

template <class Source>
void FillPanel(const Source& source, int64_t groups, std::byte* to) {
  PanelSource<typename Source::Shape> panel(to);
  GroupWeights<typename Source::Shape> weights;
  for (int part = 0; part < kParts; ++part) {
    for (int64_t g = 0; g < groups; ++g) {
      source.Load(g, part, weights);
      panel.Store(g, part, weights);
    }
  }
}

// Reads the stripes after `range` ahead while the products of `range` keep the cores busy.
void PrefetchShare(const PackedMatrix& matrix, StripeRange range, int64_t share, int64_t shares) {
  const int64_t count = std::min(kPanelStripes, matrix.stripes() - range.end);
  const int64_t bytes = count * matrix.stripe_bytes();
  const std::byte* first = matrix.Stripe(range.end) + bytes * share / shares;
  const std::byte* end = matrix.Stripe(range.end) + bytes * (share + 1) / shares;
  for (; first < end; first += kStripeAlignment) hwy::Prefetch(first);
}

template <int kPlanes, class Shape>
void Products(const IntegerProduct& product, StripeRange range, std::byte* panels) {
  const int64_t panel_bytes = PanelBytes(product.matrix);
  const int64_t tiles = product.x.tiles().count();
  for (int64_t tile = 0; tile < tiles; ++tile) {
    PrefetchShare(product.matrix, range, tile, tiles);
    for (int64_t stripe = range.first; stripe < range.end; ++stripe) {
      const PanelSource<Shape> source(panels + (stripe - range.first) * panel_bytes);
      if (product.x.tiles().At(tile).width == 16) {
        TileProduct<kPlanes, 16>(product, source, stripe, tile);
      } else {
        TileProduct<kPlanes, 8>(product, source, stripe, tile);
      }
    }
  }
}

struct Panels {
  const IntegerProduct& product;
  StripeRange range;
  std::byte* panels;

  template <DType kDType>
  void Run() const {
    using Source = PackedSource<kDType>;
    const PackedMatrix& matrix = product.matrix;
    for (int64_t first = range.first; first < range.end; first += kPanelStripes) {
      const StripeRange some = {first, std::min(first + kPanelStripes, range.end)};
      for (int64_t stripe = some.first; stripe < some.end; ++stripe) {
        FillPanel(Source(matrix.Stripe(stripe), matrix.columns()), matrix.columns() / kQuantGroup,
                  panels + (stripe - first) * PanelBytes(matrix));
      }
      if (product.x.planes() == 1) {
        Products<1, typename Source::Shape>(product, some, panels);
      } else {
        Products<2, typename Source::Shape>(product, some, panels);
      }
    }
  }
};

void PanelStripesOf(const IntegerProduct& product, StripeRange range, std::byte* panels) {
  ForBlockFormat(product.matrix.dtype(), Panels{product, range, panels});
}

}  // namespace
// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace cairn::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cairn {
namespace {

HWY_EXPORT(PanelStripesOf);

}  // namespace

int64_t PanelBytes(const PackedMatrix& matrix) {
  // Codes of 32 columns, and up to two scales and minimums to a lane.
  constexpr int64_t kMostPerGroup = kStripe * (kCodeColumns + 4 * 4);
  return matrix.columns() / kCodeColumns * kMostPerGroup;
}

void PanelStripes(const IntegerProduct& product, StripeRange range, std::byte* panels) {
  CAIRN_DCHECK(product.x.tiles().At(0).width >= 8);
  HWY_DYNAMIC_DISPATCH(PanelStripesOf)(product, range, panels);
}

}  // namespace cairn
#endif  // HWY_ONCE
