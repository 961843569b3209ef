#include "cairn/state/disk_store.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "cairn/base/executor_for_tests.h"
#include "cairn/base/file_system_for_tests.h"
#include "cairn/base/temp_folder_for_tests.h"
#include "cairn/state/segment_format.h"

namespace cairn {
namespace {

constexpr int64_t kMegabyte = 1 << 20;

ObjectKey Key(uint64_t number) {
  ObjectKey key;
  std::memcpy(key.bytes.data(), &number, sizeof(number));
  return key;
}

std::vector<std::byte> Payload(uint64_t number, size_t size) {
  std::mt19937_64 random(number);
  std::vector<std::byte> bytes(size);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  return bytes;
}

// A store, and requests that wait for their end.
class Tier {
 public:
  explicit Tier(const std::string& folder, int64_t bound_bytes = 64 * kMegabyte)
      : Tier(DiskStoreOptions{.folder = folder, .bound = Bytes(bound_bytes)}) {}
  explicit Tier(const DiskStoreOptions& options) {
    auto opened = OpenDiskStore(options);
    REQUIRE_MESSAGE(opened, (opened ? "" : opened.error().message));
    store_ = *std::move(opened);
  }

  ObjectStore& store() { return *store_; }
  ObjectOutcome Put(uint64_t number, const std::vector<std::byte>& bytes) {
    const std::span<const std::byte> all(bytes);
    return End(store_->Put(Key(number), {number, 17}, std::span(&all, 1)));
  }
  ObjectOutcome Erase(uint64_t number) { return End(store_->Erase(Key(number))); }
  ObjectOutcome Get(uint64_t number, std::vector<std::byte>& bytes) {
    const std::span<std::byte> all(bytes);
    return End(store_->Get(Key(number), std::span(&all, 1)));
  }
  bool Has(uint64_t number, const std::vector<std::byte>& bytes) {
    std::vector<std::byte> got(bytes.size());
    return Get(number, got) == ObjectOutcome::kDone && got == bytes;
  }
  const std::string& problem() const { return problem_; }

