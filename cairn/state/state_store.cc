#include "cairn/state/state_store.h"

#include <cstring>
#include <utility>

#include "cairn/base/check.h"
#include "cairn/state/block_rows.h"

namespace cairn {
namespace {

ClassIndex ClassOf(size_t index) { return ClassIndex(static_cast<int32_t>(index)); }

}  // namespace

Result<std::unique_ptr<StateStore>> StateStore::Make(StateLayout layout, Options options) {
  CAIRN_CHECK(options.max_sequences > 0);
  CAIRN_CHECK(options.reserved_tokens >= TokenCount(0) &&
              options.reserved_tokens <= kMaxStateTokens);
  std::vector<Bytes> block_bytes;
  for (const BlockClass& block_class : layout.classes()) {
    block_bytes.push_back(block_class.block_bytes);
  }
  // The Fixed components of a sequence are one block of a class of their own, the last.
  if (layout.fixed_bytes() > Bytes(0)) block_bytes.push_back(layout.fixed_bytes());
  CAIRN_ASSIGN(std::unique_ptr<Arena> arena,
               Arena::Make(block_bytes, options.budget, options.account));
  return std::make_unique<StateStore>(std::move(layout), options, std::move(arena));
}

ClassIndex StateStore::FixedClass() const { return ClassOf(layout_.classes().size()); }

const StateStore::Sequence& StateStore::At(SequenceId id) const {
  const auto found = sequences_.find(id);
  CAIRN_CHECK(found != sequences_.end());
  return found->second;
}

StateStore::Sequence& StateStore::At(SequenceId id) {
  return const_cast<Sequence&>(std::as_const(*this).At(id));
}

Status StateStore::CheckRoomForSequence() const {
  if (sequence_count() < options_.max_sequences) return {};
  return Fail(ErrorCode::kExhausted, "{} sequences are live, which is the limit; release one first",
              options_.max_sequences);
}

Status StateStore::CheckRoomForBytes(Bytes needed) const {
  const Bytes available = arena_->available();
  if (needed <= available) return {};
  return Fail(ErrorCode::kExhausted,
              "state needs {} more bytes, {} of the budget of {} are free: {} bytes are missing",
              needed.value(), available.value(), arena_->stats().budget.value(),
              (needed - available).value());
}

SequenceId StateStore::Insert(Sequence sequence) {
  const SequenceId id(next_id_++);
  sequence.views.resize(sequence.tables.size());
  sequences_.emplace(id, std::move(sequence));
  return id;
}

Result<SequenceId> StateStore::Create() {
  CAIRN_TRY(CheckRoomForSequence());
  CAIRN_TRY(CheckRoomForBytes(layout_.fixed_bytes()));
  Sequence sequence;
  if (HasFixed()) sequence.fixed = arena_->Allocate(FixedClass());
  sequence.tables.resize(layout_.classes().size());
  for (size_t i = 0; i < sequence.tables.size(); ++i) {
    // A sliding window holds up to two blocks more before its first block is dropped.
    const BlockCount held = layout_.BlocksHeld(ClassOf(i), options_.reserved_tokens).count();
    sequence.tables[i].Reserve(static_cast<size_t>(held.value()) + 2);
  }
  return Insert(std::move(sequence));
}

Result<SequenceId> StateStore::Fork(SequenceId id) {
  CAIRN_TRY(CheckRoomForSequence());
  const Sequence& source = At(id);
  CAIRN_CHECK(source.at_rest);
  Sequence fork;
  fork.length = source.length;
  fork.dropped = source.dropped;
  for (const BlockTable& table : source.tables) fork.tables.push_back(table.Share());
  if (HasFixed()) fork.fixed = source.fixed.Share();
  return Insert(std::move(fork));
}

TokenCount StateStore::Left(const Sequence& sequence, ClassIndex block_class,
                            TokenCount tokens) const {
  if (!sequence.dropped || tokens == TokenCount(0)) return tokens;
  return layout_.TokensLeft(block_class, tokens, sequence.dropped->rows);
}

void StateStore::Release(SequenceId id) { CAIRN_CHECK(sequences_.erase(id) == 1); }

StateStore::ClassNeed StateStore::NeedOf(const Sequence& sequence, ClassIndex block_class,
                                         TokenCount added) const {
  const auto index = static_cast<size_t>(block_class.value());
  const BlockClass& c = layout_.classes()[index];
  const BlockTable& table = sequence.tables[index];
  const TokenCount left = Left(sequence, block_class, sequence.length);
  const BlockRange target = layout_.BlocksWhileAdding(block_class, left, added);
  CAIRN_CHECK(target.first == table.first() && target.end >= table.end());

  ClassNeed need;
  need.new_blocks = target.end - table.end();
  const int64_t rows = c.RowsCompleted(left);
  const bool writes_open_block = rows % kRowsPerBlock != 0 && c.RowsCompleted(left + added) > rows;
  need.copy_open_block = writes_open_block && table.At(rows / kRowsPerBlock).shared();
  return need;
}

Bytes StateStore::BytesToPrepare(SequenceId id, TokenCount added) const {
  const Sequence& sequence = At(id);
  Bytes needed;
  for (size_t i = 0; i < sequence.tables.size(); ++i) {
    const ClassNeed need = NeedOf(sequence, ClassOf(i), added);
    needed += layout_.classes()[i].block_bytes * (need.new_blocks + (need.copy_open_block ? 1 : 0));
  }
  const bool copy_fixed = HasFixed() && added > TokenCount(0) && sequence.fixed.shared();
  return copy_fixed ? needed + layout_.fixed_bytes() : needed;
}

Status StateStore::Prepare(SequenceId id, TokenCount added) {
  Sequence& sequence = At(id);
  CAIRN_CHECK(sequence.at_rest && added >= TokenCount(0));
  if (added > kMaxStateTokens - sequence.length) {
    return Fail(ErrorCode::kInvalidArgument,
                "{} tokens after {} are more than a sequence can have ({})", added.value(),
                sequence.length.value(), kMaxStateTokens.value());
  }
  CAIRN_TRY(CheckRoomForBytes(BytesToPrepare(id, added)));
  for (size_t i = 0; i < sequence.tables.size(); ++i) {
    BlockTable& table = sequence.tables[i];
    const ClassNeed need = NeedOf(sequence, ClassOf(i), added);
    if (need.copy_open_block) {
      const int64_t open = table.end() - 1;
      table.Replace(open, CopyOf(table.At(open)));
    }
    for (int64_t b = 0; b < need.new_blocks; ++b) table.Append(arena_->Allocate(ClassOf(i)));
  }
  if (HasFixed() && added > TokenCount(0) && sequence.fixed.shared()) {
    sequence.fixed = CopyOf(sequence.fixed);
  }
  sequence.prepared = added;
  sequence.at_rest = false;
  return {};
}

BlockRef StateStore::CopyOf(const BlockRef& block) {
  BlockRef copy = arena_->Allocate(block.block_class());
  const Bytes bytes = arena_->pool(block.block_class()).block_bytes();
  std::memcpy(copy.data(), block.data(), static_cast<size_t>(bytes.value()));
  return copy;
}

SequenceView StateStore::View(SequenceId id) {
  Sequence& sequence = At(id);
  for (size_t i = 0; i < sequence.tables.size(); ++i) {
    sequence.views[i] = sequence.tables[i].view();
  }
  return {.tokens_before = sequence.length,
          .tables = sequence.views,
          .fixed = HasFixed() ? sequence.fixed.data() : nullptr,
          .dropped = sequence.dropped ? &*sequence.dropped : nullptr};
}

void StateStore::Commit(SequenceId id, TokenCount added) {
  Sequence& sequence = At(id);
  CAIRN_CHECK(!sequence.at_rest && added >= TokenCount(0) && added <= sequence.prepared);
  const TokenCount written = sequence.length + sequence.prepared;
  sequence.length += added;
  sequence.prepared = TokenCount(0);
  sequence.at_rest = true;
  for (size_t i = 0; i < sequence.tables.size(); ++i) {
    const BlockClass& c = layout_.classes()[i];
    const TokenCount left = Left(sequence, ClassOf(i), sequence.length);
    sequence.tables[i].KeepOnly(layout_.BlocksHeld(ClassOf(i), left));
    if (c.RowsCompleted(Left(sequence, ClassOf(i), written)) > c.RowsCompleted(left)) {
      WipeAfter(sequence, ClassOf(i), sequence.length);
    }
  }
}

void StateStore::WipeAfter(Sequence& sequence, ClassIndex block_class, TokenCount tokens) {
  const auto index = static_cast<size_t>(block_class.value());
  const BlockClass& c = layout_.classes()[index];
  const int64_t rows = c.RowsCompleted(Left(sequence, block_class, tokens));
  if (rows % kRowsPerBlock == 0) return;
  const BlockRef& open = sequence.tables[index].At(rows / kRowsPerBlock);
  CAIRN_CHECK(!open.shared());
  ZeroRowsFrom(layout_, c, rows % kRowsPerBlock, open.data());
}

Status StateStore::CheckRewind(const Sequence& sequence, TokenCount tokens) const {
  if (HasFixed() && tokens != TokenCount(0)) {
    const FixedSlot& slot = layout_.fixed().front();
    return Fail(ErrorCode::kUnsupported,
                "a sequence of {} tokens can't go back to {}: the fixed state of layer {} exists "
                "only for its present length",
                sequence.length.value(), tokens.value(), slot.layer.value());
  }
  if (sequence.dropped && tokens != TokenCount(0) && tokens < sequence.dropped->at) {
    return Fail(ErrorCode::kUnsupported,
                "a sequence of {} tokens can't go back to {}: rows were dropped after {}",
                sequence.length.value(), tokens.value(), sequence.dropped->at.value());
  }
  for (size_t i = 0; i < sequence.tables.size(); ++i) {
    const BlockRange target = layout_.BlocksHeld(ClassOf(i), Left(sequence, ClassOf(i), tokens));
    if (target.first == target.end || target.first >= sequence.tables[i].first()) continue;
    const BlockClass& c = layout_.classes()[i];
    return Fail(ErrorCode::kUnsupported,
                "a sequence of {} tokens can't go back to {}: layer {} needs tokens from {} on "
                "there, and those before {} have left its {} of {}",
                sequence.length.value(), tokens.value(), c.slots.front().layer.value(),
                c.lifetime.FirstNeeded(tokens).value(),
                (c.TokensPerBlock() * sequence.tables[i].first()).value(),
                c.lifetime.kind == Lifetime::Kind::kWindow ? "window" : "chunk",
                c.lifetime.tokens.value());
  }
  return {};
}

Bytes StateStore::BytesToRewind(const Sequence& sequence, TokenCount tokens) const {
  Bytes needed;
  for (size_t i = 0; i < sequence.tables.size(); ++i) {
    const BlockClass& c = layout_.classes()[i];
    const BlockTable& table = sequence.tables[i];
    const TokenCount left = Left(sequence, ClassOf(i), tokens);
    const BlockRange target = layout_.BlocksHeld(ClassOf(i), left);
    for (int64_t b = table.first(); b < table.end(); ++b) {
      const bool kept = b >= target.first && b < target.end;
      if (!kept && !table.At(b).shared()) needed -= c.block_bytes;
    }
    const int64_t rows = c.RowsCompleted(left);
    const bool wipes = rows % kRowsPerBlock != 0 &&
                       c.RowsCompleted(Left(sequence, ClassOf(i), sequence.length)) > rows;
    if (wipes && table.At(rows / kRowsPerBlock).shared()) needed += c.block_bytes;
  }
  if (HasFixed() && sequence.fixed.shared()) needed += layout_.fixed_bytes();
  return needed;
}

Status StateStore::Rewind(SequenceId id, TokenCount tokens) {
  Sequence& sequence = At(id);
  CAIRN_CHECK(sequence.at_rest && tokens >= TokenCount(0) && tokens <= sequence.length);
  if (tokens == sequence.length) return {};
  CAIRN_TRY(CheckRewind(sequence, tokens));
  CAIRN_TRY(CheckRoomForBytes(BytesToRewind(sequence, tokens)));
  // All classes drop first: what they free may be what a copy needs.
  for (size_t i = 0; i < sequence.tables.size(); ++i) {
    const TokenCount left = Left(sequence, ClassOf(i), tokens);
    sequence.tables[i].KeepOnly(layout_.BlocksHeld(ClassOf(i), left));
  }
  for (size_t i = 0; i < sequence.tables.size(); ++i) {
    const BlockClass& c = layout_.classes()[i];
    const int64_t rows = c.RowsCompleted(Left(sequence, ClassOf(i), tokens));
    if (rows % kRowsPerBlock == 0) continue;
    if (c.RowsCompleted(Left(sequence, ClassOf(i), sequence.length)) == rows) continue;
    BlockTable& table = sequence.tables[i];
    const int64_t open = rows / kRowsPerBlock;
    if (table.At(open).shared()) table.Replace(open, CopyOf(table.At(open)));
    WipeAfter(sequence, ClassOf(i), tokens);
  }
  if (HasFixed()) {  // tokens is 0
    if (sequence.fixed.shared()) {
      sequence.fixed = arena_->Allocate(FixedClass());
    } else {
      std::memset(sequence.fixed.data(), 0, static_cast<size_t>(layout_.fixed_bytes().value()));
    }
  }
  sequence.length = tokens;
  if (tokens == TokenCount(0)) sequence.dropped.reset();
  return {};
}

BlockCount StateStore::HeldBlocks(SequenceId id, ClassIndex block_class) const {
  const Sequence& sequence = At(id);
  const auto index = static_cast<size_t>(block_class.value());
  CAIRN_CHECK(index < sequence.tables.size());
  return sequence.tables[index].range().count();
}

Bytes StateStore::HeldBytes(SequenceId id) const {
  Bytes bytes = layout_.fixed_bytes();
  for (size_t i = 0; i < layout_.classes().size(); ++i) {
    bytes += layout_.classes()[i].block_bytes * HeldBlocks(id, ClassOf(i)).value();
  }
  return bytes;
}

std::span<const std::byte> StateStore::FixedBytes(SequenceId id) const {
  if (!HasFixed()) return {};
  return {At(id).fixed.data(), static_cast<size_t>(layout_.fixed_bytes().value())};
}

}  // namespace cairn
