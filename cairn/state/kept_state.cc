#include "cairn/state/kept_state.h"

#include "cairn/base/check.h"

namespace cairn {
namespace {

Bytes BytesOf(const StateLayout& layout, const std::vector<BlockTable>& tables) {
  Bytes bytes;
  for (size_t i = 0; i < tables.size(); ++i) {
    bytes += layout.classes()[i].block_bytes * tables[i].range().count().value();
  }
  return bytes;
}

void ForEachRef(const std::vector<BlockTable>& tables, const RefVisitor& visit) {
  for (const BlockTable& table : tables) {
    for (int64_t b = table.first(); b < table.end(); ++b) visit(table.At(b));
  }
}

}  // namespace

BlockRange BlocksOfRows(const BlockClass& block_class, TokenCount from, TokenCount to) {
  const int64_t first = block_class.RowsCompleted(from);
  const int64_t end = block_class.RowsCompleted(to);
  if (first == end) return {.first = first / kRowsPerBlock, .end = first / kRowsPerBlock};
  return {.first = first / kRowsPerBlock, .end = (end + kRowsPerBlock - 1) / kRowsPerBlock};
}

KeptRows SplitRows(const StateLayout& layout, KeptRows& rows, TokenCount at) {
  CAIRN_CHECK(rows.from <= at && at <= rows.to);
  KeptRows tail{.from = at, .to = rows.to, .tables = {}};
  tail.tables.resize(rows.tables.size());
  for (size_t i = 0; i < rows.tables.size(); ++i) {
    const BlockClass& block_class = layout.classes()[i];
    if (!block_class.KeepsAll()) continue;
    tail.tables[i] = rows.tables[i].Share(BlocksOfRows(block_class, at, rows.to));
  }
  TruncateRows(layout, rows, at);
  return tail;
}

void TruncateRows(const StateLayout& layout, KeptRows& rows, TokenCount to) {
  CAIRN_CHECK(rows.from <= to && to <= rows.to);
  rows.to = to;
  for (size_t i = 0; i < rows.tables.size(); ++i) {
    const BlockClass& block_class = layout.classes()[i];
    if (!block_class.KeepsAll()) continue;
    rows.tables[i].KeepOnly(BlocksOfRows(block_class, rows.from, to));
  }
}

Bytes BytesOf(const StateLayout& layout, const KeptRows& rows) {
  return BytesOf(layout, rows.tables);
}

Bytes BytesOf(const StateLayout& layout, const KeptPoint& point) {
  const Bytes bytes = BytesOf(layout, point.tables);
  return point.fixed.has_block() ? bytes + layout.fixed_bytes() : bytes;
}

void ForEachRef(const KeptRows& rows, const RefVisitor& visit) { ForEachRef(rows.tables, visit); }

void ForEachRef(const KeptPoint& point, const RefVisitor& visit) {
  ForEachRef(point.tables, visit);
  if (point.fixed.has_block()) visit(point.fixed);
}

}  // namespace cairn
