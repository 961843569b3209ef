// Sequences that lose rows, against a naive model that keeps the stamp of every row of every head.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "cairn/spec/state_spec_for_tests.h"
#include "cairn/state/audit.h"
#include "cairn/state/state_pattern_for_tests.h"
#include "cairn/state/state_store.h"

namespace cairn {
namespace {

constexpr Stamp kNoRow = 0;  // of a row that isn't there; stamps begin at 1

// A sequence and what its droppable rows must be: [layer][head][row].
struct Naive {
  SequenceId id;
  std::vector<Stamp> tokens;
  std::vector<std::vector<std::vector<Stamp>>> rows;
};

class DropModel {
 public:
  explicit DropModel(StateLayout layout)
      : layout_(std::move(layout)),
        index_(*layout_.DroppableClass()),
        store_(*StateStore::Make(layout_, {.budget = Bytes(int64_t{1} << 26)})) {}

  StateStore& store() { return *store_; }
  Naive Create() {
    Naive naive{.id = *store_->Create(), .tokens = {}, .rows = {}};
    naive.rows.resize(layout_.spec().layers.size());
    for (const RowsSlot& slot : Class().slots) {
      naive.rows[static_cast<size_t>(slot.layer.value())].resize(
          static_cast<size_t>(RowsOf(slot).heads));
    }
    return naive;
  }
  Naive Fork(const Naive& from) {
    Naive fork = from;
    fork.id = *store_->Fork(from.id);
    return fork;
  }

  // Prepares `prepared` tokens and commits `added` of them.
  void Step(Naive& naive, int64_t prepared, int64_t added) {
    REQUIRE(store_->Prepare(naive.id, TokenCount(prepared)));
    std::vector<Stamp> tokens = naive.tokens;
    for (int64_t i = 0; i < prepared; ++i) tokens.push_back(next_++);
    const SequenceView view = store_->View(naive.id);
    for (size_t c = 0; c < layout_.classes().size(); ++c) {
      const BlockClass& block_class = layout_.classes()[c];
      for (auto t = view.tokens_before.value(); t < std::ssize(tokens); ++t) {
        const int64_t whole = block_class.RowsCompleted(TokenCount(t));
        if (block_class.RowsCompleted(TokenCount(t + 1)) == whole) continue;
        const bool dropped = static_cast<int32_t>(c) == index_.value();
        const int64_t row = dropped ? view.RowOf(t) : whole;
        WriteRow(layout_, block_class, row % kRowsPerBlock, tokens[static_cast<size_t>(t)],
                 view.tables[c].Block(row / kRowsPerBlock));
      }
    }
    tokens.resize(naive.tokens.size() + static_cast<size_t>(added));
    if (view.fixed != nullptr) WriteFixed(layout_, tokens, view.fixed);
    store_->Commit(naive.id, TokenCount(added));
    for (auto& heads : naive.rows) {
      for (auto& rows : heads) {
        rows.insert(rows.end(), tokens.end() - added, tokens.end());
      }
    }
    naive.tokens = tokens;
  }

  template <class Choose>
  RowsToKeep Pick(const Naive& naive, Choose& choose) const {
    RowsToKeep keep(naive.rows.size());
    for (size_t layer = 0; layer < keep.size(); ++layer) {
      for (const auto& rows : naive.rows[layer]) {
        std::vector<int32_t>& kept = keep[layer].emplace_back();
        const int64_t share = choose(4);
        for (size_t r = 0; r < rows.size(); ++r) {
          if (rows[r] != kNoRow && choose(4) <= share) kept.push_back(static_cast<int32_t>(r));
        }
        if (kept.empty()) kept.push_back(static_cast<int32_t>(rows.size() - 1));
      }
    }
    return keep;
  }

