#include "cairn/state/block_table.h"

#include <doctest/doctest.h>

#include <array>
#include <utility>

namespace cairn {
namespace {

std::unique_ptr<Arena> MakeArena() {
  const std::array<Bytes, 1> sizes = {Bytes(64)};
  auto arena = Arena::Make(sizes, Bytes(64 * 100));
  REQUIRE(arena.has_value());
  return *std::move(arena);
}

BlockTable MakeTable(Arena& arena, int blocks) {
  BlockTable table;
  for (int i = 0; i < blocks; ++i) table.Append(arena.Allocate(ClassIndex(0)));
  return table;
}

}  // namespace

TEST_CASE("a table finds blocks by logical number after dropping some at both ends") {
  const auto arena = MakeArena();
  BlockTable table = MakeTable(*arena, 6);
  const std::byte* third = table.At(3).data();
  table.KeepOnly({.first = 2, .end = 5});
  CHECK_EQ(table.range(), BlockRange{2, 5});
  CHECK_EQ(table.At(3).data(), third);
  CHECK_EQ(table.view().Block(3), third);
  CHECK_EQ(table.view().first_block, 2);
  CHECK_EQ(table.view().blocks.size(), 3);
  CHECK_EQ(arena->stats().live, Bytes(3 * 64));
  CHECK_THROWS(static_cast<void>(table.At(1)));
  CHECK_THROWS(static_cast<void>(table.At(5)));
  CHECK_THROWS(table.KeepOnly({.first = 1, .end = 4}));
  CHECK_THROWS(table.KeepOnly({.first = 3, .end = 6}));
}

TEST_CASE("an empty table goes on where it was told") {
  const auto arena = MakeArena();
  BlockTable table = MakeTable(*arena, 3);
  table.KeepOnly({.first = 7, .end = 7});
  CHECK_EQ(arena->stats().live, Bytes(0));
  table.Append(arena->Allocate(ClassIndex(0)));
  CHECK_EQ(table.range(), BlockRange{7, 8});
}

TEST_CASE("a shared table holds the same blocks until one of the two replaces its own") {
  const auto arena = MakeArena();
  BlockTable table = MakeTable(*arena, 3);
  table.KeepOnly({.first = 1, .end = 3});
  BlockTable other = table.Share();
  CHECK_EQ(other.range(), table.range());
  CHECK_EQ(other.At(2).data(), table.At(2).data());
  CHECK(table.At(2).shared());
  CHECK_EQ(arena->stats().live, Bytes(2 * 64));
  other.Replace(2, arena->Allocate(ClassIndex(0)));
  CHECK_NE(other.At(2).data(), table.At(2).data());
  CHECK_EQ(other.view().Block(2), other.At(2).data());
  CHECK_FALSE(table.At(2).shared());
  CHECK(table.At(1).shared());
  CHECK_EQ(arena->stats().live, Bytes(3 * 64));
}

}  // namespace cairn
