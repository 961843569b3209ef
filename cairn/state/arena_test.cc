#include "cairn/state/arena.h"

#include <doctest/doctest.h>

#include <array>
#include <utility>
#include <vector>

#include "cairn/spec/state_spec_for_tests.h"

namespace cairn {
namespace {

constexpr ClassIndex kSmall{0};
constexpr ClassIndex kLarge{1};
constexpr int64_t kMebibyte = int64_t{1} << 20;

std::unique_ptr<Arena> MakeArena(Bytes small, Bytes large, Bytes budget) {
  const std::array<Bytes, 2> sizes = {small, large};
  auto arena = Arena::Make(sizes, budget);
  REQUIRE(arena.has_value());
  return *std::move(arena);
}

}  // namespace

TEST_CASE("live bytes are counted to the byte, without padding") {
  const auto arena = MakeArena(Bytes(100), Bytes(1000), Bytes(2500));
  BlockRef a = arena->Allocate(kSmall);
  const BlockRef b = arena->Allocate(kLarge);
  const BlockRef c = arena->Allocate(kLarge);
  CHECK_EQ(arena->stats().live, Bytes(2100));
  CHECK_EQ(arena->available(), Bytes(400));
  a = BlockRef();
  CHECK_EQ(arena->stats().live, Bytes(2000));
  CHECK_EQ(arena->stats().live_max, Bytes(2100));
  CHECK_EQ(arena->stats().warm, Bytes(100));
  arena->Audit();
}

TEST_CASE("one budget serves all classes") {
  const auto arena = MakeArena(Bytes(100), Bytes(1000), Bytes(2000));
  std::vector<BlockRef> blocks;
  blocks.reserve(20);
  for (int i = 0; i < 20; ++i) blocks.push_back(arena->Allocate(kSmall));
  CHECK_EQ(arena->available(), Bytes(0));
  CHECK_THROWS(static_cast<void>(arena->Allocate(kSmall)));
  blocks.resize(10);
  blocks.push_back(arena->Allocate(kLarge));
  CHECK_EQ(arena->available(), Bytes(0));
  // The memory of the ten small ones that are free now serves the large one.
  CHECK_EQ(arena->stats().warm, Bytes(0));
  arena->Audit();
}

TEST_CASE("a block lives as long as one of its references") {
  const auto arena = MakeArena(Bytes(64), Bytes(64), Bytes(128));
  BlockRef first = arena->Allocate(kLarge);
  CHECK_FALSE(first.shared());
  {
    BlockRef second = first.Share();
    CHECK(first.shared());
    CHECK_EQ(second.data(), first.data());
    CHECK_EQ(second.block_class(), kLarge);
    const BlockRef moved = std::move(second);
    CHECK_EQ(moved.id(), first.id());
    CHECK_EQ(arena->stats().live, Bytes(64));
  }
  CHECK_FALSE(first.shared());
  first = BlockRef();
  CHECK_FALSE(first.has_block());
  CHECK_EQ(arena->stats().live, Bytes(0));
  CHECK_THROWS(static_cast<void>(first.Share()));
}

TEST_CASE("free memory above the warm limit goes back, a little stays for the next blocks") {
  const auto arena = MakeArena(Bytes(kMebibyte), Bytes(40 * kMebibyte), Bytes(100 * kMebibyte));
  std::vector<BlockRef> blocks;
  blocks.reserve(50);
  for (int i = 0; i < 50; ++i) blocks.push_back(arena->Allocate(kSmall));
  blocks.clear();
  CHECK_EQ(arena->stats().live, Bytes(0));
  CHECK_EQ(arena->stats().warm, Arena::kWarmBytes);
  // A block above the limit doesn't stay at all.
  blocks.push_back(arena->Allocate(kLarge));
  blocks.clear();
  CHECK(arena->stats().warm <= Arena::kWarmBytes);
  arena->Audit();
}

TEST_CASE("live and warm bytes never pass the budget") {
  const auto arena = MakeArena(Bytes(300), Bytes(7000), Bytes(50000));
  RandomChoice choose(1);
  std::vector<BlockRef> blocks;
  blocks.reserve(50);
  for (int i = 0; i < 5000; ++i) {
    const ClassIndex block_class = choose(10) == 0 ? kLarge : kSmall;
    if (choose(2) == 0 && arena->pool(block_class).block_bytes() <= arena->available()) {
      blocks.push_back(arena->Allocate(block_class));
    } else if (!blocks.empty()) {
      std::swap(blocks[static_cast<size_t>(choose(static_cast<int64_t>(blocks.size())))],
                blocks.back());
      blocks.pop_back();
    }
    arena->Audit();
  }
}

TEST_CASE("arenas of one account never pass its budget together, live and warm") {
  ByteAccount account(Bytes(50000));
  {
    const std::array<Bytes, 2> sizes[] = {{Bytes(300), Bytes(7000)}, {Bytes(500), Bytes(9000)}};
    std::vector<std::unique_ptr<Arena>> arenas;
    for (const auto& size : sizes) arenas.push_back(*Arena::Make(size, Bytes(1), &account));
    RandomChoice choose(2);
    std::vector<BlockRef> blocks;
    blocks.reserve(100);
    for (int i = 0; i < 5000; ++i) {
      Arena& arena = *arenas[static_cast<size_t>(choose(2))];
      CHECK(arena.available() == account.available());
      const ClassIndex block_class = choose(10) == 0 ? kLarge : kSmall;
      if (choose(2) == 0 && arena.pool(block_class).block_bytes() <= arena.available()) {
        blocks.push_back(arena.Allocate(block_class));
      } else if (!blocks.empty()) {
        std::swap(blocks[static_cast<size_t>(choose(static_cast<int64_t>(blocks.size())))],
                  blocks.back());
        blocks.pop_back();
      }
      for (const auto& each : arenas) each->Audit();
      account.Audit();
    }
    CHECK(account.live() > Bytes(0));
  }
  account.Audit();
  CHECK(account.live() == Bytes(0));
}

TEST_CASE("a budget out of bounds is an error that says the bound") {
  const std::array<Bytes, 1> sizes = {Bytes(64)};
  for (const Bytes budget : {Bytes(-1), Arena::kMaxBudget + Bytes(1), Bytes(INT64_MAX)}) {
    const auto arena = Arena::Make(sizes, budget);
    REQUIRE_FALSE(arena.has_value());
    CHECK_EQ(arena.error().code, ErrorCode::kInvalidArgument);
    CHECK(arena.error().message.find("between 0 and") != std::string::npos);
  }
}

}  // namespace cairn
