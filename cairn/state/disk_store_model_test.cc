// Random requests, faults and crashes on a disk store, against a naive map. Every object's bytes
// follow from its key, so whatever is read can be judged.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "cairn/base/executor_for_tests.h"
#include "cairn/base/file_system_for_tests.h"
#include "cairn/base/seed_for_tests.h"
#include "cairn/state/disk_store.h"

namespace cairn {
namespace {

constexpr int kKeys = 300;

ObjectKey KeyOf(uint64_t number) {
  ObjectKey key;
  std::mt19937_64 random(number);
  for (std::byte& byte : key.bytes) byte = static_cast<std::byte>(random());
  return key;
}

std::vector<std::byte> BytesOf(uint64_t number) {
  std::mt19937_64 random(~number);
  // Mostly around a block, some of many; a few have the length of whole blocks with their header.
  const size_t most = random() % 8 == 0 ? 60'000 : 9'000;
  size_t size = 1 + random() % most;
  if (random() % 8 == 0) size = 4096 * (1 + random() % 3) - 192;
  std::vector<std::byte> bytes(size);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  return bytes;
}

struct Scenario {
  const char* name;
  int64_t bound_bytes;
  bool evicts;
  bool faults;
  bool crashes;
  bool corrupts;
};

class Model {
 public:
  Model(const Scenario& scenario, uint64_t seed)
      : scenario_(scenario), random_(seed), files_(seed ^ 1) {
    for (int i = 0; i < kKeys; ++i) contents_.push_back(BytesOf(i));
    Reopen();
  }
  ~Model() { executor_.DropAll(); }

  void Step() {
    const uint64_t dice = random_() % 1000;
    if (dice < 300) {
      Put(random_() % kKeys);
    } else if (dice < 500) {
      Get(random_() % kKeys);
    } else if (dice < 530) {
      Erase(random_() % kKeys);
    } else if (dice < 985) {
      executor_.RunOne(random_);
    } else if (dice < 990) {
      executor_.RunAll(random_);
    } else if (dice < 991) {
      CloseAndReopen();
    } else if (dice < 993) {
      if (scenario_.crashes) Crash();
    } else if (dice < 995) {
      if (scenario_.faults) InjectFaults();
    } else if (dice < 996) {
      if (scenario_.corrupts) Corrupt();
    }
    Collect();
    if (random_() % 64 == 0) store_->Audit();
    REQUIRE(files_.used_bytes() <= static_cast<uint64_t>(scenario_.bound_bytes));
  }

  // Everything that must be there is, and reads back.
  void CheckAll() {
    files_.FailOneIn(0);
    files_.SetCapacity(UINT64_MAX);
    executor_.RunAll(random_);
    Collect();
    for (int i = 0; i < kKeys; ++i) {
      Get(i);
      executor_.RunAll(random_);
      Collect();
    }
    if (!scenario_.corrupts) {
      REQUIRE(store_->Stats().damaged == 0);
      REQUIRE(losses_ <= evicted_before_ + store_->Stats().evicted);
      if (!scenario_.evicts) REQUIRE(losses_ == 0);
    }
  }

  int64_t found() const { return found_; }
  int64_t evicted() const { return evicted_before_ + store_->Stats().evicted; }
  int64_t damaged() const { return damaged_; }

 private:
  enum class Fate { kAbsent, kPresent, kUnknown };
  struct Key {
    Fate fate = Fate::kAbsent;
    uint64_t version = 0;  // the latest Put or Erase
  };
  struct Request {
    enum class Kind { kPut, kGet, kErase } kind;
    int key;
    uint64_t version = 0;
    std::vector<std::vector<std::byte>> memory{};
    std::vector<std::span<const std::byte>> sources{};
    std::vector<std::span<std::byte>> targets{};
  };

  void Reopen() {
    DiskStoreOptions options{.folder = "tier", .bound = Bytes(scenario_.bound_bytes)};
    options.segment = Bytes(256 << 10);
    options.files = &files_;
    options.executor = &executor_;
    auto store = OpenDiskStore(options);
    REQUIRE_MESSAGE(store, (store ? "" : store.error().message));
    store_ = *std::move(store);
    rotten_ = false;
    store_->Audit();
    for (const ObjectInfo& info : store_->List()) {
      const int key = static_cast<int>(info.metadata[0]);
      REQUIRE(info.key == KeyOf(key));
      REQUIRE(info.size.value() == static_cast<int64_t>(contents_[key].size()));
    }
  }

