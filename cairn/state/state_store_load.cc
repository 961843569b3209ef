// How StateStore makes sequences of bytes that come from elsewhere, and lends bytes that go there.
#include <utility>

#include "cairn/base/check.h"
#include "cairn/state/block_rows.h"
#include "cairn/state/state_store.h"

namespace cairn {
namespace {

ClassIndex ClassOf(size_t index) { return ClassIndex(static_cast<int32_t>(index)); }

// Blocks of the class that the first `shared` tokens fill.
int64_t SharedBlocks(const BlockClass& block_class, TokenCount shared) {
  return block_class.KeepsAll() ? block_class.BlocksFilled(shared) : 0;
}

}  // namespace

Result<SequenceId> StateStore::Load(TokenCount tokens, const FillBlock& fill) {
  CAIRN_CHECK(tokens >= TokenCount(0) && tokens <= kMaxStateTokens);
  CAIRN_TRY(CheckRoomForSequence());
  CAIRN_TRY(CheckRoomForBytes(layout_.AllocatedBytes(tokens)));
  Sequence sequence;
  sequence.length = tokens;
  for (size_t i = 0; i < layout_.classes().size(); ++i) {
    const BlockClass& c = layout_.classes()[i];
    const BlockRange held = layout_.BlocksHeld(ClassOf(i), tokens);
    const int64_t rows = c.RowsCompleted(tokens);
    BlockTable& table = sequence.tables.emplace_back();
    table.KeepOnly({.first = held.first, .end = held.first});
    for (int64_t b = held.first; b < held.end; ++b) {
      table.Append(arena_->Allocate(ClassOf(i)));
      fill({table.At(b).data(), static_cast<size_t>(c.block_bytes.value())});
      const int64_t used = rows - b * kRowsPerBlock;
      if (used < kRowsPerBlock) ZeroRowsFrom(layout_, c, used, table.At(b).data());
    }
  }
  if (HasFixed()) {
    sequence.fixed = arena_->Allocate(FixedClass());
    fill({sequence.fixed.data(), static_cast<size_t>(layout_.fixed_bytes().value())});
  }
  return Insert(std::move(sequence));
}

std::span<std::byte> StateStore::BytesOf(const BlockRef& block) const {
  return {block.data(),
          static_cast<size_t>(arena_->pool(block.block_class()).block_bytes().value())};
}

std::vector<BlockRef> StateStore::Share(const Sequence& sequence,
                                        std::span<const BlockRange> ranges, bool fixed) {
  CAIRN_CHECK(ranges.size() == sequence.tables.size());
  std::vector<BlockRef> blocks;
  for (size_t i = 0; i < ranges.size(); ++i) {
    for (int64_t b = ranges[i].first; b < ranges[i].end; ++b) {
      blocks.push_back(sequence.tables[i].At(b).Share());
    }
  }
  if (fixed) blocks.push_back(sequence.fixed.Share());
  return blocks;
}

std::vector<BlockRef> StateStore::ShareBlocks(SequenceId id, std::span<const BlockRange> ranges,
                                              bool fixed) const {
  CAIRN_CHECK(At(id).at_rest && !At(id).dropped);
  return Share(At(id), ranges, fixed);
}

std::vector<BlockRef> StateStore::LoadingBlocks(SequenceId id, std::span<const BlockRange> ranges,
                                                bool fixed) const {
  const Sequence& sequence = At(id);
  CAIRN_CHECK(!sequence.at_rest);
  for (size_t i = 0; i < ranges.size(); ++i) {
    for (int64_t b = ranges[i].first; b < ranges[i].end; ++b) {
      CAIRN_CHECK(!sequence.tables[i].At(b).shared());
    }
  }
  return Share(sequence, ranges, fixed);
}

Bytes StateStore::BytesToLoad(TokenCount shared, TokenCount tokens) const {
  Bytes bytes = layout_.AllocatedBytes(tokens);
  for (const BlockClass& c : layout_.classes()) bytes -= c.block_bytes * SharedBlocks(c, shared);
  return bytes;
}

Result<SequenceId> StateStore::BeginLoad(std::span<const KeptRows* const> path, TokenCount shared,
                                         TokenCount tokens) {
  CAIRN_CHECK(TokenCount(0) <= shared && shared <= tokens && tokens <= kMaxStateTokens);
  CAIRN_TRY(CheckRoomForSequence());
  CAIRN_TRY(CheckRoomForBytes(BytesToLoad(shared, tokens)));
  Sequence sequence;
  sequence.length = tokens;
  sequence.at_rest = false;
  for (size_t i = 0; i < layout_.classes().size(); ++i) {
    const BlockClass& c = layout_.classes()[i];
    const BlockRange held = layout_.BlocksHeld(ClassOf(i), tokens);
    BlockTable& table = sequence.tables.emplace_back();
    if (const int64_t full = SharedBlocks(c, shared); full > 0) {
      table = ResumeRows(path, ClassOf(i), shared);
      table.KeepOnly({.first = 0, .end = full});
    } else {
      table.KeepOnly({.first = held.first, .end = held.first});
    }
    while (table.end() < held.end) table.Append(arena_->Allocate(ClassOf(i)));
  }
  if (HasFixed()) sequence.fixed = arena_->Allocate(FixedClass());
  return Insert(std::move(sequence));
}

void StateStore::EndLoad(SequenceId id) {
  Sequence& sequence = At(id);
  CAIRN_CHECK(!sequence.at_rest && sequence.prepared == TokenCount(0));
  sequence.at_rest = true;
  for (size_t i = 0; i < sequence.tables.size(); ++i) {
    WipeAfter(sequence, ClassOf(i), sequence.length);
  }
}

}  // namespace cairn
