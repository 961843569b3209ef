// Dropping rows: what stays of each head moves together, byte by byte, at the end of the table.
#include <algorithm>
#include <cstring>
#include <utility>
#include <variant>

#include "cairn/base/check.h"
#include "cairn/state/block_rows.h"
#include "cairn/state/state_store.h"

namespace cairn {
namespace {

int64_t MostRows(const RowsToKeep& keep) {
  size_t most = 0;
  for (const auto& heads : keep) {
    for (const auto& rows : heads) most = std::max(most, rows.size());
  }
  return static_cast<int64_t>(most);
}

int64_t BlocksOf(int64_t rows) { return (rows + kRowsPerBlock - 1) / kRowsPerBlock; }

// One component's rows of one head, from block to block.
class HeadMove {
 public:
  HeadMove(const RowsSlot& slot, const Rows& rows, int64_t head)
      : rows_(rows),
        row_bytes_(static_cast<size_t>(RowBytesOf(rows.codec, rows.width).value())),
        offset_(static_cast<size_t>(slot.offset.value() + head * TileBytes())) {}

  // `to` may be the very blocks that are read.
  void Run(std::span<std::byte* const> from, std::span<const int32_t> kept, int64_t first_row,
           std::span<std::byte* const> to, std::vector<std::byte>& buffer) const {
    buffer.resize(kept.size() * row_bytes_);
    std::byte* gathered = buffer.data();
    for (const int32_t row : kept) {
      GatherHeadRow(rows_, TileOf(from, row), row % kRowsPerBlock, gathered);
      gathered += row_bytes_;
    }
    for (std::byte* block : to) {
      std::memset(block + offset_, 0, static_cast<size_t>(TileBytes()));
    }
    gathered = buffer.data();
    for (int64_t i = 0; i < std::ssize(kept); ++i) {
      const int64_t row = first_row + i;
      ScatterHeadRow(rows_, gathered, row % kRowsPerBlock, TileOf(to, row));
      gathered += row_bytes_;
    }
  }

 private:
  int64_t TileBytes() const { return static_cast<int64_t>(row_bytes_) * kRowsPerBlock; }
  std::byte* TileOf(std::span<std::byte* const> blocks, int64_t row) const {
    return blocks[static_cast<size_t>(row / kRowsPerBlock)] + offset_;
  }

  const Rows& rows_;
  const size_t row_bytes_;
  const size_t offset_;
};

}  // namespace

const DroppedRows* StateStore::Dropped(SequenceId id) const {
  const Sequence& sequence = At(id);
  return sequence.dropped ? &*sequence.dropped : nullptr;
}

Bytes StateStore::BytesToDrop(SequenceId id, const RowsToKeep& keep) const {
  const ClassIndex block_class = *layout_.DroppableClass();
  const BlockTable& table = At(id).tables[static_cast<size_t>(block_class.value())];
  Bytes bytes;
  for (int64_t b = 0; b < BlocksOf(MostRows(keep)); ++b) {
    if (table.At(b).shared()) {
      bytes += layout_.classes()[static_cast<size_t>(block_class.value())].block_bytes;
    }
  }
  return bytes;
}

Status StateStore::DropRows(SequenceId id, const RowsToKeep& keep) {
  Sequence& sequence = At(id);
  CAIRN_CHECK(sequence.at_rest && sequence.length > TokenCount(0));
  CAIRN_CHECK(keep.size() == layout_.spec().layers.size());
  CAIRN_TRY(CheckRoomForBytes(BytesToDrop(id, keep)));
  const ClassIndex index = *layout_.DroppableClass();
  const BlockClass& block_class = layout_.classes()[static_cast<size_t>(index.value())];
  BlockTable& table = sequence.tables[static_cast<size_t>(index.value())];
  const int64_t rows_before = Left(sequence, index, sequence.length).value();
  const int64_t rows_after = MostRows(keep);
  CAIRN_CHECK(rows_after >= 1 && rows_after <= rows_before);

  const auto from = table.view().blocks;
  std::vector<BlockRef> fresh(static_cast<size_t>(BlocksOf(rows_after)));
  std::vector<std::byte*> to;
  for (size_t b = 0; b < fresh.size(); ++b) {
    const BlockRef& block = table.At(static_cast<int64_t>(b));
    if (block.shared()) fresh[b] = arena_->Allocate(index);
    to.push_back(block.shared() ? fresh[b].data() : block.data());
  }
  DroppedRows dropped;
  dropped.at = sequence.length;
  dropped.rows = sequence.length - TokenCount(rows_after);
  dropped.first_rows.resize(keep.size());
  std::vector<std::byte> buffer;
  for (const RowsSlot& slot : block_class.slots) {
    const auto layer = static_cast<size_t>(slot.layer.value());
    const Rows& rows = std::get<Rows>(
        layout_.spec().layers[layer].components[static_cast<size_t>(slot.component)]);
    CAIRN_CHECK(std::ssize(keep[layer]) == rows.heads);
    std::vector<int32_t>& first_rows = dropped.first_rows[layer];
    first_rows.clear();
    for (int64_t head = 0; head < rows.heads; ++head) {
      const std::vector<int32_t>& kept = keep[layer][static_cast<size_t>(head)];
      CAIRN_CHECK(!kept.empty() && kept.front() >= 0 && kept.back() < rows_before);
      first_rows.push_back(static_cast<int32_t>(rows_after - std::ssize(kept)));
      HeadMove(slot, rows, head).Run(from, kept, first_rows.back(), to, buffer);
    }
  }
  for (size_t b = 0; b < fresh.size(); ++b) {
    if (fresh[b].has_block()) table.Replace(static_cast<int64_t>(b), std::move(fresh[b]));
  }
  table.KeepOnly({.first = 0, .end = BlocksOf(rows_after)});
  sequence.dropped = std::move(dropped);
  return {};
}

}  // namespace cairn
