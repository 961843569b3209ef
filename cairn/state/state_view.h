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

struct SequenceView {
  TokenCount tokens_before;
  std::span<const BlockTableView> tables;  // by ClassIndex
  std::byte* fixed = nullptr;              // StateLayout::fixed_bytes()
};

}  // namespace cairn

#endif  // CAIRN_STATE_STATE_VIEW_H_
