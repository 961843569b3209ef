// A naive model of StateStore, and a driver that runs random operations on both and compares.
//
// The model keeps the tokens of each sequence in a plain vector and gives every block an identity;
// what a block must contain, who shares it and what all of it weighs follow from these. Only for
// tests and fuzzers: a difference fails a CHECK. `Choose` as in state_spec_for_tests.h.
#ifndef CAIRN_STATE_STATE_MODEL_FOR_TESTS_H_
#define CAIRN_STATE_STATE_MODEL_FOR_TESTS_H_

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "cairn/base/check.h"
#include "cairn/spec/state_spec_for_tests.h"
#include "cairn/state/audit.h"
#include "cairn/state/state_pattern_for_tests.h"
#include "cairn/state/state_store.h"

namespace cairn {

class StateModel {
 public:
  explicit StateModel(std::unique_ptr<StateStore> store) : store_(std::move(store)) {
    for (const BlockClass& c : layout().classes()) class_bytes_.push_back(c.block_bytes);
    if (layout().fixed_bytes() > Bytes(0)) class_bytes_.push_back(layout().fixed_bytes());
  }

  StateStore& store() { return *store_; }
  size_t size() const { return sequences_.size(); }
  int64_t exhausted_count() const { return exhausted_count_; }
  int64_t rewind_count() const { return rewind_count_; }

  // One random operation; then everything is compared.
  template <class Choose>
  void Operate(Choose& choose) {
    const int64_t op = choose(16);
    if (sequences_.empty() || (op == 0 && size() < 6)) {
      Create();
    } else if (op <= 2 && size() < 6) {
      Fork(Pick(choose));
    } else if (op == 3) {
      Release(Pick(choose));
    } else if (op <= 6) {
      const size_t i = Pick(choose);
      Rewind(i, choose(3) == 0 ? 0 : choose(store_->Length(sequences_[i].id).value() + 1));
    } else {
      Step(choose, op <= 9 ? size() : 1);
    }
    Compare();
  }

  // CHECKs that the store is what the model says.
  void Compare() const {
    Audit(*store_);
    CAIRN_CHECK(store_->sequence_count() == static_cast<int64_t>(size()));
    CAIRN_CHECK(store_->LiveBytes() == LiveBytes());
    for (const Sequence& sequence : sequences_) CompareSequence(sequence);
  }

 private:
  struct Sequence {
    SequenceId id;
    std::vector<Stamp> stamps;
    // Logical block -> identity, by class; the Fixed region is block 0 of the last class.
    std::vector<std::map<int64_t, int64_t>> blocks;
  };

  const StateLayout& layout() const { return store_->layout(); }
  size_t row_classes() const { return layout().classes().size(); }
  bool has_fixed() const { return class_bytes_.size() > row_classes(); }

  template <class Choose>
  size_t Pick(Choose& choose) {
    return static_cast<size_t>(choose(static_cast<int64_t>(size())));
  }

  Bytes LiveBytes() const {
    std::set<int64_t> counted;
    Bytes live;
    for (const Sequence& sequence : sequences_) {
      for (size_t c = 0; c < sequence.blocks.size(); ++c) {
        for (const auto& [logical, identity] : sequence.blocks[c]) {
          if (counted.insert(identity).second) live += class_bytes_[c];
        }
      }
    }
    return live;
  }

  bool Shared(size_t block_class, int64_t identity) const {
    return std::ranges::count_if(sequences_, [&](const Sequence& sequence) {
             return std::ranges::any_of(sequence.blocks[block_class], [&](const auto& entry) {
               return entry.second == identity;
             });
           }) > 1;
  }

  // Gives the sequence its own block there, if it has none or a shared one.
  void Own(Sequence& sequence, size_t block_class, int64_t logical) {
    auto [at, inserted] = sequence.blocks[block_class].try_emplace(logical, next_identity_);
    if (inserted || Shared(block_class, at->second)) at->second = next_identity_++;
  }

  void KeepHeld(Sequence& sequence, int64_t tokens) {
    for (size_t c = 0; c < row_classes(); ++c) {
      const BlockRange held = HeldAt(c, tokens);
      std::erase_if(sequence.blocks[c], [&](const auto& entry) {
        return entry.first < held.first || entry.first >= held.end;
      });
    }
  }