  // Cuts the object's bytes into pieces at random places.
  std::vector<size_t> Cuts(size_t size) {
    std::vector<size_t> sizes;
    while (size > 0) {
      const size_t piece = random_() % 2 == 0 ? size : 1 + random_() % size;
      sizes.push_back(piece);
      size -= piece;
      if (random_() % 8 == 0) sizes.push_back(0);
    }
    return sizes;
  }

  void Put(int key) {
    Request request{.kind = Request::Kind::kPut, .key = key};
    size_t at = 0;
    for (const size_t size : Cuts(contents_[key].size())) {
      request.sources.push_back(std::span(contents_[key]).subspan(at, size));
      at += size;
    }
    const auto id = store_->Put(KeyOf(key), {static_cast<uint64_t>(key)}, request.sources);
    if (!id) return;  // the queue is full: nothing happened
    request.version = ++keys_[key].version;
    keys_[key].fate = Fate::kUnknown;
    requests_.emplace(*id, std::move(request));
  }

  void Erase(int key) {
    const auto id = store_->Erase(KeyOf(key));
    if (!id) return;
    REQUIRE_FALSE(store_->Contains(KeyOf(key)));
    const uint64_t version = ++keys_[key].version;
    keys_[key].fate = Fate::kUnknown;
    requests_.emplace(*id, Request{.kind = Request::Kind::kErase, .key = key, .version = version});
  }

  void Get(int key) {
    Request request{.kind = Request::Kind::kGet, .key = key, .version = keys_[key].version};
    for (const size_t size : Cuts(contents_[key].size())) request.memory.emplace_back(size);
    for (std::vector<std::byte>& piece : request.memory) request.targets.emplace_back(piece);
    const auto id = store_->Get(KeyOf(key), request.targets);
    if (id) requests_.emplace(*id, std::move(request));
  }

  void Collect() {
    for (const ObjectCompletion& completion : store_->Poll()) {
      const auto found = requests_.find(completion.request);
      REQUIRE(found != requests_.end());
      Judge(found->second, completion);
      requests_.erase(found);
    }
  }

  void Judge(const Request& request, const ObjectCompletion& completion) {
    Key& key = keys_[request.key];
    const bool is_latest = key.version == request.version;
    const bool done = completion.outcome == ObjectOutcome::kDone;
    if (request.kind != Request::Kind::kGet) {
      REQUIRE((done || scenario_.faults || scenario_.crashes));
      // The file that says it was erased may have lost its beginning already.
      const Fate erased = rotten_ ? Fate::kUnknown : Fate::kAbsent;
      const Fate fate = request.kind == Request::Kind::kPut ? Fate::kPresent : erased;
      if (is_latest && done) key.fate = fate;
      return;
    }
    if (done) {
      ++found_;
      std::vector<std::byte> all;
      for (const auto& piece : request.memory) all.insert(all.end(), piece.begin(), piece.end());
      REQUIRE(all == contents_[request.key]);
      REQUIRE_FALSE((is_latest && key.fate == Fate::kAbsent));
      return;
    }
    if (completion.outcome == ObjectOutcome::kFailed) {
      REQUIRE(files_.stopped());
      return;
    }
    if (completion.outcome == ObjectOutcome::kDamaged) {
      REQUIRE((scenario_.corrupts || files_.stopped()));
      REQUIRE_FALSE(completion.problem.empty());
      ++damaged_;
    }
    if (is_latest && key.fate == Fate::kPresent && !files_.stopped()) {
      ++losses_;
      key.fate = Fate::kUnknown;
      REQUIRE((scenario_.evicts || scenario_.corrupts));
    }
  }

  void CloseAndReopen() {
    executor_.RunAll(random_);
    Collect();
    evicted_before_ += store_->Stats().evicted;
    store_.reset();
    files_.FailOneIn(0);
    Reopen();
  }

