// StateLayout: where every byte of a StateSpec lies, and therefore how many there are.
//
// The one copy of the bytes arithmetic: the estimator adds it up, the arena allocates it, the
// kernels index with it. Rows of equal lifetime and tokens per row form a block class; a block of
// a class holds the next kRowsPerBlock rows of *all* its layers, without padding. Fixed components
// of a sequence lie one behind the other in one region.
//
// Two figures answer "how big": content (rows that are still needed, what a perfect allocator would
// hold) and allocated (whole blocks). Both are exact, and both are here.
// Immutable after Make; thread-safe.
#ifndef CAIRN_SPEC_STATE_LAYOUT_H_
#define CAIRN_SPEC_STATE_LAYOUT_H_

#include <vector>

#include "cairn/base/ids.h"
#include "cairn/base/status.h"
#include "cairn/spec/state_spec.h"

namespace cairn {

// Rows per block of every class: one SIMD tile of keys, and a small unit to share.
inline constexpr int kRowsPerBlock = 16;

// One Rows component inside a block: bytes [offset, offset + bytes).
struct RowsSlot {
  LayerIndex layer;
  int component = 0;  // index in the layer's components
  Bytes offset;
  Bytes bytes;  // kRowsPerBlock rows
};

struct BlockClass {
  Lifetime lifetime;
  TokenCount tokens_per_row{1};
  Bytes block_bytes;
  Bytes row_bytes;  // one row of every slot: block_bytes / kRowsPerBlock
  ElementCount row_elements;
  std::vector<RowsSlot> slots;

  TokenCount TokensPerBlock() const { return tokens_per_row * kRowsPerBlock; }
};

// One Fixed component inside a sequence's fixed region.
struct FixedSlot {
  LayerIndex layer;
  int component = 0;
  Bytes offset;  // a multiple of 64
  Bytes bytes;
};

// Logical blocks [first, end) of one class in one sequence; block b covers the tokens
// [b * TokensPerBlock, (b + 1) * TokensPerBlock).
struct BlockRange {
  int64_t first = 0;
  int64_t end = 0;
  BlockCount count() const { return BlockCount(end - first); }
  bool operator==(const BlockRange&) const = default;
};

class StateLayout {
 public:
  // Errors: a width that its codec's block doesn't divide, sizes that overflow, an alias to a layer
  // that isn't earlier or is itself an alias.
  static Result<StateLayout> Make(StateSpec spec);

  const StateSpec& spec() const { return spec_; }
  const std::vector<BlockClass>& classes() const { return classes_; }
  const std::vector<FixedSlot>& fixed() const { return fixed_; }
  Bytes fixed_bytes() const { return fixed_bytes_; }

  // The class and slot of a Rows component; follows an alias of the layer.
  struct RowsPlace {
    ClassIndex block_class;
    const RowsSlot* slot;
    const Rows* rows;
  };
  RowsPlace PlaceOf(LayerIndex layer, std::string_view name) const;

  // Rows of the class that a sequence of `tokens` tokens still needs.
  int64_t RowsNeeded(ClassIndex block_class, TokenCount tokens) const;
  // Blocks that a sequence at rest after `tokens` tokens holds.
  BlockRange BlocksHeld(ClassIndex block_class, TokenCount tokens) const;
  // Blocks held while tokens [tokens, tokens + added) are computed: BlocksHeld plus the new ones.
  BlockRange BlocksWhileAdding(ClassIndex block_class, TokenCount tokens, TokenCount added) const;

  // One sequence that shares nothing, at rest after `tokens` tokens.
  Bytes ContentBytes(TokenCount tokens) const;
  ElementCount ContentElements(TokenCount tokens) const;
  Bytes AllocatedBytes(TokenCount tokens) const;
  Bytes AllocatedBytesWhileAdding(TokenCount tokens, TokenCount added) const;
  // What one more token adds once every window is full.
  Bytes MarginalBytesPerToken() const;
  ElementCount MarginalElementsPerToken() const;

 private:
  StateSpec spec_;
  std::vector<BlockClass> classes_;
  std::vector<FixedSlot> fixed_;
  Bytes fixed_bytes_;
};

}  // namespace cairn

#endif  // CAIRN_SPEC_STATE_LAYOUT_H_
