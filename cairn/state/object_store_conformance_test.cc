// What every ObjectStore must hold, on each of them.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "cairn/base/temp_folder_for_tests.h"
#include "cairn/state/disk_store.h"
#include "cairn/state/numbered_objects_for_tests.h"
#include "cairn/state/redis_server_for_tests.h"
#include "cairn/state/redis_store.h"

namespace cairn {
namespace {

struct Limits {
  Bytes object_max{1'000'000};
  Bytes queue_max{int64_t{256} << 20};
};

// What stays when a store is closed: each Open finds what the ones before left.
class Medium {
 public:
  virtual ~Medium() = default;
  virtual Result<std::unique_ptr<ObjectStore>> Open(const Limits& limits) = 0;
};

class Disk final : public Medium {
 public:
  Result<std::unique_ptr<ObjectStore>> Open(const Limits& limits) override {
    // Objects may have a quarter of the bound, at most half of a segment.
    DiskStoreOptions options{.folder = folder_.path(), .bound = limits.object_max * 16};
    options.queue_max = limits.queue_max;
    return OpenDiskStore(options);
  }

 private:
  TempFolder folder_;
};

class Redis final : public Medium {
 public:
  Result<std::unique_ptr<ObjectStore>> Open(const Limits& limits) override {
    RedisStoreOptions options{.url = server_.url()};
    options.object_max = limits.object_max;
    options.queue_max = limits.queue_max;
    options.start = RedisStoreOptions::Start::kConnected;
    return OpenRedisStore(options);
  }

