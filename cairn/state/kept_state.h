// Pieces of a sequence's state that outlive it: what a prefix tree owns.
//
// After n tokens a sequence's state is the rows of [0, n) in the classes that keep all of theirs
// (KeptRows, in any number of pieces), and the rest (KeptPoint): windows, chunks and Fixed
// components, which exist for one length only. Pieces share blocks with sequences and with each
// other; a block at a border is in both pieces. What a block holds beyond its piece may be
// anything. Same thread as the store, which must outlive them.
#ifndef CAIRN_STATE_KEPT_STATE_H_
#define CAIRN_STATE_KEPT_STATE_H_

#include <functional>
#include <vector>

#include "cairn/base/ids.h"
#include "cairn/spec/state_layout.h"
#include "cairn/state/arena.h"
#include "cairn/state/block_table.h"

namespace cairn {

// Tokens [from, to).
struct KeptRows {
  TokenCount from, to;
  std::vector<BlockTable> tables;  // by ClassIndex; empty for classes that don't keep all rows
};

struct KeptPoint {
  TokenCount tokens;
  std::vector<BlockTable> tables;  // by ClassIndex; empty for classes that keep all rows
  BlockRef fixed;                  // without a block if the model has no Fixed component
};

// Blocks with rows that the tokens [from, to) complete.
BlockRange BlocksOfRows(const BlockClass& block_class, TokenCount from, TokenCount to);

// Cuts at a token: `rows` keeps what is before, the rest is returned. REQUIRES from <= at <= to.
KeptRows SplitRows(const StateLayout& layout, KeptRows& rows, TokenCount at);
// Drops what is after a token. REQUIRES from <= to <= rows.to.
void TruncateRows(const StateLayout& layout, KeptRows& rows, TokenCount to);

// Of the blocks that the piece refers to, shared or not.
Bytes BytesOf(const StateLayout& layout, const KeptRows& rows);
Bytes BytesOf(const StateLayout& layout, const KeptPoint& point);

// Calls back for each reference that something other than a sequence holds.
using RefVisitor = std::function<void(const BlockRef&)>;
using KeptVisitor = std::function<void(const RefVisitor&)>;
void ForEachRef(const KeptRows& rows, const RefVisitor& visit);
void ForEachRef(const KeptPoint& point, const RefVisitor& visit);

}  // namespace cairn

#endif  // CAIRN_STATE_KEPT_STATE_H_
