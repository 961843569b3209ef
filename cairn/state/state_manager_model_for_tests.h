// Random operations on a StateManager with a disk below it, compared with what the tokens say.
//
// The disk is simulated and runs when the test says so; it may fail, lose what was not synced, and
// rot. The process may crash. Whatever a lease begins with, every byte of it must be the one that
// its tokens alone decide. Only for tests and fuzzers.
#ifndef CAIRN_STATE_STATE_MANAGER_MODEL_FOR_TESTS_H_
#define CAIRN_STATE_STATE_MANAGER_MODEL_FOR_TESTS_H_

#include <algorithm>
#include <deque>
#include <memory>
#include <random>
#include <string_view>
#include <utility>
#include <vector>

#include "cairn/base/executor_for_tests.h"
#include "cairn/base/file_system_for_tests.h"
#include "cairn/spec/state_spec_for_tests.h"
#include "cairn/state/disk_store.h"
#include "cairn/state/prefix_tree_model_for_tests.h"
#include "cairn/state/state_manager.h"

namespace cairn {

struct ManagerScenario {
  const char* name = "";
  bool plenty = false;  // of memory
  Bytes disk_bytes;
  bool faults = false, crashes = false, rots = false;
};

inline constexpr Bytes kAmpleDisk{int64_t{256} << 20};
inline constexpr Bytes kTightDisk{int64_t{2} << 20};
inline constexpr ManagerScenario kManagerScenarios[] = {
    {.name = "nothing goes wrong", .plenty = true, .disk_bytes = kAmpleDisk},
    {.name = "little memory", .disk_bytes = kAmpleDisk},
    {.name = "little memory and disk", .disk_bytes = kTightDisk},
    {.name = "crashes", .disk_bytes = kAmpleDisk, .crashes = true},
    {.name = "faults and crashes", .disk_bytes = kTightDisk, .faults = true, .crashes = true},
    {.name = "all of it, and rot",
     .disk_bytes = kAmpleDisk,
     .faults = true,
     .crashes = true,
     .rots = true},
};

class StateManagerModel {
 public:
  StateManagerModel(const ManagerScenario& scenario, StateSpec spec, std::string_view policy,
                    uint64_t seed)
      : scenario_(scenario),
        layout_(*StateLayout::Make(std::move(spec))),
        policy_(policy),
        random_(seed),
        choose_(seed ^ 5),
        files_(seed ^ 9) {
    const Bytes little = layout_.AllocatedBytes(TokenCount(1 + choose_(500))) * (1 + choose_(3));
    budget_ = scenario.plenty ? Bytes(int64_t{1} << 28) : little + Bytes(choose_(5000));
    Start();
  }
  ~StateManagerModel() { Stop(); }

  void Operate() {
    now_us_ += choose_(300);
    const int64_t op = choose_(20);
    if (live_.empty() || (op <= 3 && live_.size() < 6)) {
      Open();
    } else if (op <= 8) {
      Append(Pick());
    } else if (op == 9) {
      Keep(Pick());
    } else if (op == 10) {
      Fork(Pick());
    } else if (op <= 12) {
      Close(Pick());
    } else if (op == 13) {
      Drop(Pick());
    } else if (op == 14 && choose_(3) == 0) {
      Disturb();
    } else {
      for (int64_t i = choose_(4); i > 0; --i) executor_.RunOne(random_);
      Poll();
    }
    operations_ += 1;
  }

  void Audit() {
    manager_->Audit();
    for (const Live& live : live_) {
      if (manager_->Ready(live.id)) Check(live);
    }
  }

  // Ends orderly and comes back; what was closed since the last disturbance must then be there.
  void RestartOrderly() {
    while (!live_.empty()) Close(live_.size() - 1);
    Settle();
    const bool all_written =
        manager_->writes().given_up == 0 && !disturbed_ && scenario_.disk_bytes > Bytes(8 << 20);
    Stop();
    Start();
    if (!all_written) return;
    for (const Seen& seen : closed_) {
      Tokens tokens = seen.tokens;
      tokens.emplace_back(1);
      const Result<LeaseId> id = manager_->Open(KeyOf(seen.tenant), tokens, now_us_);
      if (!id) continue;
      Settle();
      if (manager_->Ready(*id)) {
        const auto size = static_cast<int64_t>(seen.tokens.size());
        const bool fits = manager_->stats().refused == 0 && scenario_.plenty;
        if (fits) CAIRN_CHECK(manager_->Origin(*id).resumed() == TokenCount(size));
        restored_ += fits ? 1 : 0;
      }
      manager_->Drop(*id);
    }
  }