  // Stops the disk at a random operation, lets the store run against it, and starts again from what
  // the disk kept.
  void Crash() {
    files_.StopAfter(static_cast<int64_t>(random_() % 40));
    for (int i = 0; i < 60 && !files_.stopped(); ++i) {
      Put(random_() % kKeys);
      executor_.RunOne(random_);
      Collect();
    }
    files_.StopAfter(0);
    if (random_() % 2 == 0) executor_.RunAll(random_);
    Collect();
    executor_.DropAll();
    evicted_before_ += store_->Stats().evicted;
    store_.reset();
    requests_.clear();  // keys with a change on its way are kUnknown already
    files_.FailOneIn(0);
    files_.SetCapacity(UINT64_MAX);
    files_.Crash();
    // The process may die again while it recovers.
    if (random_() % 4 == 0) {
      files_.StopAfter(static_cast<int64_t>(random_() % 10));
      auto again = OpenDiskStore({.folder = "tier",
                                  .bound = Bytes(scenario_.bound_bytes),
                                  .segment = Bytes(256 << 10),
                                  .files = &files_,
                                  .executor = &executor_});
      if (again) again->reset();
      files_.StopAfter(0);
      files_.Crash();
    }
    Reopen();
  }

  void InjectFaults() {
    const uint64_t kind = random_() % 3;
    files_.FailOneIn(kind == 0 ? 1 + static_cast<int64_t>(random_() % 30) : 0);
    files_.SetCapacity(kind == 1 ? files_.used_bytes() + random_() % 100'000 : UINT64_MAX);
  }

  void Corrupt() {
    const auto names = files_.List("tier", 1000);
    REQUIRE(names);
    if (names->empty()) return;
    // What rots or vanishes may be what says that an object was erased; what is written from now on
    // until the store opens anew may stand in the same file.
    for (auto& [number, key] : keys_) {
      if (key.fate == Fate::kAbsent) key.fate = Fate::kUnknown;
    }
    rotten_ = true;
    const std::string path = "tier/" + (*names)[random_() % names->size()];
    std::vector<std::byte> bytes = files_.Contents(path);
    switch (random_() % 5) {
      case 0:
        (void)files_.Remove(path);
        break;
      case 1:
        bytes.resize(bytes.size() - random_() % (bytes.size() + 1));
        files_.Replace(path, bytes);
        break;
      default:
        for (int i = 0; i < 20; ++i) files_.FlipBit(path);
    }
  }

  Scenario scenario_;
  std::mt19937_64 random_;
  SimulatedFileSystem files_;
  ManualExecutor executor_;
  std::vector<std::vector<std::byte>> contents_;
  std::unique_ptr<ObjectStore> store_;
  std::map<int, Key> keys_;
  std::map<RequestId, Request> requests_;
  bool rotten_ = false;  // since the store was opened
  int64_t found_ = 0;
  int64_t losses_ = 0;
  int64_t damaged_ = 0;
  int64_t evicted_before_ = 0;
};

constexpr int64_t kAmple = int64_t{64} << 20;
constexpr int64_t kTight = int64_t{1} << 20;
constexpr Scenario kScenarios[] = {
    {"nothing goes wrong", kAmple, false, false, false, false},
    {"under a tight bound", kTight, true, false, false, false},
    {"faults", kAmple, false, true, false, false},
    {"crashes", kAmple, false, false, true, false},
    {"crashes and faults under a tight bound", kTight, true, true, true, false},
    {"everything, and damaged files", kTight, true, true, true, true},
};

TEST_CASE("an acknowledged object is read bit for bit or was evicted or damaged on purpose") {
  const uint64_t seed = SeedForTests();
  for (const Scenario& scenario : kScenarios) {
    constexpr int kRounds = 4;
    constexpr int kSteps = 5'000;
    int64_t found = 0;
    int64_t evicted = 0;
    int64_t damaged = 0;
    for (int round = 0; round < kRounds; ++round) {
      const uint64_t round_seed = seed + round;
      CAPTURE(round_seed);
      const std::string name = scenario.name;
      CAPTURE(name);
      Model model(scenario, round_seed);
      for (int i = 0; i < kSteps; ++i) model.Step();
      model.CheckAll();
      found += model.found();
      evicted += model.evicted();
      damaged += model.damaged();
    }
    CHECK(found > kRounds * kSteps / 20);
    CHECK((evicted > 0) == scenario.evicts);
    CHECK((damaged > 0) == scenario.corrupts);
  }
}

}  // namespace
}  // namespace cairn
