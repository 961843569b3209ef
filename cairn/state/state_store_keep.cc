// What StateStore gives to, and makes of, state that outlives a sequence.
#include <utility>

#include "cairn/base/check.h"
#include "cairn/state/block_rows.h"
#include "cairn/state/state_store.h"

namespace cairn {
namespace {

ClassIndex ClassOf(size_t index) { return ClassIndex(static_cast<int32_t>(index)); }

}  // namespace

bool StateStore::AnyNeedsPoints(const StateLayout& layout) {
  if (layout.fixed_bytes() > Bytes(0)) return true;
  for (const BlockClass& block_class : layout.classes()) {
    if (!block_class.KeepsAll()) return true;
  }
  return false;
}

KeptRows StateStore::KeepRows(SequenceId id, TokenCount from, TokenCount to) const {
  const Sequence& sequence = At(id);
  CAIRN_CHECK(sequence.at_rest && !sequence.dropped && from <= to && to <= sequence.length);
  KeptRows rows{.from = from, .to = to, .tables = {}};
  rows.tables.resize(sequence.tables.size());
  for (size_t i = 0; i < sequence.tables.size(); ++i) {
    const BlockClass& block_class = layout_.classes()[i];
    if (!block_class.KeepsAll()) continue;
    rows.tables[i] = sequence.tables[i].Share(BlocksOfRows(block_class, from, to));
  }
  return rows;
}

KeptPoint StateStore::KeepPoint(SequenceId id) const {
  const Sequence& sequence = At(id);
  CAIRN_CHECK(sequence.at_rest && !sequence.dropped);
  KeptPoint point{.tokens = sequence.length, .tables = {}, .fixed = {}};
  point.tables.resize(sequence.tables.size());
  for (size_t i = 0; i < sequence.tables.size(); ++i) {
    if (!layout_.classes()[i].KeepsAll()) point.tables[i] = sequence.tables[i].Share();
  }
  if (HasFixed()) point.fixed = sequence.fixed.Share();
  return point;
}

bool StateStore::CanResume(const KeptPoint& point, TokenCount tokens) const {
  if (tokens > point.tokens || (HasFixed() && tokens != point.tokens)) return false;
  for (size_t i = 0; i < point.tables.size(); ++i) {
    if (layout_.classes()[i].KeepsAll()) continue;
    const BlockRange held = layout_.BlocksHeld(ClassOf(i), tokens);
    if (held.first != held.end && held.first < point.tables[i].first()) return false;
  }
  return true;
}

KeptPoint StateStore::PointBefore(const KeptPoint& point, TokenCount tokens) const {
  CAIRN_CHECK(CanResume(point, tokens));
  KeptPoint before{.tokens = tokens, .tables = {}, .fixed = {}};
  before.tables.resize(point.tables.size());
  for (size_t i = 0; i < point.tables.size(); ++i) {
    if (layout_.classes()[i].KeepsAll()) continue;
    before.tables[i] = point.tables[i].Share(layout_.BlocksHeld(ClassOf(i), tokens));
  }
  if (HasFixed()) before.fixed = point.fixed.Share();
  return before;
}

Bytes StateStore::BytesToResume(TokenCount tokens) const {
  Bytes bytes;
  for (size_t i = 0; i < layout_.classes().size(); ++i) {
    const BlockClass& block_class = layout_.classes()[i];
    const bool has_open_block = block_class.RowsCompleted(tokens) % kRowsPerBlock != 0;
    if (has_open_block) bytes += block_class.block_bytes;
  }
  return tokens == TokenCount(0) ? layout_.fixed_bytes() : bytes;
}

Result<SequenceId> StateStore::Resume(std::span<const KeptRows* const> path, const KeptPoint* point,
                                      TokenCount tokens) {
  if (tokens == TokenCount(0)) return Create();
  CAIRN_CHECK(!needs_points_ || (point != nullptr && CanResume(*point, tokens)));
  CAIRN_TRY(CheckRoomForSequence());
  CAIRN_TRY(CheckRoomForBytes(BytesToResume(tokens)));
  Sequence sequence;
  sequence.length = tokens;
  for (size_t i = 0; i < layout_.classes().size(); ++i) {
    const ClassIndex block_class = ClassOf(i);
    sequence.tables.push_back(
        layout_.classes()[i].KeepsAll()
            ? ResumeRows(path, block_class, tokens)
            : point->tables[i].Share(layout_.BlocksHeld(block_class, tokens)));
    OwnOpenBlock(sequence.tables.back(), block_class, tokens);
  }
  if (HasFixed()) sequence.fixed = point->fixed.Share();
  return Insert(std::move(sequence));
}

// Of a block at a border the later piece's copy has the rows of both.
BlockTable StateStore::ResumeRows(std::span<const KeptRows* const> path, ClassIndex block_class,
                                  TokenCount tokens) const {
  const auto index = static_cast<size_t>(block_class.value());
  const BlockRange held = layout_.BlocksHeld(block_class, tokens);
  BlockTable table;
  table.Reserve(static_cast<size_t>(held.count().value()) + 1);
  TokenCount reached;
  for (const KeptRows* rows : path) {
    CAIRN_CHECK(rows->from == reached);
    reached = rows->to < tokens ? rows->to : tokens;
    const BlockRange part = BlocksOfRows(layout_.classes()[index], rows->from, reached);
    for (int64_t b = part.first; b < part.end; ++b) {
      BlockRef block = rows->tables[index].At(b).Share();
      if (b < table.end()) {
        table.Replace(b, std::move(block));
      } else {
        table.Append(std::move(block));
      }
    }
    if (reached == tokens) break;
  }
  CAIRN_CHECK(reached == tokens && table.range() == held);
  return table;
}

// What lies behind the tokens in a block that is partly theirs belongs to others.
void StateStore::OwnOpenBlock(BlockTable& table, ClassIndex block_class, TokenCount tokens) {
  const BlockClass& c = layout_.classes()[static_cast<size_t>(block_class.value())];
  const int64_t rows = c.RowsCompleted(tokens);
  if (rows % kRowsPerBlock == 0) return;
  const int64_t open = rows / kRowsPerBlock;
  table.Replace(open, CopyOf(table.At(open)));
  ZeroRowsFrom(layout_, c, rows % kRowsPerBlock, table.At(open).data());
}

}  // namespace cairn