 private:
  RedisServer server_;
};

void OnEach(const std::function<void(Medium&)>& test) {
  SUBCASE("disk") {
    Disk disk;
    test(disk);
  }
  SUBCASE("redis") {
    if (!RedisServer::IsInstalled()) {
      MESSAGE("left out: there is no redis-server");
      return;
    }
    Redis redis;
    test(redis);
  }
}

TEST_CASE(
    "every store: objects are found, listed, read and erased, and there when it is reopened") {
  OnEach([](Medium& medium) {
    const std::vector<std::byte> small = NumberedPayload(1, 1);
    const std::vector<std::byte> large = NumberedPayload(2, 3'000'001);
    const Limits limits{.object_max = Bytes(4 << 20)};
    {
      StoreInTest tier(medium.Open(limits));
      CHECK_FALSE(tier.store().Contains(NumberedKey(1)));
      CHECK(tier.Put(1, small) == ObjectOutcome::kDone);
      CHECK(tier.Put(2, large) == ObjectOutcome::kDone);
      CHECK(tier.Put(3, small) == ObjectOutcome::kDone);
      CHECK(tier.Has(1, small));
      CHECK(tier.Has(2, large));
      CHECK(tier.Erase(3) == ObjectOutcome::kDone);
      CHECK(tier.Erase(9) == ObjectOutcome::kDone);
      CHECK_FALSE(tier.Has(3, small));
      CHECK_FALSE(tier.Has(4, small));
      CHECK(tier.store().Arrivals().empty());
    }
    StoreInTest tier(medium.Open(limits));
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
    CHECK(stats.stored_bytes > stats.object_bytes);
    tier.store().Audit();
  });
}

TEST_CASE("every store: an object is absent for a reader that expects another length") {
  OnEach([](Medium& medium) {
    StoreInTest tier(medium.Open({}));
    CHECK(tier.Put(1, NumberedPayload(1, 100)) == ObjectOutcome::kDone);
    for (const size_t size : {size_t{0}, size_t{99}, size_t{101}}) {
      std::vector<std::byte> bytes(size);
      CHECK(tier.Get(1, bytes) == ObjectOutcome::kAbsent);
    }
    CHECK(tier.Has(1, NumberedPayload(1, 100)));
  });
}

TEST_CASE("every store: pieces of any lengths are one object") {
  OnEach([](Medium& medium) {
    StoreInTest tier(medium.Open({.object_max = Bytes(8 << 20)}));
    // Around blocks of the disk and chunks of the network.
    for (const size_t size : {1, 3903, 3904, 3905, 1'048'415, 1'048'416, 1'048'417, 2'500'000}) {
      const std::vector<std::byte> bytes = NumberedPayload(size, size);
      std::vector<std::byte> got(size);
      std::vector<std::span<const std::byte>> sources = {{}};
      std::vector<std::span<std::byte>> targets;
      for (size_t at = 0; at < size; at += 200'001) {
        sources.push_back(std::span(bytes).subspan(at, std::min(size - at, size_t{200'001})));
        sources.emplace_back();
      }
      for (size_t at = 0; at < size; at += 77'777) {
        targets.emplace_back();
        targets.push_back(std::span(got).subspan(at, std::min(size - at, size_t{77'777})));
      }
      const ObjectKey key = NumberedKey(size);
      CHECK(tier.End(tier.store().Put(key, {}, sources)) == ObjectOutcome::kDone);
      CHECK(tier.End(tier.store().Get(key, targets)) == ObjectOutcome::kDone);
      CHECK(got == bytes);
    }
  });
}

TEST_CASE("every store: an object that is there is acknowledged without writing it again") {
  OnEach([](Medium& medium) {
    StoreInTest tier(medium.Open({}));
    const std::vector<std::byte> bytes = NumberedPayload(1, 50'000);
    CHECK(tier.Put(1, bytes) == ObjectOutcome::kDone);
    const Bytes written = tier.store().Stats().written_bytes;
    CHECK(written >= Bytes(50'000));
    CHECK(tier.Put(1, bytes) == ObjectOutcome::kDone);
    CHECK(tier.store().Stats().written_bytes == written);
    CHECK(tier.store().Stats().puts == 2);
    CHECK(tier.Has(1, bytes));
  });
}

TEST_CASE("every store: no bytes at all, or too many, are refused at once") {
  OnEach([](Medium& medium) {
    StoreInTest tier(medium.Open({.object_max = Bytes(1 << 20)}));
    CHECK(tier.store().Put(NumberedKey(1), {}, {}).error().code == ErrorCode::kInvalidArgument);
    const std::vector<std::byte> bytes(size_t{17} << 20);
    const std::span<const std::byte> all(bytes);
    const auto large = tier.store().Put(NumberedKey(1), {}, std::span(&all, 1));
    CHECK(large.error().code == ErrorCode::kInvalidArgument);
    CHECK(large.error().message.find("17825792 bytes") != std::string::npos);
    CHECK(tier.store().Poll().empty());
    CHECK_FALSE(tier.store().Contains(NumberedKey(1)));
  });
}

TEST_CASE("every store: a full queue refuses, and takes more once it was written") {
  OnEach([](Medium& medium) {
    StoreInTest tier(medium.Open({.queue_max = Bytes(1'000'000)}));
    const std::vector<std::byte> bytes = NumberedPayload(1, 400'000);
    const std::span<const std::byte> all(bytes);
    uint64_t taken = 0;
    bool refused = false;
    for (uint64_t number = 0; number < 10'000 && !refused; ++number) {
      const auto request = tier.store().Put(NumberedKey(number), {}, std::span(&all, 1));
      if (request) ++taken;
      if (request) continue;
      refused = true;
      CHECK(request.error().code == ErrorCode::kExhausted);
      CHECK(tier.store().Stats().queued_bytes <= Bytes(1'000'000));
    }
    CHECK(refused);
    tier.store().Flush();
    CHECK(tier.store().Stats().queued_bytes == Bytes(0));
    CHECK(tier.store().Poll().size() == taken);
    CHECK(tier.store().Put(NumberedKey(99'999), {}, std::span(&all, 1)));
    tier.store().Flush();
  });
}

TEST_CASE("every store: an erased object is absent at once, and changes happen in their order") {
  OnEach([](Medium& medium) {
    StoreInTest tier(medium.Open({}));
    const std::vector<std::byte> bytes = NumberedPayload(1, 10'000);
    const std::span<const std::byte> all(bytes);
    for (uint64_t number = 0; number < 30; ++number) {
      const ObjectKey key = NumberedKey(number);
      REQUIRE(tier.store().Put(key, {}, std::span(&all, 1)));
      REQUIRE(tier.store().Erase(key));
      CHECK_FALSE(tier.store().Contains(key));
      if (number % 2 == 0) REQUIRE(tier.store().Put(key, {}, std::span(&all, 1)));
    }
    tier.store().Flush();
    for (const ObjectCompletion& completion : tier.store().Poll()) {
      CHECK(completion.outcome == ObjectOutcome::kDone);
    }
    for (uint64_t number = 0; number < 30; ++number) {
      CHECK(tier.Has(number, bytes) == (number % 2 == 0));
    }
    tier.store().Audit();
  });
}

TEST_CASE("every store: one that is closed with requests on their way drops or ends them") {
  OnEach([](Medium& medium) {
    const std::vector<std::byte> bytes = NumberedPayload(1, 100'000);
    const std::span<const std::byte> all(bytes);
    {
      StoreInTest tier(medium.Open({}));
      for (uint64_t number = 0; number < 100; ++number) {
        REQUIRE(tier.store().Put(NumberedKey(number), {}, std::span(&all, 1)));
      }
    }
    StoreInTest tier(medium.Open({}));
    for (const ObjectInfo& info : tier.store().List()) {
      std::vector<std::byte> got(bytes.size());
      const std::span<std::byte> to(got);
      CHECK(tier.End(tier.store().Get(info.key, std::span(&to, 1))) == ObjectOutcome::kDone);
      CHECK(got == bytes);
    }
  });
}

void ThreadsAtOnce(ObjectStore* store) {
  constexpr uint64_t kKeys = 64;
  std::vector<std::vector<std::byte>> contents;
  for (uint64_t i = 0; i < kKeys; ++i) contents.push_back(NumberedPayload(i, 1'000 + i * 700));
  int64_t found = 0;
  int64_t wrong = 0;
  std::atomic<int> running = 2;
  const auto ask = [&](uint64_t seed) {
    std::mt19937_64 random(seed);
    for (int i = 0; i < 1500; ++i) {
      const uint64_t number = random() % kKeys;
      const std::span<const std::byte> source(contents[number]);
      (void)store->Put(NumberedKey(number), {number}, std::span(&source, 1));
      if (random() % 16 == 0) (void)store->Erase(NumberedKey(random() % kKeys));
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
      const auto id = store->Get(NumberedKey(number), std::span(&to, 1));
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

TEST_CASE("every store: threads put, read and erase at once, and none sees a wrong byte") {
  OnEach([](Medium& medium) {
    StoreInTest tier(medium.Open({.object_max = Bytes(250'000)}));
    ThreadsAtOnce(&tier.store());
  });
}

}  // namespace
}  // namespace cairn
