// Random operations on a StateManager and its disk: whatever comes back is what the tokens say.
#include <doctest/doctest.h>

#include <string>

#include "cairn/base/seed_for_tests.h"
#include "cairn/state/eviction.h"
#include "cairn/state/state_manager_model_for_tests.h"

namespace cairn {
namespace {

struct Counts {
  int64_t operations = 0;
  int64_t loaded_tokens = 0;
  int64_t failed_loads = 0;
  int64_t restored = 0;
};

void Run(const ManagerScenario& scenario, uint64_t seed, Counts& counts) {
  RandomChoice choose(seed);
  const std::string policy(EvictionPolicyNames()[seed % EvictionPolicyNames().size()]);
  StateManagerModel model(scenario, RandomStateSpec(choose, 3), policy, seed);
  for (int i = 0; i < 300; ++i) {
    CAPTURE(i);
    REQUIRE_NOTHROW(model.Operate());
    if (i % 16 == 0) REQUIRE_NOTHROW(model.Audit());
    if (i % 100 == 99) REQUIRE_NOTHROW(model.RestartOrderly());
  }
  counts.operations += model.operations();
  counts.loaded_tokens += model.loaded_tokens();
  counts.failed_loads += model.failed_loads();
  counts.restored += model.restored();
}

}  // namespace

TEST_CASE("leases under random operations, faults and crashes hold the bytes of their tokens") {
  const uint64_t seed = SeedForTests();
  for (const ManagerScenario& scenario : kManagerScenarios) {
    const std::string name = scenario.name;
    CAPTURE(name);
    Counts counts;
    for (uint64_t round = 0; round < 40; ++round) {
      const uint64_t round_seed = seed + round;
      CAPTURE(round_seed);
      Run(scenario, round_seed, counts);
    }

    // Else the test would miss what it is for.
    CHECK(counts.operations == 40 * 300);
    CHECK(counts.loaded_tokens > 1'000);
    if (scenario.rots) CHECK(counts.failed_loads > 0);
    if (scenario.plenty) CHECK(counts.restored > 100);
  }
}

}  // namespace cairn