  void Drop(Naive& naive, const RowsToKeep& keep) {
    REQUIRE(store_->DropRows(naive.id, keep));
    size_t most = 0;
    for (const auto& heads : keep) {
      for (const auto& kept : heads) most = std::max(most, kept.size());
    }
    for (size_t layer = 0; layer < keep.size(); ++layer) {
      for (size_t h = 0; h < keep[layer].size(); ++h) {
        const std::vector<int32_t>& kept = keep[layer][h];
        std::vector<Stamp> rows(most - kept.size(), kNoRow);
        for (const int32_t row : kept) {
          rows.push_back(naive.rows[layer][h][static_cast<size_t>(row)]);
        }
        naive.rows[layer][h] = rows;
      }
    }
  }

  void Rewind(Naive& naive, int64_t tokens) {
    const auto back = std::ssize(naive.tokens) - tokens;
    REQUIRE(store_->Rewind(naive.id, TokenCount(tokens)));
    naive.tokens.resize(static_cast<size_t>(tokens));
    for (auto& heads : naive.rows) {
      for (auto& rows : heads) rows.resize(rows.size() - static_cast<size_t>(back));
    }
  }

  void Compare(const Naive& naive) const {
    Audit(*store_);
    store_->ForEachBlock(naive.id, [&](ClassIndex c, int64_t b, std::span<const std::byte> bytes) {
      const BlockClass& block_class = layout_.classes()[static_cast<size_t>(c.value())];
      const std::vector<std::byte> expected =
          c == index_ ? Image(naive, b) : BlockImage(layout_, block_class, b, naive.tokens);
      CHECK(std::ranges::equal(bytes, expected));
    });
    const TokenCount tokens = store_->Length(naive.id);
    CHECK(tokens.value() == std::ssize(naive.tokens));
    const DroppedRows* dropped = store_->Dropped(naive.id);
    const TokenCount lost = dropped == nullptr ? TokenCount(0) : dropped->rows;
    CHECK(store_->HeldBytes(naive.id) ==
          layout_.AllocatedBytesWithout(lost, tokens, TokenCount(0)));
  }

 private:
  const BlockClass& Class() const { return layout_.classes()[static_cast<size_t>(index_.value())]; }
  const Rows& RowsOf(const RowsSlot& slot) const {
    const LayerState& layer = layout_.spec().layers[static_cast<size_t>(slot.layer.value())];
    return std::get<Rows>(layer.components[static_cast<size_t>(slot.component)]);
  }

  std::vector<std::byte> Image(const Naive& naive, int64_t block) const {
    std::vector<std::byte> image(static_cast<size_t>(Class().block_bytes.value()));
    for (size_t s = 0; s < Class().slots.size(); ++s) {
      const RowsSlot& slot = Class().slots[s];
      const Rows& rows = RowsOf(slot);
      const int64_t head_bytes = RowBytesOf(rows.codec, rows.width).value();
      for (int64_t h = 0; h < rows.heads; ++h) {
        const auto& stamps =
            naive.rows[static_cast<size_t>(slot.layer.value())][static_cast<size_t>(h)];
        for (int64_t r = 0; r < kRowsPerBlock; ++r) {
          const auto row = static_cast<size_t>(block * kRowsPerBlock + r);
          if (row >= stamps.size() || stamps[row] == kNoRow) continue;
          for (int64_t i = 0; i < head_bytes; ++i) {
            image[static_cast<size_t>(slot.offset.value() + PlaceOfByte(rows, h, r, i))] =
                PatternByte(stamps[row], static_cast<int64_t>(s), h * head_bytes + i);
          }
        }
      }
    }
    return image;
  }

