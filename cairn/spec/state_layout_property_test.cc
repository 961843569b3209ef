// Properties of StateLayout that hold for any spec, against a simulation token by token.
#include <doctest/doctest.h>

#include <set>
#include <utility>
#include <vector>

#include "cairn/spec/state_layout.h"
#include "cairn/spec/state_spec_for_tests.h"

namespace cairn {
namespace {

StateLayout RandomLayout(RandomChoice& choose, int64_t max_layers) {
  auto layout = StateLayout::Make(RandomStateSpec(choose, max_layers));
  REQUIRE(layout.has_value());
  return *std::move(layout);
}

// Feeds tokens one at a time and keeps the rows that are alive in a set, block by block.
class NaiveClass {
 public:
  explicit NaiveClass(const BlockClass& block_class) : class_(block_class) {}

  void Feed(int64_t position) {
    const int64_t per_row = class_.tokens_per_row.value();
    const bool first = class_.lifetime.kind == Lifetime::Kind::kFirst;
    if (!first || position < class_.lifetime.tokens.value()) {
      if ((position + 1) % per_row == 0) rows_.insert(position / per_row);
      written_ = (position + 1) / per_row;
    }
    const int64_t next = position + 1;
    std::erase_if(rows_, [&](int64_t row) {
      // Dead once no token of the row can be seen by the next query.
      for (int64_t j = row * per_row; j < (row + 1) * per_row; ++j) {
        if (Sees(next, j)) return false;
      }
      return true;
    });
  }

  int64_t rows() const { return static_cast<int64_t>(rows_.size()); }

  std::set<int64_t> Blocks() const {
    std::set<int64_t> blocks;
    for (const int64_t row : rows_) blocks.insert(row / kRowsPerBlock);
    if (written_ % kRowsPerBlock != 0) blocks.insert(written_ / kRowsPerBlock);
    return blocks;
  }

 private:
  bool Sees(int64_t query, int64_t key) const {
    const int64_t size = class_.lifetime.tokens.value();
    switch (class_.lifetime.kind) {
      case Lifetime::Kind::kAll:
      case Lifetime::Kind::kFirst:
        return true;
      case Lifetime::Kind::kWindow:
        return key > query - size;
      case Lifetime::Kind::kChunk:
        return query / size - key / size <= class_.lifetime.chunks_before;
    }
    return false;
  }

  const BlockClass& class_;
  std::set<int64_t> rows_;
  int64_t written_ = 0;
};

void CheckAgainstNaive(const StateLayout& layout, int64_t n, const std::vector<NaiveClass>& naive) {
  Bytes content;
  Bytes allocated = layout.fixed_bytes();
  for (size_t i = 0; i < naive.size(); ++i) {
    const ClassIndex index(static_cast<int32_t>(i));
    REQUIRE_EQ(layout.RowsNeeded(index, TokenCount(n)), naive[i].rows());
    const BlockRange held = layout.BlocksHeld(index, TokenCount(n));
    const std::set<int64_t> blocks = naive[i].Blocks();
    REQUIRE_EQ(held.count().value(), static_cast<int64_t>(blocks.size()));
    if (!blocks.empty()) {
      REQUIRE_EQ(held.first, *blocks.begin());
      REQUIRE_EQ(held.end, *blocks.rbegin() + 1);
    }
    content += layout.classes()[i].row_bytes * naive[i].rows();
    allocated += layout.classes()[i].block_bytes * static_cast<int64_t>(blocks.size());
  }
  for (const FixedSlot& slot : layout.fixed()) content += slot.bytes;
  REQUIRE_EQ(layout.ContentBytes(TokenCount(n)), content);
  REQUIRE_EQ(layout.AllocatedBytes(TokenCount(n)), allocated);
  REQUIRE(content <= allocated);
}

}  // namespace

TEST_CASE("random specs hold what a simulation token by token holds") {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    RandomChoice choose(seed);
    const StateLayout layout = RandomLayout(choose, 6);
    std::vector<NaiveClass> naive;
    for (const BlockClass& block_class : layout.classes()) naive.emplace_back(block_class);
    CheckAgainstNaive(layout, 0, naive);
    for (int64_t n = 1; n <= 400; ++n) {
      for (NaiveClass& c : naive) c.Feed(n - 1);
      CheckAgainstNaive(layout, n, naive);
    }
  }
}

TEST_CASE("block ranges only move forward, and adding extends the end by the new rows") {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    RandomChoice choose(seed);
    const StateLayout layout = RandomLayout(choose, 6);
    for (size_t i = 0; i < layout.classes().size(); ++i) {
      const ClassIndex index(static_cast<int32_t>(i));
      BlockRange before;
      for (int64_t n = 0; n < 700; ++n) {
        const BlockRange held = layout.BlocksHeld(index, TokenCount(n));
        REQUIRE(held.first >= before.first);
        REQUIRE(held.end >= before.end);
        REQUIRE(held.first <= held.end);
        REQUIRE(held.count().value() * kRowsPerBlock >= layout.RowsNeeded(index, TokenCount(n)));
        const int64_t added = choose(100);
        const BlockRange adding = layout.BlocksWhileAdding(index, TokenCount(n), TokenCount(added));
        REQUIRE_EQ(adding.first, held.first);
        REQUIRE_EQ(adding.end, layout.BlocksHeld(index, TokenCount(n + added)).end);
        before = held;
      }
    }
  }
}

TEST_CASE("rows seen are the most that any query so far had before it, and its own") {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    RandomChoice choose(seed);
    const StateLayout layout = RandomLayout(choose, 6);
    for (size_t i = 0; i < layout.classes().size(); ++i) {
      if (layout.classes()[i].tokens_per_row != TokenCount(1)) continue;
      const ClassIndex index(static_cast<int32_t>(i));
      const Lifetime& lifetime = layout.classes()[i].lifetime;
      int64_t most = 0;
      REQUIRE_EQ(layout.RowsSeen(index, TokenCount(0)), 0);
      for (int64_t n = 1; n < 700; ++n) {
        most = std::max(most, layout.RowsNeeded(index, TokenCount(n - 1)) + 1);
        if (lifetime.kind == Lifetime::Kind::kFirst) most = std::min(n, lifetime.tokens.value());
        REQUIRE_EQ(layout.RowsSeen(index, TokenCount(n)), most);
      }
    }
  }
}

TEST_CASE("slots of a class fill its block without gaps or overlap") {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    RandomChoice choose(seed);
    const StateLayout layout = RandomLayout(choose, 8);
    for (const BlockClass& block_class : layout.classes()) {
      Bytes end;
      for (const RowsSlot& slot : block_class.slots) {
        REQUIRE_EQ(slot.offset, end);
        REQUIRE(slot.bytes > Bytes(0));
        end += slot.bytes;
      }
      REQUIRE_EQ(block_class.block_bytes, end);
      REQUIRE_EQ(block_class.row_bytes * kRowsPerBlock, end);
    }
    Bytes end;
    for (const FixedSlot& slot : layout.fixed()) {
      REQUIRE(slot.offset >= end);
      REQUIRE_EQ(slot.offset.value() % 64, 0);
      end = slot.offset + slot.bytes;
    }
    REQUIRE_EQ(layout.fixed_bytes(), end);
  }
}

}  // namespace cairn