  BlockRange HeldAt(size_t block_class, int64_t tokens) const {
    return layout().BlocksHeld(ClassIndex(static_cast<int32_t>(block_class)), TokenCount(tokens));
  }

  // Tries the change on the model; undoes it and answers false if it passes the budget.
  template <class Change>
  bool Fits(size_t i, Change change) {
    const std::vector<std::map<int64_t, int64_t>> before = sequences_[i].blocks;
    change(sequences_[i]);
    if (LiveBytes() <= store_->stats().budget) return true;
    sequences_[i].blocks = before;
    ++exhausted_count_;
    return false;
  }

  void Create() {
    Sequence sequence;
    sequence.blocks.resize(class_bytes_.size());
    if (has_fixed()) sequence.blocks.back()[0] = next_identity_++;
    sequences_.push_back(std::move(sequence));
    const bool fits = Fits(size() - 1, [](Sequence&) {});
    const Result<SequenceId> id = store_->Create();
    CAIRN_CHECK(id.has_value() == fits);
    if (fits) {
      sequences_.back().id = *id;
    } else {
      CAIRN_CHECK(id.error().code == ErrorCode::kExhausted);
      sequences_.pop_back();
    }
  }

  void Fork(size_t i) {
    const Bytes before = store_->LiveBytes();
    const Result<SequenceId> id = store_->Fork(sequences_[i].id);
    CAIRN_CHECK(id.has_value());
    CAIRN_CHECK(store_->LiveBytes() == before);
    Sequence fork = sequences_[i];
    fork.id = *id;
    sequences_.push_back(std::move(fork));
  }

  void Release(size_t i) {
    store_->Release(sequences_[i].id);
    sequences_.erase(sequences_.begin() + static_cast<std::ptrdiff_t>(i));
  }

  void Rewind(size_t i, int64_t tokens) {
    const auto length = static_cast<int64_t>(sequences_[i].stamps.size());
    bool possible = !has_fixed() || tokens == 0 || tokens == length;
    for (size_t c = 0; c < row_classes(); ++c) {
      const BlockRange held = HeldAt(c, tokens);
      for (int64_t b = held.first; b < held.end; ++b) {
        possible = possible && sequences_[i].blocks[c].contains(b);
      }
    }
    const Status status = store_->Rewind(sequences_[i].id, TokenCount(tokens));
    if (!possible) {
      CAIRN_CHECK(!status && status.error().code == ErrorCode::kUnsupported);
      return;
    }
    const bool fits = Fits(i, [&](Sequence& sequence) {
      KeepHeld(sequence, tokens);
      for (size_t c = 0; c < row_classes(); ++c) {
        const BlockClass& block_class = layout().classes()[c];
        const int64_t rows = block_class.RowsCompleted(TokenCount(tokens));
        if (rows < block_class.RowsCompleted(TokenCount(length)) && rows % kRowsPerBlock != 0) {
          Own(sequence, c, rows / kRowsPerBlock);
        }
      }
      if (has_fixed() && tokens != length) Own(sequence, row_classes(), 0);
    });
    CAIRN_CHECK(status.has_value() == fits);
    if (!fits) {
      CAIRN_CHECK(status.error().code == ErrorCode::kExhausted);
      return;
    }
    if (tokens < length) ++rewind_count_;
    sequences_[i].stamps.resize(static_cast<size_t>(tokens));
  }

  bool Prepare(size_t i, int64_t added) {
    const SequenceId id = sequences_[i].id;
    const Bytes before = store_->LiveBytes();
    const Bytes predicted = store_->BytesToPrepare(id, TokenCount(added));
    const Status status = store_->Prepare(id, TokenCount(added));
    const bool fits = Fits(i, [&](Sequence& sequence) {
      const auto length = static_cast<int64_t>(sequence.stamps.size());
      for (size_t c = 0; c < row_classes(); ++c) {
        const BlockClass& block_class = layout().classes()[c];
        const int64_t end = block_class.RowsCompleted(TokenCount(length + added));
        for (int64_t row = block_class.RowsCompleted(TokenCount(length)); row < end; ++row) {
          Own(sequence, c, row / kRowsPerBlock);
        }
      }
      if (has_fixed() && added > 0) Own(sequence, row_classes(), 0);
    });
    CAIRN_CHECK(status.has_value() == fits);
    CAIRN_CHECK(store_->LiveBytes() == (fits ? before + predicted : before));
    if (!fits) CAIRN_CHECK(status.error().code == ErrorCode::kExhausted);
    return fits;
  }

