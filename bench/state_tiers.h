// What state_worker does with a state manager and its tiers.
#ifndef CAIRN_BENCH_STATE_TIERS_H_
#define CAIRN_BENCH_STATE_TIERS_H_

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "cairn/base/check.h"
#include "cairn/state/disk_store.h"
#include "cairn/state/eviction.h"
#include "cairn/state/state_manager.h"
#include "cairn/state/state_manager_model_for_tests.h"

namespace cairn {

// Random operations on managers of any state, over disks that fail, rot and lose what wasn't
// synced.
inline int SoakTiers(uint64_t seed, int64_t operations) {
  int64_t done = 0;
  int64_t loaded = 0;
  for (uint64_t round = 0; done < operations; ++round) {
    RandomChoice choose(seed + round);
    const auto policies = EvictionPolicyNames();
    StateManagerModel model(kManagerScenarios[round % std::size(kManagerScenarios)],
                            RandomStateSpec(choose, 3), policies[round % policies.size()],
                            seed + round);
    for (int i = 0; i < 500; ++i) {
      model.Operate();
      if (i % 25 == 0) model.Audit();
      if (i % 125 == 124) model.RestartOrderly();
    }
    done += model.operations();
    loaded += model.loaded_tokens();
  }
  std::printf("{\"operations\": %lld, \"loaded_tokens\": %lld}\n", static_cast<long long>(done),
              static_cast<long long>(loaded));
  return 0;
}

// A decode step's calls while a disk in `folder` is written to all the time: a lock that is held
// while it is would be seen in them.
inline int MeasureHotPath(const std::string& folder) {
  constexpr int kPrompts = 24;
  constexpr int kSteps = 400;
  constexpr int64_t kPromptTokens = 2048;
  Rows rows;
  rows.name = "keys";
  rows.width = 4096;  // 8 KiB a token
  auto store = *StateStore::Make(*StateLayout::Make({.layers = {{{rows}}}}),
                                 {.budget = Bytes(int64_t{256} << 20)});
  auto disk = *OpenDiskStore({.folder = folder, .bound = Bytes(int64_t{2} << 30)});
  StateManager::Options options;
  options.tiers.push_back({.name = "disk", .objects = disk.get()});
  auto manager = *StateManager::Make(*store, options);
  const StateKey key{};
  const auto now_us = [] {
    return std::chrono::duration<double, std::micro>(
               std::chrono::steady_clock::now().time_since_epoch())
        .count();
  };
  std::vector<double> steps;
  int64_t waiting_steps = 0;
  for (int p = 0; p < kPrompts; ++p) {
    Tokens prompt;
    for (int64_t i = 0; i < kPromptTokens; ++i)
      prompt.emplace_back(static_cast<int32_t>(p * 10'000 + i));
    const LeaseId id = *manager->Open(key, prompt, 0);
    const SequenceId sequence = manager->Sequence(id);
    CAIRN_CHECK(manager->Prepare(id, TokenCount(kPromptTokens)).has_value());
    store->Commit(sequence, TokenCount(kPromptTokens));
    manager->Keep(id, prompt, 0);
    for (int i = 0; i < kSteps; ++i) {
      const double before_us = now_us();
      manager->Poll(0);
      CAIRN_CHECK(manager->Prepare(id, TokenCount(1)).has_value());
      store->Commit(sequence, TokenCount(1));
      steps.push_back(now_us() - before_us);
      waiting_steps += manager->writes().waiting > 0 ? 1 : 0;
      prompt.emplace_back(i);
    }
    manager->Close(id, prompt, 0);
  }
  manager->Flush(0);
  std::ranges::sort(steps);
  std::printf(
      "{\"median_us\": %.3f, \"p99_us\": %.3f, \"writing_share\": %.3f, \"written_bytes\": %lld}\n",
      steps[steps.size() / 2], steps[steps.size() * 99 / 100],
      static_cast<double>(waiting_steps) / static_cast<double>(steps.size()),
      static_cast<long long>(manager->writes().written_bytes.value()));
  return 0;
}

}  // namespace cairn

#endif  // CAIRN_BENCH_STATE_TIERS_H_
