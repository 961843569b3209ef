// What a decode step and a disk's compaction take from the heap: this file counts every operator
// new.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>
#include <new>
#include <span>
#include <utility>
#include <vector>

#include "cairn/base/temp_folder_for_tests.h"
#include "cairn/state/segment_log.h"
#include "cairn/state/state_store.h"

namespace {

thread_local int64_t g_allocations = 0;
thread_local size_t g_largest = 0;

}  // namespace

void* operator new(size_t bytes) {
  ++g_allocations;
  g_largest = std::max(g_largest, bytes);
  if (void* memory = std::malloc(bytes == 0 ? 1 : bytes)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }

namespace cairn {

TEST_CASE("preparing, viewing and committing a token allocates nothing") {
  StateSpec spec;
  for (const Lifetime& lifetime :
       {Lifetime::All(), Lifetime::Window(TokenCount(64)), Lifetime::Chunk(TokenCount(48)),
        Lifetime::Chunk(TokenCount(12))}) {
    Rows rows;
    rows.name = "keys";
    rows.width = 16;
    rows.lifetime = lifetime;
    Fixed fixed;
    fixed.name = "memory";
    fixed.elements = ElementCount(10);
    spec.layers.push_back({{rows, fixed}});
  }
  auto layout = StateLayout::Make(std::move(spec));
  REQUIRE(layout.has_value());
  auto made = StateStore::Make(*std::move(layout),
                               {.budget = Bytes(64 << 20), .reserved_tokens = TokenCount(2000)});
  REQUIRE(made.has_value());
  StateStore& store = **made;

  std::array<SequenceId, 3> ids;
  for (SequenceId& id : ids) {
    const auto created = store.Create();
    REQUIRE(created.has_value());
    id = *created;
    REQUIRE(store.Prepare(id, TokenCount(100)).has_value());
    store.Commit(id, TokenCount(100));
  }
  const auto fork = store.Fork(ids[0]);
  REQUIRE(fork.has_value());
  ids[2] = *fork;  // its first write copies

  bool fine = true;
  const int64_t before = g_allocations;
  for (int64_t n = 100; n < 2000; ++n) {
    for (const SequenceId id : ids) fine = fine && store.Prepare(id, TokenCount(1)).has_value();
    for (const SequenceId id : ids) fine = fine && store.View(id).tables.size() == 4;
    for (const SequenceId id : ids) store.Commit(id, TokenCount(1));
  }
  CHECK_EQ(g_allocations, before);
  CHECK(fine);
  CHECK_EQ(store.Length(ids[2]), TokenCount(2000));
}

// The heap keeps what large and short-lived allocations left behind, once for each thread.
TEST_CASE("objects that are larger than a buffer are compacted without holding one of them") {
  constexpr uint64_t kSegmentBytes = 8 << 20;
  const TempFolder folder;
  auto opened = SegmentLog::Open({.folder = folder.path(),
                                  .bound_bytes = 4 * kSegmentBytes,
                                  .segment_bytes = kSegmentBytes,
                                  .files = &FileSystem::Real()});
  REQUIRE(opened);
  SegmentLog& log = **opened;
  std::vector<std::byte> payload(3 << 19, std::byte{7});
  g_largest = 0;
  for (int i = 0; i < 40; ++i) {
    ObjectKey key;
    key.bytes[0] = static_cast<std::byte>(i);
    const SegmentLog::NewRecord record{.key = key, .payload_bytes = payload.size()};
    auto reservation = log.Reserve(std::span(&record, 1));
    REQUIRE(reservation);
    const std::span<const std::byte> piece(payload);
    const SegmentLog::Pieces pieces(&piece, 1);
    REQUIRE(log.Write(*std::move(reservation), std::span(&pieces, 1)));
    // What was read is worth saving.
    const std::span<std::byte> to(payload);
    REQUIRE(log.Read(key, std::span(&to, 1)).outcome == ObjectOutcome::kDone);
  }
  CHECK(log.Stats().compacted_bytes > Bytes(10 << 20));
  CHECK(g_largest < size_t{256} << 10);
}

}  // namespace cairn
