#include "cairn/state/disk_store.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "cairn/base/executor_for_tests.h"
#include "cairn/base/file_system_for_tests.h"
#include "cairn/base/temp_folder_for_tests.h"
#include "cairn/state/numbered_objects_for_tests.h"
#include "cairn/state/segment_format.h"

namespace cairn {
namespace {

constexpr int64_t kMegabyte = 1 << 20;

class Tier : public StoreInTest {
 public:
  explicit Tier(const std::string& folder, int64_t bound_bytes = 64 * kMegabyte)
      : Tier(DiskStoreOptions{.folder = folder, .bound = Bytes(bound_bytes)}) {}
  explicit Tier(const DiskStoreOptions& options) : StoreInTest(OpenDiskStore(options)) {}
};

std::string OnlySegment(const TempFolder& folder) {
  std::string found;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
    if (!ParseSegmentFileName(entry.path().filename().string())) continue;
    CHECK(found.empty());
    found = entry.path();
  }
  return found;
}

TEST_CASE("objects are stored, found, listed, erased, and there after a restart") {
  const TempFolder folder;
  const std::vector<std::byte> small = NumberedPayload(1, 1);
  const std::vector<std::byte> large = NumberedPayload(2, 3'000'001);
  {
    Tier tier(folder.path());
    CHECK_FALSE(tier.store().Contains(NumberedKey(1)));
    CHECK(tier.Put(1, small) == ObjectOutcome::kDone);
    CHECK(tier.Put(2, large) == ObjectOutcome::kDone);
    CHECK(tier.Put(3, small) == ObjectOutcome::kDone);
    CHECK(tier.Has(1, small));
    CHECK(tier.Has(2, large));
    CHECK(tier.Erase(3) == ObjectOutcome::kDone);
    CHECK_FALSE(tier.Has(3, small));
    CHECK_FALSE(tier.Has(4, small));
  }
  Tier tier(folder.path());
  CHECK(tier.Has(1, small));
  CHECK(tier.Has(2, large));
  CHECK_FALSE(tier.Has(3, small));
  const auto info = tier.store().Find(NumberedKey(2));
  REQUIRE(info);
  CHECK(info->size == Bytes(3'000'001));
  CHECK(info->metadata == ObjectMetadata{2, 17});
  CHECK(tier.store().List().size() == 2);
  const ObjectStoreStats stats = tier.store().Stats();
  CHECK(stats.objects == 2);
  CHECK(stats.object_bytes == Bytes(3'000'002));
  CHECK(stats.gets_found == 2);
  CHECK(stats.gets_absent == 1);
  CHECK(stats.read_bytes == Bytes(3'000'002));
  CHECK(stats.read_bytes_per_second > 0);
  CHECK(stats.damaged == 0);
  CHECK(stats.stored_bytes <= stats.bound_bytes);
}

TEST_CASE("what cannot be stored is refused at once, with the reason") {
  const TempFolder folder;
  Tier tier(folder.path(), 4 * kMegabyte);
  const std::vector<std::byte> bytes(static_cast<size_t>(kMegabyte));
  const std::span<const std::byte> all(bytes);
  const auto none = tier.store().Put(NumberedKey(1), {}, {});
  CHECK(none.error().code == ErrorCode::kInvalidArgument);
  const auto large = tier.store().Put(NumberedKey(1), {}, std::span(&all, 1));
  CHECK(large.error().code == ErrorCode::kInvalidArgument);
  CHECK(large.error().message.find("1048576") != std::string::npos);
  CHECK(tier.Put(1, NumberedPayload(1, 1'000'000)) == ObjectOutcome::kDone);
  CHECK(OpenDiskStore({.folder = folder.File("b"), .bound = Bytes(kMegabyte - 1)}).error().code ==
        ErrorCode::kInvalidArgument);
}

TEST_CASE("a full queue refuses instead of growing or waiting") {
  SimulatedFileSystem files(1);
  ManualExecutor executor;
  DiskStoreOptions options{.folder = "tier", .bound = Bytes(64 * kMegabyte)};
  options.queue_max = Bytes(100);
  options.files = &files;
  options.executor = &executor;
  auto store = *OpenDiskStore(options);
  const std::vector<std::byte> bytes(60);
  const std::span<const std::byte> all(bytes);
  CHECK(store->Put(NumberedKey(1), {}, std::span(&all, 1)));
  const auto refused = store->Put(NumberedKey(2), {}, std::span(&all, 1));
  CHECK(refused.error().code == ErrorCode::kExhausted);
  CHECK(store->Stats().queued_bytes == Bytes(60));
  std::mt19937_64 random(1);
  executor.RunAll(random);
  CHECK(store->Poll().size() == 1);
  CHECK(store->Put(NumberedKey(2), {}, std::span(&all, 1)));
  executor.RunAll(random);
}

TEST_CASE("a folder that another store has is refused by name, and free when that is gone") {
  const TempFolder folder;
  {
    Tier tier(folder.path());
    const auto second = OpenDiskStore({.folder = folder.path(), .bound = Bytes(64 * kMegabyte)});
    REQUIRE_FALSE(second);
    CHECK(second.error().message.starts_with(folder.File("lock") + ": process "));
  }
  Tier tier(folder.path());
}

TEST_CASE("the oldest objects go first under the bound, but those read lately stay") {
  const TempFolder folder;
  constexpr int64_t kBound = 8 * kMegabyte;
  Tier tier(folder.path(), kBound);
  const auto bytes = [](uint64_t number) { return NumberedPayload(number, 50'000); };
  constexpr uint64_t kObjects = 1000;  // six times the bound
  for (uint64_t number = 0; number < kObjects; ++number) {
    REQUIRE(tier.Put(number, bytes(number)) == ObjectOutcome::kDone);
    if (number % 20 == 10) REQUIRE(tier.Has(7, bytes(7)));
    REQUIRE(tier.store().Stats().stored_bytes.value() <= kBound);
  }
  CHECK(tier.Has(7, bytes(7)));
  CHECK_FALSE(tier.store().Contains(NumberedKey(6)));
  CHECK_FALSE(tier.store().Contains(NumberedKey(8)));
  // Nearly all of the bound is used, by the latest.
  for (uint64_t number = kObjects - 100; number < kObjects; ++number) {
    CHECK(tier.Has(number, bytes(number)));
  }
  const ObjectStoreStats stats = tier.store().Stats();
  CHECK(stats.evicted == static_cast<int64_t>(kObjects) - stats.objects);
  CHECK(stats.compacted_bytes.value() > 0);
  CHECK(stats.compacted_bytes.value() < stats.written_bytes.value() / 10);
  int64_t on_disk = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
    on_disk += static_cast<int64_t>(entry.file_size());
  }
  CHECK(on_disk <= kBound + 32);  // and the lock
}

TEST_CASE("a smaller bound is kept from the next opening on") {
  const TempFolder folder;
  {
    Tier tier(folder.path(), 16 * kMegabyte);
    for (uint64_t number = 0; number < 120; ++number) {
      REQUIRE(tier.Put(number, NumberedPayload(number, 100'000)) == ObjectOutcome::kDone);
    }
  }
  Tier tier(folder.path(), 4 * kMegabyte);
  CHECK(tier.store().Stats().stored_bytes.value() <= 4 * kMegabyte);
  CHECK(tier.store().Stats().objects > 0);
  CHECK(tier.store().Stats().evicted > 0);
}

TEST_CASE("many short runs leave one file, not many") {
  const TempFolder folder;
  for (uint64_t number = 0; number < 20; ++number) {
    Tier tier(folder.path());
    CHECK(tier.Put(number, NumberedPayload(number, 10'000)) == ObjectOutcome::kDone);
  }
  CHECK_FALSE(OnlySegment(folder).empty());
  Tier tier(folder.path());
  for (uint64_t number = 0; number < 20; ++number)
    CHECK(tier.Has(number, NumberedPayload(number, 10'000)));
}

TEST_CASE("a flipped bit on the disk is a reported miss, and the object can be put again") {
  const TempFolder folder;
  const std::vector<std::byte> bytes = NumberedPayload(1, 10'000);
  {
    Tier tier(folder.path());
    REQUIRE(tier.Put(1, bytes) == ObjectOutcome::kDone);
    REQUIRE(tier.Put(2, bytes) == ObjectOutcome::kDone);
  }
  {
    std::fstream file(OnlySegment(folder), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(4096 + 5000);
    file.put(static_cast<char>(~static_cast<int>(bytes[5000 - 192])));
  }
  Tier tier(folder.path());
  std::vector<std::byte> got(bytes.size());
  CHECK(tier.Get(1, got) == ObjectOutcome::kDamaged);
  CHECK(tier.problem().find("object at 4096") != std::string::npos);
  CHECK(tier.store().Stats().damaged == 1);
  CHECK_FALSE(tier.store().Contains(NumberedKey(1)));
  CHECK(tier.Has(2, bytes));
  CHECK(tier.Put(1, bytes) == ObjectOutcome::kDone);
  CHECK(tier.Has(1, bytes));
}

TEST_CASE("a renamed or foreign file in the folder is never taken for objects") {
  const TempFolder folder;
  const std::vector<std::byte> bytes = NumberedPayload(1, 10'000);
  {
    Tier tier(folder.path());
    REQUIRE(tier.Put(1, bytes) == ObjectOutcome::kDone);
  }
  std::filesystem::rename(OnlySegment(folder), folder.File(SegmentFileName(SegmentId(9))));
  std::ofstream(folder.File("notes.txt")) << "not ours";
  Tier tier(folder.path());
  CHECK_FALSE(tier.Has(1, bytes));
  CHECK(tier.store().Stats().damaged == 1);
  CHECK(std::filesystem::exists(folder.File("notes.txt")));
  CHECK(tier.Put(1, bytes) == ObjectOutcome::kDone);
}

TEST_CASE("files of a newer version are refused and left as they are") {
  const TempFolder folder;
  std::vector<std::byte> header = EncodeSegmentHeader({SegmentId(1), 5});
  header[8] = std::byte{2};
  const Sum128 sum = Checksum::Of(std::span(header).first(32), 0);
  std::memcpy(header.data() + 32, &sum, sizeof(sum));
  const std::string path = folder.File(SegmentFileName(SegmentId(1)));
  std::ofstream(path).write(reinterpret_cast<const char*>(header.data()), 4096);
  const auto refused = OpenDiskStore({.folder = folder.path(), .bound = Bytes(64 * kMegabyte)});
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message == path + " has format version 2; this program knows 1");
  CHECK(std::filesystem::file_size(path) == 4096);
}

TEST_CASE("objects whose file somebody deletes are misses, and the store goes on") {
  const TempFolder folder;
  const std::vector<std::byte> bytes = NumberedPayload(1, 10'000);
  Tier tier(folder.path());
  REQUIRE(tier.Put(1, bytes) == ObjectOutcome::kDone);
  REQUIRE(tier.Put(2, bytes) == ObjectOutcome::kDone);
  std::filesystem::remove(OnlySegment(folder));
  std::vector<std::byte> got(bytes.size());
  CHECK(tier.Get(1, got) == ObjectOutcome::kDamaged);
  CHECK_FALSE(tier.store().Contains(NumberedKey(2)));
  CHECK(tier.Put(2, bytes) == ObjectOutcome::kDone);
  CHECK(tier.Has(2, bytes));  // in a file of its own, not in the deleted one
}

TEST_CASE(
    "on a full disk a put fails, what is there stays, and puts work again when there is room") {
  SimulatedFileSystem files(1);
  DiskStoreOptions options{.folder = "tier", .bound = Bytes(8 * kMegabyte)};
  options.files = &files;
  Tier tier(options);
  const std::vector<std::byte> bytes = NumberedPayload(1, 300'000);
  REQUIRE(tier.Put(0, bytes) == ObjectOutcome::kDone);
  files.SetCapacity(files.used_bytes());
  uint64_t stored = 1;
  while (tier.Put(stored, bytes) == ObjectOutcome::kDone) ++stored;
  CHECK(stored < 10);
  CHECK(tier.problem().find("full") != std::string::npos);
  CHECK(tier.Put(stored, bytes) == ObjectOutcome::kFailed);
  for (uint64_t number = 0; number < stored; ++number) CHECK(tier.Has(number, bytes));
  files.SetCapacity(UINT64_MAX);
  CHECK(tier.Put(stored, bytes) == ObjectOutcome::kDone);
  CHECK(tier.Has(stored, bytes));
  CHECK(tier.store().Stats().puts_failed == 2);
}

// Every operation of a short run fails once; nothing acknowledged may suffer.
TEST_CASE("the n-th operation on the disk fails, for every n") {
  for (int64_t n = 0;; ++n) {
    SimulatedFileSystem files(static_cast<uint64_t>(n));
    DiskStoreOptions options{.folder = "tier", .bound = Bytes(kMegabyte)};
    options.files = &files;
    const auto bytes = [](uint64_t number) {
      return NumberedPayload(number, 20'000 + number * 1'000);
    };
    std::map<uint64_t, bool> stored;
    files.FailNth(n);
    {
      Tier tier(options);
      for (uint64_t number = 0; number < 12; ++number) {
        stored[number] = tier.Put(number, bytes(number)) == ObjectOutcome::kDone;
      }
      (void)tier.Erase(3);
      stored.erase(3);  // if that failed it may be there or not
      for (const auto& [number, there] : stored) CHECK((!there || tier.Has(number, bytes(number))));
      tier.store().Audit();
    }
    if (files.changes() <= n) break;  // all went well: there is no n-th
    CHECK(std::ranges::count(stored, true, [](auto& entry) { return entry.second; }) >= 10);
    Tier tier(options);
    for (const auto& [number, there] : stored) CHECK((!there || tier.Has(number, bytes(number))));
    CHECK(tier.store().Stats().damaged == 0);
    REQUIRE(n < 1000);
  }
}

}  // namespace
}  // namespace cairn