  const StateManager& manager() const { return *manager_; }
  int64_t loaded_tokens() const { return loaded_tokens_ + manager_->stats().loaded_tokens; }
  int64_t failed_loads() const { return failed_loads_ + manager_->stats().loads_failed; }
  int64_t given_up() const { return given_up_ + manager_->writes().given_up; }
  int64_t operations() const { return operations_; }
  // Sequences that an orderly restart was seen to bring back whole.
  int64_t restored() const { return restored_; }

 private:
  struct Live {
    LeaseId id;
    int64_t tenant = 0;
    Tokens wanted;  // until the lease is ready
    Tokens tokens;  // that were read
    bool begun = false;
  };
  struct Seen {
    int64_t tenant = 0;
    Tokens tokens;
  };

  static StateKey KeyOf(int64_t tenant) {
    StateKey key;
    key.bytes[0] = static_cast<std::byte>(tenant);
    return key;
  }

  void Start() {
    files_.FailOneIn(0);
    store_ = *StateStore::Make(layout_, {.budget = budget_});
    DiskStoreOptions options{.folder = "tier", .bound = scenario_.disk_bytes};
    options.segment = Bytes(256 << 10);
    options.queue_max = Bytes(1 << 20);
    options.files = &files_;
    options.executor = &executor_;
    disk_ = *OpenDiskStore(options);
    StateManager::Options manager;
    manager.policy = policy_;
    manager.tiers.push_back({.name = "disk", .objects = disk_.get()});
    manager.run_tokens = TokenCount(32);
    manager_ = *StateManager::Make(*store_, manager);
  }

  // The process ends; the disk may have been stopped before.
  void Stop() {
    for (const Live& live : live_) manager_->Drop(live.id);
    live_.clear();
    loaded_tokens_ += manager_->stats().loaded_tokens;
    failed_loads_ += manager_->stats().loads_failed;
    given_up_ += manager_->writes().given_up;
    Settle();
    manager_.reset();
    disk_.reset();
    store_.reset();
  }

  void Settle() {
    for (int i = 0; i < 100'000 && (executor_.waiting() > 0 || !manager_->idle()); ++i) {
      executor_.RunAll(random_);
      Poll();
    }
    CAIRN_CHECK(manager_->idle() && executor_.waiting() == 0);
  }

  void Poll() {
    manager_->Poll(now_us_);
    for (Live& live : live_) {
      if (!live.begun && manager_->Ready(live.id)) Begin(live);
    }
  }

  void Begin(Live& live) {
    const StateOrigin& origin = manager_->Origin(live.id);
    const auto resumed = static_cast<size_t>(origin.resumed().value());
    CAIRN_CHECK(resumed < live.wanted.size() || live.wanted.empty());
    live.tokens.assign(live.wanted.begin(),
                       live.wanted.begin() + static_cast<std::ptrdiff_t>(resumed));
    live.begun = true;
    Check(live);
  }

  void Check(const Live& live) const {
    CheckBytes(*store_, manager_->Sequence(live.id), KeyOf(live.tenant), live.tokens);
  }

  size_t Pick() { return static_cast<size_t>(choose_(static_cast<int64_t>(live_.size()))); }

  void Open() {
    Live live;
    live.tenant = choose_(2);
    if (!seen_.empty() && choose_(6) != 0) {
      const Seen& seen = seen_[static_cast<size_t>(choose_(static_cast<int64_t>(seen_.size())))];
      live.wanted = seen.tokens;
      if (choose_(4) != 0) live.tenant = seen.tenant;
      const auto size = static_cast<int64_t>(seen.tokens.size());
      if (choose_(3) == 0) live.wanted.resize(static_cast<size_t>(choose_(size + 1)));
    }
    for (int64_t i = choose_(60); i > 0; --i) {
      live.wanted.emplace_back(static_cast<int32_t>(choose_(2)));
    }
    const Result<LeaseId> id = manager_->Open(KeyOf(live.tenant), live.wanted, now_us_);
    if (!id) {
      CAIRN_CHECK(id.error().code == ErrorCode::kExhausted);
      return;
    }
    live.id = *id;
    live_.push_back(std::move(live));
    Poll();
  }

