#include "cairn/state/kept_state.h"

#include <doctest/doctest.h>

#include <memory>
#include <utility>
#include <vector>

#include "cairn/state/audit.h"
#include "cairn/state/prefix_tree_model_for_tests.h"

namespace cairn {
namespace {

Rows MakeRows(const char* name, Lifetime lifetime, int64_t tokens_per_row = 1) {
  Rows rows;
  rows.name = name;
  rows.width = 16;
  rows.tokens_per_row = TokenCount(tokens_per_row);
  rows.lifetime = lifetime;
  return rows;  // 32 bytes a row, 512 a block
}

std::unique_ptr<StateStore> MakeStore(std::vector<Component> components) {
  auto layout = StateLayout::Make({.layers = {{std::move(components)}}});
  REQUIRE(layout.has_value());
  auto store = StateStore::Make(*std::move(layout), {.budget = Bytes(1 << 20)});
  REQUIRE(store.has_value());
  return *std::move(store);
}

Tokens SomeTokens(int64_t count) {
  Tokens tokens;
  for (int64_t i = 0; i < count; ++i) tokens.emplace_back(static_cast<int32_t>(i % 7));
  return tokens;
}

// A sequence that has read the first tokens of SomeTokens.
SequenceId Read(StateStore& store, int64_t count) {
  const auto id = store.Create();
  REQUIRE(id.has_value());
  REQUIRE(store.Prepare(*id, TokenCount(count)));
  WriteTokens(store.layout(), store.View(*id), StampsOf({}, SomeTokens(count)));
  store.Commit(*id, TokenCount(count));
  return *id;
}

constexpr int64_t kBlock = 512;

}  // namespace

TEST_CASE("pieces that are cut in the middle of a block share it, and bring every length back") {
  const auto store = MakeStore({MakeRows("keys", Lifetime::All())});
  const SequenceId id = Read(*store, 100);
  KeptRows first = store->KeepRows(id, TokenCount(0), TokenCount(100));
  KeptRows second = SplitRows(store->layout(), first, TokenCount(40));
  CHECK(first.to == TokenCount(40));
  CHECK(second.from == TokenCount(40));
  CHECK(BytesOf(store->layout(), first) == Bytes(3 * kBlock));
  CHECK(BytesOf(store->layout(), second) == Bytes(5 * kBlock));  // the block of 32 to 47 is in both
  store->Release(id);
  CHECK(store->LiveBytes() == Bytes(7 * kBlock));

  const std::vector<const KeptRows*> path = {&first, &second};
  for (const int64_t tokens : {1, 16, 39, 40, 41, 64, 99, 100}) {
    CAPTURE(tokens);
    const Bytes before = store->LiveBytes();
    const auto resumed = store->Resume(path, nullptr, TokenCount(tokens));
    REQUIRE(resumed.has_value());
    CHECK(store->LiveBytes() - before == store->BytesToResume(TokenCount(tokens)));
    CheckBytes(*store, *resumed, {}, SomeTokens(tokens));
    store->Release(*resumed);
  }
}

TEST_CASE("rows dropped from a piece's end give their blocks back") {
  const auto store = MakeStore({MakeRows("keys", Lifetime::All())});
  const SequenceId id = Read(*store, 100);
  KeptRows rows = store->KeepRows(id, TokenCount(20), TokenCount(100));
  store->Release(id);
  CHECK(store->LiveBytes() == Bytes(6 * kBlock));
  TruncateRows(store->layout(), rows, TokenCount(33));
  CHECK(store->LiveBytes() == Bytes(2 * kBlock));
  TruncateRows(store->layout(), rows, TokenCount(20));
  CHECK(store->LiveBytes() == Bytes(0));
}

TEST_CASE("compressed rows belong to the piece with the token that completes them") {
  const auto store = MakeStore({MakeRows("entries", Lifetime::All(), 4)});
  const BlockClass& c = store->layout().classes().front();
  CHECK(BlocksOfRows(c, TokenCount(0), TokenCount(3)) == BlockRange{0, 0});
  CHECK(BlocksOfRows(c, TokenCount(3), TokenCount(4)) == BlockRange{0, 1});
  CHECK(BlocksOfRows(c, TokenCount(63), TokenCount(64)) == BlockRange{0, 1});
  CHECK(BlocksOfRows(c, TokenCount(64), TokenCount(67)) == BlockRange{1, 1});
  CHECK(BlocksOfRows(c, TokenCount(60), TokenCount(68)) == BlockRange{0, 2});
}

TEST_CASE(
    "a point brings back shorter sequences as far as its windows reach, without Fixed state") {
  const auto store = MakeStore({MakeRows("keys", Lifetime::Window(TokenCount(8)))});
  const SequenceId id = Read(*store, 50);
  const KeptPoint point = store->KeepPoint(id);
  store->Release(id);
  // 50 tokens need rows from 43 on; the block of 32 to 47 is there.
  CHECK(store->CanResume(point, TokenCount(50)));
  CHECK(store->CanResume(point, TokenCount(39)));
  CHECK_FALSE(store->CanResume(point, TokenCount(38)));
  CHECK_FALSE(store->CanResume(point, TokenCount(51)));
  for (const int64_t tokens : {50, 48, 47, 39}) {
    const auto resumed = store->Resume({}, &point, TokenCount(tokens));
    REQUIRE(resumed.has_value());
    CheckBytes(*store, *resumed, {}, SomeTokens(tokens));
    store->Release(*resumed);
  }
  const KeptPoint before = store->PointBefore(point, TokenCount(40));
  CHECK(before.tokens == TokenCount(40));
  CHECK(store->CanResume(before, TokenCount(40)));
  CHECK_FALSE(store->CanResume(before, TokenCount(41)));
}

TEST_CASE("Fixed state comes back at its own length alone, and the next token copies it") {
  Fixed fixed;
  fixed.name = "memory";
  fixed.elements = ElementCount(25);
  const auto store = MakeStore({fixed});
  const SequenceId id = Read(*store, 9);
  const KeptPoint point = store->KeepPoint(id);
  CHECK(store->CanResume(point, TokenCount(9)));
  CHECK_FALSE(store->CanResume(point, TokenCount(8)));
  CHECK(store->BytesToPrepare(id, TokenCount(1)) == store->layout().fixed_bytes());
  store->Release(id);
  const auto resumed = store->Resume({}, &point, TokenCount(9));
  REQUIRE(resumed.has_value());
  CheckBytes(*store, *resumed, {}, SomeTokens(9));
  store->Release(*resumed);
}

TEST_CASE("an audit counts the references of kept pieces, and misses one that it isn't shown") {
  const auto store = MakeStore({MakeRows("keys", Lifetime::All())});
  const SequenceId id = Read(*store, 20);
  const KeptRows rows = store->KeepRows(id, TokenCount(0), TokenCount(20));
  CHECK_NOTHROW(Audit(*store, [&](const RefVisitor& visit) { ForEachRef(rows, visit); }));
  CHECK_THROWS(Audit(*store));
  store->Release(id);
}

}  // namespace cairn
