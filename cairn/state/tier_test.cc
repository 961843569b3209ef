#include "cairn/state/tier.h"

#include <doctest/doctest.h>

#include <array>

#include "cairn/state/object_store_for_tests.h"

namespace cairn {
namespace {

ObjectMetadata EndAt(int64_t to, uint64_t before) {
  return MetadataOf({.kind = TierObjectKind::kEnd,
                     .from = TokenCount(0),
                     .to = TokenCount(to),
                     .state_key = 1,
                     .before = before});
}

}  // namespace

TEST_CASE("a tier knows the ends that its store holds, that are written, and that others wrote") {
  MemoryObjectStore store;
  const std::array<std::byte, 3> bytes{};
  const std::span<const std::byte> piece(bytes);
  REQUIRE(store.Put({}, EndAt(10, 7), {&piece, 1}).has_value());
  store.Run();
  Tier tier("disk", store);
  tier.Learn(EndAt(30, 7));
  tier.Learn(EndAt(20, 7));
  tier.Learn(EndAt(20, 7));
  tier.Learn(EndAt(5, 8));
  store.arrivals.push_back({.key = {}, .metadata = EndAt(15, 7), .size = Bytes(3)});
  tier.LearnArrivals();
  using Ends = std::vector<TokenCount>;
  CHECK(tier.EndsBehind(7, TokenCount(20)) == Ends{TokenCount(20), TokenCount(15), TokenCount(10)});
  CHECK(tier.EndsBehind(8, TokenCount(20)) == Ends{TokenCount(5)});
  CHECK(tier.EndsBehind(9, TokenCount(20)).empty());
  CHECK(tier.Has({}, Bytes(3)));
  CHECK_FALSE(tier.Has({}, Bytes(4)));
}

TEST_CASE("a tier remembers so many ends, and forgets those that it learned first") {
  MemoryObjectStore store;
  Tier tier("disk", store, 3);
  tier.Learn(EndAt(10, 7));
  tier.Learn(EndAt(20, 7));
  tier.Learn(EndAt(5, 8));
  tier.Learn(EndAt(10, 7));  // known
  CHECK(tier.EndsBehind(7, TokenCount(100)).size() == 2);
  tier.Learn(EndAt(6, 9));
  using Ends = std::vector<TokenCount>;
  CHECK(tier.EndsBehind(7, TokenCount(100)) == Ends{TokenCount(20)});
  tier.Learn(EndAt(7, 9));
  CHECK(tier.EndsBehind(7, TokenCount(100)).empty());
  CHECK(tier.EndsBehind(8, TokenCount(100)).size() == 1);
  tier.Learn(EndAt(10, 7));
  CHECK(tier.EndsBehind(7, TokenCount(100)) == Ends{TokenCount(10)});
  CHECK(tier.EndsBehind(9, TokenCount(100)).size() == 2);
}

TEST_CASE("behind one tag a tier remembers no more lengths than honest stores have") {
  MemoryObjectStore store;
  Tier tier("disk", store);
  for (int64_t to = 100'000; to > 0; --to) tier.Learn(EndAt(to, 7));
  CHECK(tier.EndsBehind(7, TokenCount(100'000)).size() == 1024);
  tier.Learn(EndAt(10, 8));
  CHECK(tier.EndsBehind(8, TokenCount(100)).size() == 1);
}

TEST_CASE("reads that took longer than expected make the next ones look dearer") {
  MemoryObjectStore store;
  store.read_bytes_per_second = 1e6;
  Tier tier("disk", store);
  const double before = tier.ReadTimeUs(Bytes(1'000'000), 1);
  CHECK(before > 1e6);
  CHECK(before < 1.1e6);
  for (int i = 0; i < 30; ++i) {
    const double expected = tier.ReadTimeUs(Bytes(1'000'000), 1);
    tier.NoteRead(expected, 3 * before);
  }
  CHECK(tier.ReadTimeUs(Bytes(1'000'000), 1) == doctest::Approx(3 * before).epsilon(0.05));
}

TEST_CASE("after a failure a tier isn't read for a while") {
  MemoryObjectStore store;
  Tier tier("disk", store);
  CHECK(tier.Readable(0));
  tier.ReadFailed(100);
  CHECK_FALSE(tier.Readable(1000));
  CHECK(tier.Readable(60'000'000));
}

}  // namespace cairn
