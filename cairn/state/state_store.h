// StateStore: the state of all sequences of one model, on one arena.
//
// A sequence is at rest, or prepared: Prepare makes blocks for the next tokens writable, View shows
// them to the model, Commit makes the written tokens part of the sequence. Forks share blocks; a
// block that is partly written is copied when one of its holders prepares to write to it.
//
// Invariants (audit.h CHECKs them):
//   1. a sequence at rest after n tokens holds exactly StateLayout::BlocksHeld(n) of each class, so
//      alone it takes StateLayout::AllocatedBytes(n); one that has lost d rows holds
//      BlocksHeld(n - d) of the droppable class, and AllocatedBytesWithout(d, n, 0) in all
//   2. nobody writes to a shared block
//   3. every byte of a held block is a function of the tokens, and of the rows lost, alone: rows
//      beyond the sequence's length, and before a head's first one, are zero, whatever was forked,
//      dropped or rewound before
//   4. what has lost rows is never kept, shared as a prefix or stored: only forks have it, too
//
// Thread safety: none; one thread, the engine's core, owns the store. Views of several sequences
// may be read and written by several threads while no call changes the store.
// A SequenceId that isn't live is the caller's mistake and fails a CHECK.
#ifndef CAIRN_STATE_STATE_STORE_H_
#define CAIRN_STATE_STATE_STORE_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "cairn/base/ids.h"
#include "cairn/base/status.h"
#include "cairn/spec/state_layout.h"
#include "cairn/state/arena.h"
#include "cairn/state/block_table.h"
#include "cairn/state/kept_state.h"
#include "cairn/state/state_view.h"

namespace cairn {

class StateStore {
 public:
  struct Options {
    Bytes budget;
    int64_t max_sequences = 1024;
    // A sequence's tables have room for this many tokens from the start; longer ones grow them.
    TokenCount reserved_tokens{0};
    // A budget shared with the stores of other models, in place of `budget`; outlives the store.
    ByteAccount* account = nullptr;
  };

  static Result<std::unique_ptr<StateStore>> Make(StateLayout layout, Options options);

  // Made by Make.
  StateStore(StateLayout layout, Options options, std::unique_ptr<Arena> arena)
      : layout_(std::move(layout)),
        options_(options),
        arena_(std::move(arena)),
        needs_points_(AnyNeedsPoints(layout_)) {}

  const StateLayout& layout() const { return layout_; }

  // A sequence of no tokens; its Fixed components are zero. kExhausted: too many sequences, or no
  // bytes for the Fixed components.
  Result<SequenceId> Create();
  // A sequence with the same tokens: O(blocks) references, no bytes. REQUIRES `id` is at rest.
  // kExhausted: too many sequences.
  Result<SequenceId> Fork(SequenceId id);
  void Release(SequenceId id);

  // Makes the state of tokens [length, length + added) writable. All or nothing: on kExhausted
  // nothing has changed. REQUIRES `id` is at rest and added >= 0.
  Status Prepare(SequenceId id, TokenCount added);
  // Bytes by which Prepare would raise the live bytes.
  Bytes BytesToPrepare(SequenceId id, TokenCount added) const;
  // Valid until the sequence changes; those of other sequences stay valid. When prepared, rows of
  // tokens [length, length + added) may be written.
  SequenceView View(SequenceId id);
  // The first `added` of the prepared tokens, perhaps none, now belong to the sequence; the rest is
  // wiped. Blocks that are needed no more are freed. REQUIRES the Fixed components are those after
  // exactly `added` tokens.
  void Commit(SequenceId id, TokenCount added);

  // Goes back to the first `tokens` tokens. kUnsupported: a window has dropped rows that are needed
  // there, rows were dropped later than there (none is needed at 0), or the Fixed components exist
  // only for the present length; kExhausted: a shared block
  // must be copied. Then nothing has changed. REQUIRES `id` is at rest and 0 <= tokens <= length.
  Status Rewind(SequenceId id, TokenCount tokens);

