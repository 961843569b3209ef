// State that was shared, evicted, spilled to a disk, left by a crashed process or preempted goes on
// as if it had never left, bit for bit: every golden through the state manager.
#include <doctest/doctest.h>

#include "cairn/base/executor_for_tests.h"
#include "cairn/base/file_system_for_tests.h"
#include "cairn/base/temp_folder_for_tests.h"
#include "cairn/engine/recompute.h"
#include "cairn/state/disk_store.h"
#include "cairn/state/object_store_for_tests.h"
#include "cairn/state/redis_server_for_tests.h"
#include "cairn/state/redis_store.h"
#include "tests/cold_run_for_tests.h"
#include "tests/model_for_tests.h"
#include "tests/served_for_tests.h"

namespace cairn {
namespace {

constexpr int64_t kHead = 37;  // in the middle of a block, and of most windows
constexpr Bytes kDisk{64 << 20};

std::unique_ptr<ObjectStore> OpenDisk(const TempFolder& folder) {
  return *OpenDiskStore({.folder = folder.File("tier"), .bound = kDisk});
}

}  // namespace

TEST_CASE(
    "every golden and real model gives a cold run's bits when resumed from memory, preempted, "
    "forked 32 ways") {
  for (const ServedCase& golden : ServedCases()) {
    const std::string& name = golden.name;
    CAPTURE(name);
    Served served(golden.path, nullptr);
    const Cold cold(served.loaded(), golden.prompt);
    const auto head = std::span(golden.prompt).first(kHead);
    served.ReadAndClose(head);

    // Preempted in the middle of what another has begun.
    LeaseId id = served.Open(golden.prompt);
    CHECK(served.manager().Origin(id).memory == TokenCount(kHead));
    const auto more = std::span(golden.prompt).first(kHead + 5);
    served.loaded().Feed(served.manager().Sequence(id), more.last(5), 512);
    served.manager().Close(id, more, 0);
    id = served.Open(golden.prompt);
    CHECK(served.manager().Origin(id).memory == TokenCount(kHead + 5));

    std::vector<LeaseId> forks;
    for (int i = 0; i < 32; ++i) {
      const Result<LeaseId> fork = served.manager().Fork(id);
      REQUIRE(fork.has_value());
      forks.push_back(*fork);
    }
    cold.Continue(served.loaded(), served.manager().Sequence(id), golden.prompt);
    served.Drop(id);
    for (const LeaseId fork : forks) {
      cold.Continue(served.loaded(), served.manager().Sequence(fork), golden.prompt);
      served.Drop(fork);
    }
  }
}

TEST_CASE(
    "every golden and real model gives a cold run's bits after its state was spilled to a disk and "
    "evicted") {
  for (const ServedCase& golden : ServedCases()) {
    const std::string& name = golden.name;
    CAPTURE(name);
    const TempFolder folder;
    const std::unique_ptr<ObjectStore> disk = OpenDisk(folder);
    Served served(golden.path, disk.get());
    const Cold cold(served.loaded(), golden.prompt);
    served.ReadAndClose(std::span(golden.prompt).first(kHead));
    served.manager().Flush(0);
    CHECK(served.manager().MakeRoom(served.loaded().store().stats().budget));
    CHECK(served.loaded().store().LiveBytes() == Bytes(0));

    const LeaseId id = served.Open(golden.prompt, [&] { disk->Flush(); });
    CHECK(served.manager().Origin(id).loaded == TokenCount(kHead));
    CHECK(served.manager().Origin(id).tier == "disk");
    cold.Continue(served.loaded(), served.manager().Sequence(id), golden.prompt);
    served.Drop(id);
  }
}

TEST_CASE(
    "every golden and real model gives a cold run's bits from the folder of a process that ended "
    "or crashed") {
  for (const ServedCase& golden : ServedCases()) {
    const std::string& name = golden.name;
    CAPTURE(name);
    for (const bool crashes : {false, true}) {
      CAPTURE(crashes);
      SimulatedFileSystem files(/*seed=*/7);
      ManualExecutor executor;
      std::mt19937_64 random(7);
      DiskStoreOptions options{.folder = "tier", .bound = kDisk};
      options.files = &files;
      options.executor = &executor;
      std::unique_ptr<ObjectStore> disk = *OpenDiskStore(options);
      {
        Served first(golden.path, disk.get());
        first.ReadAndClose(std::span(golden.prompt).first(kHead));
        while (!first.manager().idle()) {
          executor.RunAll(random);
          first.manager().Poll(0);
        }
        if (crashes) files.StopAfter(0);
      }
      disk.reset();
      if (crashes) files.Crash();
      disk = *OpenDiskStore(options);

      Served second(golden.path, disk.get());
      const Cold cold(second.loaded(), golden.prompt);
      const LeaseId id = second.Open(golden.prompt, [&] { executor.RunAll(random); });
      CHECK(second.manager().Origin(id).loaded == TokenCount(kHead));
      cold.Continue(second.loaded(), second.manager().Sequence(id), golden.prompt);
      second.Drop(id);
    }
  }
}

TEST_CASE(
    "every golden and real model gives a cold run's bits from a Redis that another process has "
    "filled") {
  if (!RedisServer::IsInstalled()) {
    MESSAGE("skipped: there is no redis-server; packages.apt names it");
    return;
  }
  RedisServer server;
  for (const ServedCase& golden : ServedCases()) {
    const std::string& name = golden.name;
    CAPTURE(name);
    RedisStoreOptions options{.url = server.url(), .prefix = name + ":"};
    options.start = RedisStoreOptions::Start::kConnected;
    {
      const std::unique_ptr<ObjectStore> redis = *OpenRedisStore(options);
      Served first(golden.path, redis.get());
      first.ReadAndClose(std::span(golden.prompt).first(kHead));
      first.manager().Flush(0);
      CHECK(first.manager().writes().failed == 0);
    }
    const std::unique_ptr<ObjectStore> redis = *OpenRedisStore(options);
    Served second(golden.path, redis.get());
    const Cold cold(second.loaded(), golden.prompt);
    const LeaseId id = second.Open(golden.prompt, [&] { redis->Flush(); });
    CHECK(second.manager().Origin(id).loaded == TokenCount(kHead));
    cold.Continue(second.loaded(), second.manager().Sequence(id), golden.prompt);
    second.Drop(id);
  }
}

TEST_CASE(
    "every golden's and real model's stored objects are what the model computes, and a changed one "
    "is found") {
  for (const ServedCase& golden : ServedCases()) {
    const std::string& name = golden.name;
    CAPTURE(name);
    MemoryObjectStore objects;
    objects.ends_at_once = true;
    Served served(golden.path, &objects);
    served.ReadAndClose(std::span(golden.prompt).first(kHead));
    served.manager().Flush(0);
    const StateKey key = GoldenKey(served.loaded());
    const auto verify = [&] {
      return *RecomputeObjects(served.loaded().model(), served.loaded().store(), key, objects,
                               {.objects = 1000, .seed = 1, .chunk = TokenCount(9)});
    };
    RecomputeReport report = verify();
    CHECK(report.candidates == 3);  // two runs and an end
    CHECK(report.equal == 3);
    CHECK(report.problems.empty());

    // One bit of state, then one of tokens, in whichever object comes first.
    auto& changed = objects.objects().begin()->second;
    const auto token_bytes = TierObjectOf(changed.info.metadata)->TokenBytes().value();
    const auto state_bytes = static_cast<int64_t>(changed.bytes.size()) - token_bytes;
    if (state_bytes > 0) {
      changed.bytes.front() ^= std::byte{1};
      report = verify();
      CHECK(report.different == 1);
      CHECK(report.equal == 2);
      changed.bytes.front() ^= std::byte{1};
    }
    changed.bytes.back() ^= std::byte{1};
    report = verify();
    CHECK(report.different >= 1);
    CHECK_FALSE(report.problems.empty());
  }
}

}  // namespace cairn
