#include "cairn/state/block_pool.h"

#include <doctest/doctest.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "cairn/spec/state_spec_for_tests.h"

namespace cairn {
namespace {

BlockPool MakePool(int64_t block_bytes, int64_t capacity) {
  auto pool = BlockPool::Make(Bytes(block_bytes), BlockCount(capacity));
  REQUIRE(pool.has_value());
  return *std::move(pool);
}

void Fill(const BlockPool& pool, BlockId id, int value) {
  std::memset(pool.Data(id), value, static_cast<size_t>(pool.block_bytes().value()));
}

bool AllAre(const BlockPool& pool, BlockId id, std::byte value) {
  const std::byte* data = pool.Data(id);
  return std::all_of(data, data + pool.block_bytes().value(),
                     [&](std::byte b) { return b == value; });
}

// Pages of [begin, end) that are in RAM.
int64_t ResidentPages(const std::byte* begin, int64_t bytes) {
  const int64_t page = AddressRange::PageBytes();
  std::vector<unsigned char> resident(static_cast<size_t>((bytes + page - 1) / page));
  void* address = const_cast<std::byte*>(begin);
  REQUIRE_EQ(mincore(address, static_cast<size_t>(bytes), resident.data()), 0);
  return std::ranges::count_if(resident, [](unsigned char r) { return (r & 1) != 0; });
}

}  // namespace

TEST_CASE("a block is zero when it is handed out, whatever was in it before") {
  // Smaller than a page, larger, and with a size that no border divides.
  for (const int64_t bytes : {1, 64, 100, 4096, 10000}) {
    BlockPool pool = MakePool(bytes, 8);
    const BlockId first = pool.Take();
    CHECK(AllAre(pool, first, std::byte{0}));
    CHECK_EQ(reinterpret_cast<uintptr_t>(pool.Data(first)) % 64, 0);
    Fill(pool, first, 0xFF);
    pool.Drop(first);
    const BlockId warm = pool.Take();
    CHECK_EQ(warm, first);  // the one whose memory is there
    CHECK(AllAre(pool, warm, std::byte{0}));
    Fill(pool, warm, 0xFF);
    pool.Drop(warm);
    pool.CoolOne();
    const BlockId cold = pool.Take();
    CHECK_EQ(cold, first);
    CHECK(AllAre(pool, cold, std::byte{0}));
    pool.Audit();
  }
}

TEST_CASE("a block is free when its last reference is dropped") {
  BlockPool pool = MakePool(64, 2);
  const BlockId id = pool.Take();
  pool.Share(id);
  CHECK_EQ(pool.References(id), 2);
  pool.Drop(id);
  CHECK_EQ(pool.live(), BlockCount(1));
  CHECK_EQ(pool.warm(), BlockCount(0));
  pool.Drop(id);
  CHECK_EQ(pool.live(), BlockCount(0));
  CHECK_EQ(pool.warm(), BlockCount(1));
  CHECK_THROWS(pool.Drop(id));
  CHECK_THROWS(pool.Share(id));
}

TEST_CASE("misuse fails a CHECK") {
  BlockPool pool = MakePool(64, 1);
  CHECK_THROWS(pool.Drop(BlockId(0)));
  CHECK_THROWS(pool.CoolOne());
  pool.Take();
  CHECK_THROWS(static_cast<void>(pool.Take()));
  CHECK_THROWS(static_cast<void>(pool.References(BlockId(1))));
  CHECK_THROWS(static_cast<void>(pool.References(BlockId(-1))));
}

TEST_CASE("cooling gives back all memory of free neighbours and nothing of live ones") {
  const int64_t page = AddressRange::PageBytes();
  // Blocks that share pages with their neighbours.
  for (const int64_t bytes : {page / 8, page + page / 2, 10 * page + 64}) {
    BlockPool pool = MakePool(bytes, 64);
    std::vector<BlockId> ids;
    for (int i = 0; i < 64; ++i) {
      ids.push_back(pool.Take());
      Fill(pool, ids.back(), 1 + i);
    }
    const int64_t all_bytes = (bytes + 63) / 64 * 64 * 64;
    CHECK_EQ(ResidentPages(pool.Data(ids[0]), all_bytes), (all_bytes + page - 1) / page);
    for (int i = 0; i < 64; i += 2) {
      pool.Drop(ids[static_cast<size_t>(i)]);
      pool.CoolOne();
    }
    for (int i = 1; i < 64; i += 2) {
      CHECK(AllAre(pool, ids[static_cast<size_t>(i)], static_cast<std::byte>(1 + i)));
    }
    for (int i = 1; i < 64; i += 2) {
      pool.Drop(ids[static_cast<size_t>(i)]);
      pool.CoolOne();
    }
    CHECK_EQ(ResidentPages(pool.Data(ids[0]), all_bytes), 0);
    pool.Audit();
    for (int i = 0; i < 64; ++i) CHECK(AllAre(pool, pool.Take(), std::byte{0}));
  }
}

TEST_CASE("random use keeps every block's own bytes") {
  struct Held {
    BlockId id;
    std::byte value;
  };
  for (const int64_t bytes : {192, 5000}) {
    BlockPool pool = MakePool(bytes, 40);
    RandomChoice choose(static_cast<uint64_t>(bytes));
    std::vector<Held> held;
    for (int i = 0; i < 3000; ++i) {
      const int64_t op = choose(5);
      if (op < 2 && held.size() < 40) {
        held.push_back({pool.Take(), static_cast<std::byte>(1 + choose(255))});
        REQUIRE(AllAre(pool, held.back().id, std::byte{0}));
        Fill(pool, held.back().id, static_cast<int>(held.back().value));
      } else if (op < 4 && !held.empty()) {
        const auto at = held.begin() + choose(static_cast<int64_t>(held.size()));
        REQUIRE(AllAre(pool, at->id, at->value));
        pool.Drop(at->id);
        held.erase(at);
      } else if (pool.warm() > BlockCount(0)) {
        pool.CoolOne();
      }
      pool.Audit();
      REQUIRE_EQ(pool.live(), BlockCount(static_cast<int64_t>(held.size())));
    }
    for (const Held& block : held) CHECK(AllAre(pool, block.id, block.value));
  }
}

TEST_CASE("more blocks than ids is an error") {
  const auto pool = BlockPool::Make(Bytes(1), BlockCount(int64_t{1} << 32));
  REQUIRE_FALSE(pool.has_value());
  CHECK_EQ(pool.error().code, ErrorCode::kInvalidArgument);
}

}  // namespace cairn