  // ---- Fewer rows than tokens, as a token policy says (state_store_drop.cc). ----

  // Drops all other rows of the droppable class, and the blocks that are needed no more. The bytes
  // of a row that stays don't change. kExhausted: shared blocks must be copied; then nothing has
  // changed. REQUIRES `id` is at rest with a token or more, there is such a class, and `keep` names
  // rows that are there.
  Status DropRows(SequenceId id, const RowsToKeep& keep);
  // Bytes by which DropRows may raise the live ones before it frees any.
  Bytes BytesToDrop(SequenceId id, const RowsToKeep& keep) const;
  // Null: it has all its rows.
  const DroppedRows* Dropped(SequenceId id) const;

  // Gives the bytes of a block, all of them, in the order of ForEachBlock, the Fixed region last.
  using FillBlock = std::function<void(std::span<std::byte> block)>;
  // A sequence of so many tokens whose state comes from elsewhere. Rows beyond the tokens are
  // wiped. kExhausted: too many sequences, or no bytes; then nothing was asked for.
  Result<SequenceId> Load(TokenCount tokens, const FillBlock& fill);

  // ---- State that comes from elsewhere in pieces, or goes there. ----

  // References to blocks: those of `ranges` (by ClassIndex) by class and position, then with
  // `fixed` the Fixed region. REQUIRES `id` is at rest and holds them.
  std::vector<BlockRef> ShareBlocks(SequenceId id, std::span<const BlockRange> ranges,
                                    bool fixed) const;
  std::span<std::byte> BytesOf(const BlockRef& block) const;
  // A sequence of so many tokens that is not at rest until EndLoad. Full blocks of the first
  // `shared` tokens come from `path`, pieces of [0, shared) or more, one behind the other; all
  // others are its own, and somebody writes to those of LoadingBlocks. kExhausted: too many
  // sequences, or no bytes. REQUIRES 0 <= shared <= tokens <= kMaxStateTokens.
  Result<SequenceId> BeginLoad(std::span<const KeptRows* const> path, TokenCount shared,
                               TokenCount tokens);
  Bytes BytesToLoad(TokenCount shared, TokenCount tokens) const;
  // As ShareBlocks; REQUIRES nobody shares them.
  std::vector<BlockRef> LoadingBlocks(SequenceId id, std::span<const BlockRange> ranges,
                                      bool fixed) const;
  // All blocks are written. Rows beyond the tokens are wiped.
  void EndLoad(SequenceId id);

  // ---- Pieces that outlive a sequence: kept_state.h. REQUIRES `id` is at rest and has all its
  // rows. ----

  // Rows of the tokens [from, to). REQUIRES from <= to <= length.
  KeptRows KeepRows(SequenceId id, TokenCount from, TokenCount to) const;
  KeptPoint KeepPoint(SequenceId id) const;
  // Whether rows alone bring a sequence back, at any length.
  bool NeedsPoints() const { return needs_points_; }
  // Whether a sequence of `tokens` tokens can be made with this point; fewer tokens than its own
  // need windows that still have their rows.
  bool CanResume(const KeptPoint& point, TokenCount tokens) const;
  // The same for fewer tokens; shares the blocks. REQUIRES CanResume.
  KeptPoint PointBefore(const KeptPoint& point, TokenCount tokens) const;
  // Bytes that Resume adds to the live ones: blocks that are partly written are copied.
  Bytes BytesToResume(TokenCount tokens) const;
  // A sequence of the first `tokens` tokens. `path` are pieces of [0, tokens) or more, one behind
  // the other; `point` may be null if tokens is 0 or no points are needed. REQUIRES CanResume.
  // kExhausted: too many sequences, or no bytes; then nothing has changed.
  Result<SequenceId> Resume(std::span<const KeptRows* const> path, const KeptPoint* point,
                            TokenCount tokens);

  TokenCount Length(SequenceId id) const { return At(id).length; }
  // Bytes of all blocks that the sequence refers to, shared or not.
  Bytes HeldBytes(SequenceId id) const;
  BlockCount HeldBlocks(SequenceId id, ClassIndex block_class) const;