 private:
  ObjectOutcome End(const Result<RequestId>& request) {
    REQUIRE(request);
    while (true) {
      for (const ObjectCompletion& completion : store_->Wait(10'000'000)) {
        CHECK(completion.request == *request);
        problem_ = completion.problem;
        return completion.outcome;
      }
    }
  }
  std::unique_ptr<ObjectStore> store_;
  std::string problem_;
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
  const std::vector<std::byte> small = Payload(1, 1);
  const std::vector<std::byte> large = Payload(2, 3'000'001);
  {
    Tier tier(folder.path());
    CHECK_FALSE(tier.store().Contains(Key(1)));
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
  const auto info = tier.store().Find(Key(2));
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

TEST_CASE("an object is absent for a reader that expects another length") {
  const TempFolder folder;
  Tier tier(folder.path());
  CHECK(tier.Put(1, Payload(1, 100)) == ObjectOutcome::kDone);
  for (const size_t size : {size_t{0}, size_t{99}, size_t{101}}) {
    std::vector<std::byte> bytes(size);
    CHECK(tier.Get(1, bytes) == ObjectOutcome::kAbsent);
  }
}

TEST_CASE("what cannot be stored is refused at once, with the reason") {
  const TempFolder folder;
  Tier tier(folder.path(), 4 * kMegabyte);
  const std::vector<std::byte> bytes(static_cast<size_t>(kMegabyte));
  const std::span<const std::byte> all(bytes);
  const auto none = tier.store().Put(Key(1), {}, {});
  CHECK(none.error().code == ErrorCode::kInvalidArgument);
  const auto large = tier.store().Put(Key(1), {}, std::span(&all, 1));
  CHECK(large.error().code == ErrorCode::kInvalidArgument);
  CHECK(large.error().message.find("1048576") != std::string::npos);
  CHECK(tier.Put(1, Payload(1, 1'000'000)) == ObjectOutcome::kDone);
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
  CHECK(store->Put(Key(1), {}, std::span(&all, 1)));
  const auto refused = store->Put(Key(2), {}, std::span(&all, 1));
  CHECK(refused.error().code == ErrorCode::kExhausted);
  CHECK(store->Stats().queued_bytes == Bytes(60));
  std::mt19937_64 random(1);
  executor.RunAll(random);
  CHECK(store->Poll().size() == 1);
  CHECK(store->Put(Key(2), {}, std::span(&all, 1)));
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
  const auto bytes = [](uint64_t number) { return Payload(number, 50'000); };
  constexpr uint64_t kObjects = 1000;  // six times the bound
  for (uint64_t number = 0; number < kObjects; ++number) {
    REQUIRE(tier.Put(number, bytes(number)) == ObjectOutcome::kDone);
    if (number % 20 == 10) REQUIRE(tier.Has(7, bytes(7)));
    REQUIRE(tier.store().Stats().stored_bytes.value() <= kBound);
  }
  CHECK(tier.Has(7, bytes(7)));
  CHECK_FALSE(tier.store().Contains(Key(6)));
  CHECK_FALSE(tier.store().Contains(Key(8)));
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
      REQUIRE(tier.Put(number, Payload(number, 100'000)) == ObjectOutcome::kDone);
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
    CHECK(tier.Put(number, Payload(number, 10'000)) == ObjectOutcome::kDone);
  }
  CHECK_FALSE(OnlySegment(folder).empty());
  Tier tier(folder.path());
  for (uint64_t number = 0; number < 20; ++number) CHECK(tier.Has(number, Payload(number, 10'000)));
}

TEST_CASE("a flipped bit on the disk is a reported miss, and the object can be put again") {
  const TempFolder folder;
  const std::vector<std::byte> bytes = Payload(1, 10'000);
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
  CHECK_FALSE(tier.store().Contains(Key(1)));
  CHECK(tier.Has(2, bytes));
  CHECK(tier.Put(1, bytes) == ObjectOutcome::kDone);
  CHECK(tier.Has(1, bytes));
}

TEST_CASE("a renamed or foreign file in the folder is never taken for objects") {
  const TempFolder folder;
  const std::vector<std::byte> bytes = Payload(1, 10'000);
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
  const std::vector<std::byte> bytes = Payload(1, 10'000);
  Tier tier(folder.path());
  REQUIRE(tier.Put(1, bytes) == ObjectOutcome::kDone);
  REQUIRE(tier.Put(2, bytes) == ObjectOutcome::kDone);
  std::filesystem::remove(OnlySegment(folder));
  std::vector<std::byte> got(bytes.size());
  CHECK(tier.Get(1, got) == ObjectOutcome::kDamaged);
  CHECK_FALSE(tier.store().Contains(Key(2)));
  CHECK(tier.Put(2, bytes) == ObjectOutcome::kDone);
  CHECK(tier.Has(2, bytes));  // in a file of its own, not in the deleted one
}

TEST_CASE(
    "on a full disk a put fails, what is there stays, and puts work again when there is room") {
  SimulatedFileSystem files(1);
  DiskStoreOptions options{.folder = "tier", .bound = Bytes(8 * kMegabyte)};
  options.files = &files;
  Tier tier(options);
  const std::vector<std::byte> bytes = Payload(1, 300'000);
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
    const auto bytes = [](uint64_t number) { return Payload(number, 20'000 + number * 1'000); };
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

TEST_CASE("threads put, read and erase at once, and none sees a wrong byte") {
  const TempFolder folder;
  DiskStoreOptions options{.folder = folder.path(), .bound = Bytes(4 * kMegabyte)};
  auto store = *OpenDiskStore(options);
  constexpr uint64_t kKeys = 64;
  std::vector<std::vector<std::byte>> contents;
  for (uint64_t i = 0; i < kKeys; ++i) contents.push_back(Payload(i, 1'000 + i * 700));
  int64_t found = 0;
  int64_t wrong = 0;
  std::atomic<int> running = 2;
  const auto ask = [&](uint64_t seed) {
    std::mt19937_64 random(seed);
    for (int i = 0; i < 1500; ++i) {
      const uint64_t number = random() % kKeys;
      const std::span<const std::byte> source(contents[number]);
      (void)store->Put(Key(number), {number}, std::span(&source, 1));
      if (random() % 16 == 0) (void)store->Erase(Key(random() % kKeys));
      if (random() % 16 == 0) store->Audit();
    }
    --running;
  };
  std::thread first(ask, 1);
  std::thread second(ask, 2);
  // This thread reads, some at a time, and polls for all.
  std::mt19937_64 random(3);
  std::vector<std::byte> targets[32];
  for (std::vector<std::byte>& target : targets) target.resize(contents.back().size());
  do {
    std::map<RequestId, std::pair<uint64_t, std::span<std::byte>>> reads;
    for (std::vector<std::byte>& target : targets) {
      const uint64_t number = random() % kKeys;
      const std::span<std::byte> to = std::span(target).first(contents[number].size());
      const auto id = store->Get(Key(number), std::span(&to, 1));
      REQUIRE(id);
      reads[*id] = {number, to};
    }
    while (!reads.empty()) {
      for (const ObjectCompletion& completion : store->Wait(100'000)) {
        const auto read = reads.find(completion.request);
        if (read == reads.end()) continue;
        const auto [number, to] = read->second;
        reads.erase(read);
        found += completion.outcome == ObjectOutcome::kDone;
        wrong += completion.outcome == ObjectOutcome::kDamaged;
        if (completion.outcome != ObjectOutcome::kDone) continue;
        wrong += !std::ranges::equal(to, contents[number]);
      }
    }
  } while (running > 0 || found == 0);
  first.join();
  second.join();
  store->Flush();
  store->Audit();
  CHECK(wrong == 0);
  CHECK(found > 0);
  CHECK(store->Stats().damaged == 0);
}

}  // namespace
}  // namespace cairn
