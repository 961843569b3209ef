// BlockTable: the blocks of one class that a sequence holds, logical blocks [first(), end()).
//
// Owns one reference to each. Blocks are added at the end and dropped at both ends.
// Not thread-safe.
#ifndef CAIRN_STATE_BLOCK_TABLE_H_
#define CAIRN_STATE_BLOCK_TABLE_H_

#include <cstddef>
#include <vector>

#include "cairn/spec/state_layout.h"
#include "cairn/state/arena.h"
#include "cairn/state/state_view.h"

namespace cairn {

class BlockTable {
 public:
  int64_t first() const { return first_; }
  int64_t end() const { return first_ + static_cast<int64_t>(refs_.size()); }
  BlockRange range() const { return {.first = first(), .end = end()}; }
  // REQUIRES first() <= logical < end().
  const BlockRef& At(int64_t logical) const;

  void Reserve(size_t blocks);
  void Append(BlockRef block);
  // The old block loses this table's reference.
  void Replace(int64_t logical, BlockRef block);
  // Keeps only blocks of `range`. REQUIRES it is empty or inside [first(), end()); an empty one
  // says where the table goes on.
  void KeepOnly(BlockRange range);
  // A table with references to the same blocks, or to those of `range`, as KeepOnly takes it.
  BlockTable Share() const;
  BlockTable Share(BlockRange range) const;

  // Valid until the table changes.
  BlockTableView view() const { return {.first_block = first_, .blocks = blocks_}; }

 private:
  int64_t first_ = 0;
  std::vector<BlockRef> refs_;
  std::vector<std::byte*> blocks_;  // the data of refs_, as views hand them out
};

}  // namespace cairn

#endif  // CAIRN_STATE_BLOCK_TABLE_H_
