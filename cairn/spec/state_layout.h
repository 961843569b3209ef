// StateLayout: where every byte of a StateSpec lies, and therefore how many there are.
//
// The one copy of the bytes arithmetic: the estimator adds it up, the arena allocates it, the
// kernels index with it. Rows of equal lifetime and tokens per row form a block class (those of
// open windows one of their own); a block of a class holds the next kRowsPerBlock rows of *all* its
// layers, without padding. Fixed components of a sequence lie one behind the other in one region.
//
// Two figures answer "how big": content (rows that are still needed, what a perfect allocator would
// hold) and allocated (whole blocks). Both are exact, and both are here.
// Immutable after Make; thread-safe.
#ifndef CAIRN_SPEC_STATE_LAYOUT_H_
#define CAIRN_SPEC_STATE_LAYOUT_H_

#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

#include "cairn/base/ids.h"
#include "cairn/base/status.h"
#include "cairn/spec/state_spec.h"

namespace cairn {

// Rows per block of every class: one SIMD tile of keys, and a small unit to share.
inline constexpr int kRowsPerBlock = 16;

// Bounds that keep every sum below in 63 bits. Make refuses a larger spec; a token count that comes
// from outside must be checked before it is asked about here.
inline constexpr TokenCount kMaxStateTokens{int64_t{1} << 30};
inline constexpr Bytes kMaxRowBytes{int64_t{1} << 28};    // one row of every Rows component
inline constexpr Bytes kMaxFixedBytes{int64_t{1} << 40};  // all Fixed components of a sequence

// One row of a component. REQUIRES: the codec's block divides the width.
Bytes BytesPerRow(const Rows& rows);

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
  bool open_window = false;  // of a compressor: see Rows
  Bytes block_bytes;
  Bytes row_bytes;  // one row of every slot: block_bytes / kRowsPerBlock
  ElementCount row_elements;
  std::vector<RowsSlot> slots;

  TokenCount TokensPerBlock() const { return tokens_per_row * kRowsPerBlock; }
  bool KeepsAll() const { return lifetime.KeepsAll(); }
  // Rows that `tokens` tokens complete: row r is written with token (r + 1) * tokens_per_row - 1.
  int64_t RowsCompleted(TokenCount tokens) const {
    const bool first = lifetime.kind == Lifetime::Kind::kFirst;
    return (first ? std::min(tokens, lifetime.tokens) : tokens).value() / tokens_per_row.value();
  }
  // Blocks that `tokens` tokens fill.
  int64_t BlocksFilled(TokenCount tokens) const { return RowsCompleted(tokens) / kRowsPerBlock; }
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
  // Errors: a size that isn't positive or passes the bounds above, a width that its codec's block
  // doesn't divide, a component without a name of its own, an alias that isn't alone in its layer
  // or whose target isn't an earlier layer with components of its own.
  static Result<StateLayout> Make(StateSpec spec);

  const StateSpec& spec() const { return spec_; }
  const std::vector<BlockClass>& classes() const { return classes_; }
  const std::vector<FixedSlot>& fixed() const { return fixed_; }
  Bytes fixed_bytes() const { return fixed_bytes_; }
  Bytes fixed_content_bytes() const { return fixed_content_bytes_; }  // without the padding

  // The class and slot of a Rows component; follows an alias of the layer.
  struct RowsPlace {
    ClassIndex block_class;
    const RowsSlot* slot;
    const Rows* rows;
  };
  RowsPlace PlaceOf(LayerIndex layer, std::string_view name) const;
  // Nothing if the layer has no Rows component of this name.
  std::optional<RowsPlace> FindPlace(LayerIndex layer, std::string_view name) const;

  // All below: REQUIRES 0 <= tokens and tokens + added <= kMaxStateTokens.
  //
  // Rows of the class that a sequence of `tokens` tokens still needs.
  int64_t RowsNeeded(ClassIndex block_class, TokenCount tokens) const;
  // The most rows of the class that one of the first `tokens` queries sees, its own token's with
  // them: what there must be room for, min(tokens, W) rows of a window and min(tokens, C) of
  // chunks.
  int64_t RowsSeen(ClassIndex block_class, TokenCount tokens) const;
  // Blocks that a sequence at rest after `tokens` tokens holds: those with a row that is still
  // needed, and the one that is partly written. So a block is held without a gap from its first row
  // until it is full and needed no more, and its bytes don't depend on how the tokens were batched.
  BlockRange BlocksHeld(ClassIndex block_class, TokenCount tokens) const;
  // Blocks held while tokens [tokens, tokens + added) are computed: BlocksHeld plus the new ones.
  BlockRange BlocksWhileAdding(ClassIndex block_class, TokenCount tokens, TokenCount added) const;

  // One sequence that shares nothing, at rest after `tokens` tokens. Fixed components count from
  // token 0: a sequence owns them as long as it lives.
  Bytes ContentBytes(TokenCount tokens) const;
  ElementCount ContentElements(TokenCount tokens) const;
  // RowsSeen of all classes but open windows; no Fixed components.
  Bytes SeenRowBytes(TokenCount tokens) const;
  // RowsSeen of the open windows.
  Bytes OpenWindowBytes(TokenCount tokens) const;
  Bytes AllocatedBytes(TokenCount tokens) const;
  Bytes AllocatedBytesWhileAdding(TokenCount tokens, TokenCount added) const;
  // The class whose rows a token policy may drop: kept always, one for each token. At most one.
  std::optional<ClassIndex> DroppableClass() const;
  // A sequence that has lost `dropped` rows of that class holds of each class what one of so many
  // tokens would: those that are left there, all `tokens` elsewhere.
  TokenCount TokensLeft(ClassIndex block_class, TokenCount tokens, TokenCount dropped) const;
  // AllocatedBytesWhileAdding of such a sequence. REQUIRES 0 <= dropped <= tokens.
  Bytes AllocatedBytesWithout(TokenCount dropped, TokenCount tokens, TokenCount added) const;
  // What one more token adds once every window is full; a class with one row for t tokens adds a
  // t-th of its row, rounded up.
  Bytes MarginalBytesPerToken() const;
  ElementCount MarginalElementsPerToken() const;

 private:
  StateLayout() = default;
  Status AddLayer(LayerIndex layer);
  Status Add(LayerIndex layer, int component, const Rows& rows);
  Status Add(LayerIndex layer, int component, const Fixed& fixed);
  Status Add(LayerIndex layer, int component, const Alias& alias);
  BlockClass& ClassFor(const Rows& rows);
  const BlockClass& ClassAt(ClassIndex block_class) const;
  Bytes SeenBytes(bool open_window, TokenCount tokens) const;

  StateSpec spec_;
  std::vector<BlockClass> classes_;
  std::vector<FixedSlot> fixed_;
  Bytes fixed_bytes_;          // with the padding between slots
  Bytes fixed_content_bytes_;  // without
  ElementCount fixed_elements_;
  Bytes all_row_bytes_;  // one row of every class
};

}  // namespace cairn

#endif  // CAIRN_SPEC_STATE_LAYOUT_H_