  void Append(size_t index) {
    Live& live = live_[index];
    if (!live.begun) return;
    const TokenCount added(1 + choose_(choose_(3) == 0 ? 120 : 8));
    if (!manager_->Prepare(live.id, added)) return;
    for (int64_t i = 0; i < added.value(); ++i) {
      live.tokens.emplace_back(static_cast<int32_t>(choose_(2)));
    }
    const SequenceId id = manager_->Sequence(live.id);
    WriteTokens(layout_, store_->View(id), StampsOf(KeyOf(live.tenant), live.tokens));
    store_->Commit(id, added);
    manager_->NoteCompute(TokenCount(0), added, added.value() * compute_us_);
  }

  void See(const Live& live) {
    seen_.push_back({.tenant = live.tenant, .tokens = live.tokens});
    if (seen_.size() > 24) seen_.pop_front();
  }

  void Keep(size_t index) {
    const Live& live = live_[index];
    if (!live.begun) return;
    manager_->Keep(live.id, live.tokens, now_us_);
    See(live);
  }

  void Fork(size_t index) {
    if (!live_[index].begun || live_.size() >= 8) return;
    const Result<LeaseId> id = manager_->Fork(live_[index].id);
    if (!id) return;
    Live fork = live_[index];
    fork.id = *id;
    live_.push_back(std::move(fork));
  }

  void Close(size_t index) {
    const Live& live = live_[index];
    if (live.begun) {
      See(live);
      if (!live.tokens.empty()) closed_.push_back(seen_.back());
      manager_->Close(live.id, live.tokens, now_us_);
    } else {
      manager_->Drop(live.id);
    }
    Forget(index);
  }

  void Drop(size_t index) {
    manager_->Drop(live_[index].id);
    Forget(index);
  }

  void Forget(size_t index) {
    std::swap(live_[index], live_.back());
    live_.pop_back();
  }

  void Disturb() {
    const int64_t kind = choose_(5);
    if (kind == 0 && scenario_.crashes) Crash();
    if (kind == 1 && scenario_.faults) files_.FailOneIn(choose_(2) == 0 ? 0 : 1 + choose_(30));
    if (kind == 2 && scenario_.rots) Rot();
    if (kind == 3) compute_us_ = 1 + choose_(2) * 10'000;  // computing is cheap, or dear
    if (kind == 4) now_us_ += choose_(2) * 10'000'000;     // reads come too late
    disturbed_ = disturbed_ || kind <= 2;
  }

  void Crash() {
    files_.StopAfter(choose_(20));
    for (int i = 0; i < 30; ++i) executor_.RunOne(random_);
    files_.StopAfter(0);
    Stop();
    files_.Crash();
    Start();
  }

  void Rot() {
    const auto names = *files_.List("tier", 1000);
    if (names.empty()) return;
    for (int i = 0; i < 60; ++i) {
      files_.FlipBit("tier/" +
                     names[static_cast<size_t>(choose_(static_cast<int64_t>(names.size())))]);
    }
  }

  const ManagerScenario scenario_;
  const StateLayout layout_;
  const std::string policy_;
  std::mt19937_64 random_;
  RandomChoice choose_;
  SimulatedFileSystem files_;
  ManualExecutor executor_;
  Bytes budget_;
  std::unique_ptr<StateStore> store_;
  std::unique_ptr<ObjectStore> disk_;
  std::unique_ptr<StateManager> manager_;
  std::vector<Live> live_;
  std::deque<Seen> seen_;
  std::vector<Seen> closed_;
  bool disturbed_ = false;
  int64_t now_us_ = 0;
  int64_t compute_us_ = 10'000;
  int64_t loaded_tokens_ = 0;
  int64_t failed_loads_ = 0;
  int64_t given_up_ = 0;
  int64_t operations_ = 0;
  int64_t restored_ = 0;
};

}  // namespace cairn

#endif  // CAIRN_STATE_STATE_MANAGER_MODEL_FOR_TESTS_H_