  const StateLayout layout_;
  const ClassIndex index_;
  std::unique_ptr<StateStore> store_;
  Stamp next_ = 1;
};

// Components of one layer have one number of heads, as keys and values do.
StateSpec WithEqualHeads(StateSpec spec) {
  for (LayerState& layer : spec.layers) {
    int64_t heads = 0;
    for (Component& component : layer.components) {
      auto* rows = std::get_if<Rows>(&component);
      if (rows == nullptr) continue;
      if (heads == 0) heads = rows->heads;
      rows->heads = heads;
    }
  }
  return spec;
}

Rows KeyRows(int64_t heads) {
  Rows rows;
  rows.name = "keys";
  rows.heads = heads;
  rows.width = 8;
  return rows;
}

}  // namespace

TEST_CASE("rows that stay keep their bytes, and a sequence holds exactly the blocks they need") {
  int with_rows = 0;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    CAPTURE(seed);
    RandomChoice choose(seed);
    auto layout = StateLayout::Make(WithEqualHeads(RandomStateSpec(choose, 4)));
    REQUIRE(layout.has_value());
    if (!layout->DroppableClass()) continue;
    ++with_rows;
    DropModel model(*layout);
    Naive first = model.Create();
    model.Step(first, 1 + choose(70), 1);
    model.Step(first, choose(70), 0);
    const int64_t prompt = 20 + choose(60);
    model.Step(first, prompt, prompt);
    Naive whole = model.Fork(first);
    for (int round = 0; round < 3; ++round) {
      model.Drop(first, model.Pick(first, choose));
      model.Compare(first);
      model.Compare(whole);  // whose blocks were shared
      Naive fork = model.Fork(first);
      const int64_t prepared = 1 + choose(40);
      model.Step(first, prepared, choose(prepared + 1));
      model.Compare(first);
      model.Compare(fork);
      model.Step(fork, 3, 3);
      model.Compare(fork);
      model.store().Release(fork.id);
    }
    model.store().Release(whole.id);
    model.store().Release(first.id);
    Audit(model.store());
  }
  CHECK(with_rows > 20);
}

TEST_CASE("a sequence that lost rows goes back to where it lost them, no further, or begins anew") {
  StateSpec spec;
  spec.layers.resize(2);
  for (LayerState& layer : spec.layers) {
    layer.components.push_back(KeyRows(2));
  }
  DropModel model(*StateLayout::Make(spec));
  RandomChoice choose(7);
  Naive naive = model.Create();
  model.Step(naive, 50, 50);
  model.Drop(naive, model.Pick(naive, choose));
  model.Step(naive, 30, 30);
  model.Rewind(naive, 55);
  model.Compare(naive);
  model.Rewind(naive, 50);
  model.Compare(naive);
  const Status refused = model.store().Rewind(naive.id, TokenCount(49));
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().code == ErrorCode::kUnsupported);
  CHECK(refused.error().message.find("rows were dropped after 50") != std::string::npos);
  model.Compare(naive);
  REQUIRE(model.store().Rewind(naive.id, TokenCount(0)));
  CHECK(model.store().Dropped(naive.id) == nullptr);
  Naive anew = model.Create();
  anew.id = naive.id;
  model.Step(anew, 20, 20);
  model.Compare(anew);
}

TEST_CASE(
    "nothing of a sequence that lost rows is kept, and nothing changes where bytes are short") {
  StateSpec spec;
  spec.layers.resize(1);
  spec.layers[0].components.push_back(KeyRows(1));
  const StateLayout layout = *StateLayout::Make(spec);
  const Bytes blocks = layout.AllocatedBytes(TokenCount(64));
  const auto store = *StateStore::Make(layout, {.budget = blocks});
  const SequenceId id = *store->Create();
  REQUIRE(store->Prepare(id, TokenCount(64)));
  store->Commit(id, TokenCount(64));
  const RowsToKeep keep = {{{1, 5, 9}}};
  {
    const KeptRows kept = store->KeepRows(id, TokenCount(0), TokenCount(64));
    const Status refused = store->DropRows(id, keep);
    REQUIRE_FALSE(refused.has_value());
    CHECK(refused.error().code == ErrorCode::kExhausted);
    CHECK(store->Dropped(id) == nullptr);
  }
  CHECK(store->BytesToDrop(id, keep) == Bytes(0));
  REQUIRE(store->DropRows(id, keep));
  CHECK(store->LiveBytes() == layout.AllocatedBytesWithout(TokenCount(61), TokenCount(64), {}));
  CHECK_THROWS(store->KeepRows(id, TokenCount(0), TokenCount(64)));
  CHECK_THROWS(store->KeepPoint(id));
}

}  // namespace cairn