  // One forward call over `count` sequences: all are prepared before the first is written.
  template <class Choose>
  void Step(Choose& choose, size_t count) {
    struct Part {
      size_t i;
      int64_t prepared;
      int64_t committed;
      SequenceView view;
    };
    std::vector<Part> parts;
    const size_t first = Pick(choose);
    for (size_t k = 0; k < count; ++k) {
      const size_t i = (first + k) % size();
      const int64_t added = choose(3) == 0 ? choose(70) : 1;
      if (!Prepare(i, added)) continue;
      // Every fourth call keeps only some of its tokens, as a rejected draft does.
      const int64_t committed = choose(4) == 0 ? choose(added + 1) : added;
      parts.push_back({i, added, committed, {}});
    }
    for (Part& part : parts) part.view = store_->View(sequences_[part.i].id);
    Audit(*store_);
    for (const Part& part : parts) {
      // Fixed components can't be cut back to `committed` tokens afterwards, rows can.
      const int64_t written = has_fixed() ? part.committed : part.prepared;
      std::vector<Stamp>& stamps = sequences_[part.i].stamps;
      for (int64_t t = 0; t < written; ++t) stamps.push_back(next_stamp_++);
      if (written > 0) WriteTokens(layout(), part.view, stamps);
      stamps.resize(static_cast<size_t>(part.view.tokens_before.value() + part.committed));
    }
    for (const Part& part : parts) {
      store_->Commit(sequences_[part.i].id, TokenCount(part.committed));
      const auto length = static_cast<int64_t>(sequences_[part.i].stamps.size());
      KeepHeld(sequences_[part.i], length);
    }
  }

  void CompareSequence(const Sequence& sequence) const {
    const TokenCount length(static_cast<int64_t>(sequence.stamps.size()));
    CAIRN_CHECK(store_->Length(sequence.id) == length);
    CAIRN_CHECK(store_->HeldBytes(sequence.id) == layout().AllocatedBytes(length));
    size_t blocks = 0;
    store_->ForEachBlock(sequence.id, [&](ClassIndex block_class, int64_t logical,
                                          std::span<const std::byte> bytes) {
      const auto c = static_cast<size_t>(block_class.value());
      CAIRN_CHECK(sequence.blocks[c].contains(logical));
      ++blocks;
      const std::vector<std::byte> image =
          BlockImage(layout(), layout().classes()[c], logical, sequence.stamps);
      CAIRN_CHECK(std::ranges::equal(bytes, image));
    });
    for (size_t c = 0; c < row_classes(); ++c) {
      CAIRN_CHECK(blocks >= sequence.blocks[c].size());
      blocks -= sequence.blocks[c].size();
    }
    CAIRN_CHECK(blocks == 0);
    std::vector<std::byte> fixed(static_cast<size_t>(layout().fixed_bytes().value()));
    WriteFixed(layout(), sequence.stamps, fixed.data());
    CAIRN_CHECK(std::ranges::equal(store_->FixedBytes(sequence.id), fixed));
  }

  std::unique_ptr<StateStore> store_;
  std::vector<Bytes> class_bytes_;
  std::vector<Sequence> sequences_;
  int64_t next_identity_ = 0;
  Stamp next_stamp_ = 1;
  int64_t exhausted_count_ = 0;
  int64_t rewind_count_ = 0;
};

// A model over a random spec, with a budget that a few of its sequences use up.
template <class Choose>
StateModel RandomStateModel(Choose& choose) {
  Result<StateLayout> layout = StateLayout::Make(RandomStateSpec(choose, 3));
  CAIRN_CHECK(layout.has_value());
  const Bytes budget =
      layout->AllocatedBytes(TokenCount(1 + choose(300))) * (1 + choose(3)) + Bytes(choose(5000));
  auto store = StateStore::Make(*std::move(layout), {.budget = budget});
  CAIRN_CHECK(store.has_value());
  return StateModel(*std::move(store));
}

}  // namespace cairn

#endif  // CAIRN_STATE_STATE_MODEL_FOR_TESTS_H_