  // Of all sequences, each block counted once.
  Bytes LiveBytes() const { return arena_->stats().live; }
  BlockCount LiveBlocks(ClassIndex block_class) const { return arena_->pool(block_class).live(); }
  // Fixed regions, of sequences and of points. REQUIRES the model has some.
  BlockCount LiveRegions() const { return LiveBlocks(FixedClass()); }
  Bytes available() const { return arena_->available(); }
  const Arena::Stats& stats() const { return arena_->stats(); }
  int64_t sequence_count() const { return static_cast<int64_t>(sequences_.size()); }

  // For tests and fingerprints: visit(ClassIndex, int64_t logical_block, span of const bytes) for
  // each block, by class and position.
  template <class Visit>
  void ForEachBlock(SequenceId id, Visit visit) const {
    const Sequence& sequence = At(id);
    for (size_t i = 0; i < sequence.tables.size(); ++i) {
      const ClassIndex block_class(static_cast<int32_t>(i));
      const BlockTable& table = sequence.tables[i];
      const auto bytes = static_cast<size_t>(layout_.classes()[i].block_bytes.value());
      for (int64_t b = table.first(); b < table.end(); ++b) {
        visit(block_class, b, std::span<const std::byte>(table.At(b).data(), bytes));
      }
    }
  }
  // The region of the Fixed components; empty if the model has none.
  std::span<const std::byte> FixedBytes(SequenceId id) const;

 private:
  friend void Audit(const StateStore& store, const KeptVisitor& kept);

  struct Sequence {
    TokenCount length;
    TokenCount prepared;
    bool at_rest = true;
    std::vector<BlockTable> tables;     // by ClassIndex
    BlockRef fixed;                     // without a block if the model has no Fixed component
    std::vector<BlockTableView> views;  // of tables, as View last handed them out
    std::optional<DroppedRows> dropped;
  };
  // What one class needs so that a sequence can go on.
  struct ClassNeed {
    int64_t new_blocks = 0;
    bool copy_open_block = false;
  };

  // Tokens whose rows the sequence would have of the class after `tokens`, which is 0 or no less
  // than when rows were last dropped.
  TokenCount Left(const Sequence& sequence, ClassIndex block_class, TokenCount tokens) const;
  static bool AnyNeedsPoints(const StateLayout& layout);
  const Sequence& At(SequenceId id) const;
  Sequence& At(SequenceId id);
  Status CheckRoomForSequence() const;
  Status CheckRoomForBytes(Bytes needed) const;
  SequenceId Insert(Sequence sequence);
  ClassIndex FixedClass() const;
  bool HasFixed() const { return layout_.fixed_bytes() > Bytes(0); }
  ClassNeed NeedOf(const Sequence& sequence, ClassIndex block_class, TokenCount added) const;
  Status CheckRewind(const Sequence& sequence, TokenCount tokens) const;
  Bytes BytesToRewind(const Sequence& sequence, TokenCount tokens) const;
  BlockRef CopyOf(const BlockRef& block);
  BlockTable ResumeRows(std::span<const KeptRows* const> path, ClassIndex block_class,
                        TokenCount tokens) const;
  void OwnOpenBlock(BlockTable& table, ClassIndex block_class, TokenCount tokens);
  void WipeAfter(Sequence& sequence, ClassIndex block_class, TokenCount tokens);
  static std::vector<BlockRef> Share(const Sequence& sequence, std::span<const BlockRange> ranges,
                                     bool fixed);

  StateLayout layout_;
  Options options_;
  std::unique_ptr<Arena> arena_;
  bool needs_points_;
  // Nodes don't move: a sequence's views stay valid when others come and go.
  std::unordered_map<SequenceId, Sequence> sequences_;
  int64_t next_id_ = 1;
};

}  // namespace cairn

#endif  // CAIRN_STATE_STATE_STORE_H_
