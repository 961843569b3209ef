// What a model sees of a sequence's state during one forward call: plain pointers into blocks that
// the store has already made writable. Valid until the next call that changes the store.
//
// Offsets inside a block come from StateLayout. A model reads rows of positions before
// `tokens_before` and writes those of the tokens that it computes, nothing else.
#ifndef CAIRN_STATE_STATE_VIEW_H_
#define CAIRN_STATE_STATE_VIEW_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "cairn/base/ids.h"
#include "cairn/spec/state_layout.h"

namespace cairn {

// The blocks of one class: logical block `first_block + i` starts at blocks[i].
struct BlockTableView {
  int64_t first_block = 0;
  std::span<std::byte* const> blocks;

  std::byte* Block(int64_t logical) const {
    return blocks[static_cast<size_t>(logical - first_block)];
  }
};

// What a sequence has lost of the rows of StateLayout::DroppableClass(). What is left of a head
// stands at the end of the first rows of the table, so that all heads go on at the same row: that
// of the position p is p - rows for every p from `at` on.
struct DroppedRows {
  TokenCount at;    // tokens read when rows were last dropped
  TokenCount rows;  // fewer than tokens; heads may have lost more
  // [layer][head]: the head's first row. Empty for a layer without rows of the class.
  std::vector<std::vector<int32_t>> first_rows;
};

// By layer and head: the rows of that class that stay, rising, at least one; of layers without such
// rows nothing. Rows count as they lie in the table, from 0.
using RowsToKeep = std::vector<std::vector<std::vector<int32_t>>>;

struct SequenceView {
  TokenCount tokens_before;
  std::span<const BlockTableView> tables;  // by ClassIndex
  std::byte* fixed = nullptr;              // StateLayout::fixed_bytes()
  const DroppedRows* dropped = nullptr;    // null: nothing

  // The row of the droppable class that is `position`'s. REQUIRES it wasn't there at a drop.
  int64_t RowOf(int64_t position) const {
    return dropped == nullptr ? position : position - dropped->rows.value();
  }
};

}  // namespace cairn

#endif  // CAIRN_STATE_STATE_VIEW_H_
