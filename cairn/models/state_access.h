// Where a layer's state lies, for mixers that keep more than keys and values.
//
// A Fixed component is one piece of SequenceView::fixed. Whatever type it is stored as, numbers
// pass through that type after every token: else a chunk's end would show. Thread-safe.
#ifndef CAIRN_MODELS_STATE_ACCESS_H_
#define CAIRN_MODELS_STATE_ACCESS_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "cairn/base/dtype.h"
#include "cairn/base/ids.h"
#include "cairn/models/pass.h"
#include "cairn/spec/state_layout.h"
#include "cairn/state/state_view.h"

namespace cairn {

struct FixedPlace {
  int64_t offset = 0;
  int64_t elements = 0;
  DType dtype = DType::kF32;

  std::byte* In(const SequenceView& state) const { return state.fixed + offset; }
  // `count` elements from `first` on. REQUIRES: a plain float type.
  FixedPlace Part(int64_t first, int64_t count) const;
  // REQUIRES: dtype is kF32.
  float* Floats(const SequenceView& state) const;
  // All elements as floats, and back. REQUIRES: a plain float type.
  void Load(const SequenceView& state, float* to) const;
  void Store(const SequenceView& state, const float* from) const;
};

// REQUIRES: the layer has a Fixed component of that name.
FixedPlace FixedPlaceOf(const StateLayout& layout, LayerIndex layer, std::string_view name);

// What a float becomes when it is stored as `dtype` and read again, in place. kF32 changes nothing.
void RoundTo(DType dtype, float* x, int64_t count);

// Moves a recurrent state through `tokens` tokens: calls move(state, first, count) for runs of
// them, one by one where the state is stored in a narrower type than it is computed in. `scratch`
// has room for its elements; it isn't used for kF32.
template <class Move>
void MoveState(const FixedPlace& place, const SequenceView& view, float* scratch, int64_t tokens,
               const Move& move) {
  if (place.dtype == DType::kF32) return move(place.Floats(view), int64_t{0}, tokens);
  place.Load(view, scratch);
  for (int64_t t = 0; t < tokens; ++t) {
    move(scratch, t, int64_t{1});
    RoundTo(place.dtype, scratch, place.elements);
  }
  place.Store(view, scratch);
}

// The tile that holds row `row` (of the component, not the token) of head 0; row % kRowsPerBlock is
// its place inside. Rows with several tokens each are counted like others.
inline std::byte* TileOf(const StateLayout::RowsPlace& place, const SequenceView& state,
                         int64_t row) {
  const auto& table = state.tables[static_cast<size_t>(place.block_class.value())];
  return table.Block(row / kRowsPerBlock) + place.slot->offset.value();
}

}  // namespace cairn

#endif  // CAIRN_MODELS_STATE_ACCESS_H_
