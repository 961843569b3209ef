// Random operations on a state manager with the state of every golden: memory short, a disk below
// that fails and rots, crashes. Every byte of every lease must be what its tokens say.
#include <doctest/doctest.h>

#include "cairn/base/seed_for_tests.h"
#include "cairn/spec/state_layout.h"
#include "cairn/state/eviction.h"
#include "cairn/state/state_manager_model_for_tests.h"
#include "tests/model_for_tests.h"

namespace cairn {

TEST_CASE("the state of every golden survives random operations, faults, rot and crashes") {
  constexpr ManagerScenario kScenario{.name = "all of it",
                                      .disk_bytes = Bytes(256 << 20),
                                      .faults = true,
                                      .crashes = true,
                                      .rots = true};
  const uint64_t seed = SeedForTests();
  int64_t loaded = 0;
  for (const std::string& name : GoldenNames()) {
    CAPTURE(name);
    CAPTURE(seed);
    const ModelSpec spec = GoldenSpec(name);
    const auto policies = EvictionPolicyNames();
    StateManagerModel model(kScenario, StateSpecOf(spec, {DType::kF16, DType::kF16}),
                            policies[seed % policies.size()], seed);
    for (int i = 0; i < 1500; ++i) {
      CAPTURE(i);
      REQUIRE_NOTHROW(model.Operate());
      if (i % 100 == 0) REQUIRE_NOTHROW(model.Audit());
      if (i % 300 == 299) REQUIRE_NOTHROW(model.RestartOrderly());
    }
    loaded += model.loaded_tokens();
  }
  CHECK(loaded > 5'000);
}

}  // namespace cairn
