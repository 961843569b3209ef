// A process that writes at full speed is killed at a random instant, again and again; after each
// restart every object verifies or is absent, and none that was acknowledged is missing.
// CAIRN_KILLS=200 kills more often than the default (bench/state_kill).
#include <doctest/doctest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <random>
#include <vector>

#include "cairn/base/check.h"
#include "cairn/base/env.h"
#include "cairn/base/temp_folder_for_tests.h"
#include "cairn/state/disk_store.h"

namespace cairn {
namespace {

constexpr uint64_t kObjectsMax = 1 << 16;
constexpr int64_t kBoundBytes = int64_t{16} << 20;

// What survives the writer, since the reader shares the memory.
struct Ledger {
  std::atomic<uint64_t> next;  // number of the next object
  std::atomic<uint8_t> acknowledged[kObjectsMax];
};

ObjectKey Key(uint64_t number) {
  ObjectKey key;
  std::memcpy(key.bytes.data(), &number, sizeof(number));
  return key;
}

// Sizes from a few bytes to a few hundred KiB; the bytes follow from the number and their place.
std::vector<std::byte> Payload(uint64_t number) {
  std::mt19937_64 random(number);
  std::vector<std::byte> bytes(1 + random() % (random() % 4 == 0 ? 400'000 : 20'000));
  const uint64_t step = random() | 1;
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>((i * step) >> 7);
  return bytes;
}

std::unique_ptr<ObjectStore> OpenStore(const std::string& folder) {
  DiskStoreOptions options{.folder = folder, .bound = Bytes(kBoundBytes)};
  auto store = OpenDiskStore(options);
  REQUIRE_MESSAGE(store, (store ? "" : store.error().message));
  return *std::move(store);
}

// Runs in a process of its own and never returns.
[[noreturn]] void WriteForever(const std::string& folder, Ledger& ledger) {
  auto store = OpenStore(folder);
  struct Sent {
    RequestId request;
    uint64_t number;
    std::vector<std::byte> bytes;
  };
  std::vector<Sent> sent;
  while (true) {
    while (sent.size() < 24 && ledger.next < kObjectsMax) {
      const uint64_t number = ledger.next++;
      Sent put{{}, number, Payload(number)};
      const std::span<const std::byte> all(put.bytes);
      const auto request = store->Put(Key(number), {number}, std::span(&all, 1));
      CAIRN_CHECK(request);
      put.request = *request;
      sent.push_back(std::move(put));
    }
    for (const ObjectCompletion& completion : store->Wait(1000)) {
      CAIRN_CHECK(completion.outcome == ObjectOutcome::kDone);
      std::erase_if(sent, [&](const Sent& put) {
        if (put.request != completion.request) return false;
        ledger.acknowledged[put.number] = 1;
        return true;
      });
    }
  }
}

// How many of the objects so far are there; all must be right.
int64_t Verify(const std::string& folder, const Ledger& ledger) {
  auto store = OpenStore(folder);
  store->Audit();
  std::vector<bool> there(ledger.next, false);
  for (uint64_t number = 0; number < ledger.next; ++number) {
    const std::vector<std::byte> right = Payload(number);
    std::vector<std::byte> got(right.size());
    const std::span<std::byte> all(got);
    if (!store->Get(Key(number), std::span(&all, 1))) continue;
    std::vector<ObjectCompletion> ended;
    while (ended.empty()) ended = store->Wait(1'000'000);
    CHECK(ended[0].outcome != ObjectOutcome::kDamaged);
    const bool found = ended[0].outcome == ObjectOutcome::kDone;
    if (found) REQUIRE(got == right);
    there[number] = found;
  }
  CHECK(store->Stats().damaged == 0);
  // The bound evicts the oldest. The latest, up to half of it, can't be missing for that reason;
  // those that were not acknowledged may take room as well.
  int64_t bytes = 0;
  for (uint64_t number = ledger.next; number > 0; --number) {
    bytes += static_cast<int64_t>(Payload(number - 1).size());
    if (bytes > kBoundBytes / 2) break;
    CAPTURE(number);
    CHECK((there[number - 1] || ledger.acknowledged[number - 1] == 0));
  }
  return std::ranges::count(there, true);
}

TEST_CASE("killed at any instant, a writer loses nothing that was acknowledged") {
  const TempFolder folder;
  void* memory =
      ::mmap(nullptr, sizeof(Ledger), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  REQUIRE(memory != MAP_FAILED);
  auto& ledger = *static_cast<Ledger*>(memory);
  const char* wanted = std::getenv("CAIRN_KILLS");
  const int kills = wanted == nullptr ? 5 : std::atoi(wanted);
  const uint64_t seed = RandomSeed();
  CAPTURE(seed);
  std::mt19937_64 random(seed);
  int64_t most = 0;
  for (int kill = 0; kill < kills; ++kill) {
    if (ledger.next > kObjectsMax - 4096) {  // begin anew
      std::memset(memory, 0, sizeof(Ledger));
      std::filesystem::remove_all(folder.path());
    }
    const pid_t writer = ::fork();
    REQUIRE(writer >= 0);
    if (writer == 0) WriteForever(folder.path(), ledger);
    // Wait for its first steps on a busy machine, then for any instant within many of them.
    const uint64_t begun = ledger.next;
    for (int i = 0; i < 30'000 && ledger.next < begun + random() % 60; ++i) ::usleep(1000);
    ::usleep(static_cast<useconds_t>(random() % 30'000));
    CHECK(::kill(writer, SIGKILL) == 0);
    int status = 0;
    REQUIRE(::waitpid(writer, &status, 0) == writer);
    REQUIRE(WIFSIGNALED(status));
    CHECK(WTERMSIG(status) == SIGKILL);  // it did not end by itself
    most = std::max(most, Verify(folder.path(), ledger));
  }
  CHECK(most > 20);
  MESSAGE("objects written over " << kills << " kills: " << ledger.next.load());
  ::munmap(memory, sizeof(Ledger));
}

}  // namespace
}  // namespace cairn
