// Random operations on a PrefixTree: whatever comes back is what the tokens say, byte for byte.
#include <doctest/doctest.h>

#include "cairn/spec/state_spec_for_tests.h"
#include "cairn/state/prefix_tree_model_for_tests.h"

namespace cairn {
namespace {

struct Counts {
  int64_t resumed_tokens = 0;
  int64_t evictions = 0;
  int64_t refused = 0;
};

void Run(uint64_t seed, std::string_view policy, Counts& counts) {
  RandomChoice choose(seed);
  const auto model = RandomPrefixTreeModel(choose, policy);
  for (int i = 0; i < 150; ++i) {
    CAPTURE(i);
    REQUIRE_NOTHROW(model->Operate(choose));
    if (i % 8 == 0) REQUIRE_NOTHROW(model->Audit());
  }
  counts.resumed_tokens += model->resumed_tokens();
  counts.evictions += model->tree().stats().evictions;
  counts.refused += model->refused();
}

}  // namespace

TEST_CASE("a tree under random operations, of any state and policy, gives back the right bytes") {
  for (const std::string_view policy : EvictionPolicyNames()) {
    CAPTURE(policy);
    Counts counts;
    for (uint64_t seed = 0; seed < 150; ++seed) {
      CAPTURE(seed);
      Run(seed, policy, counts);
    }
    // Else the test would miss what it is for.
    CHECK(counts.resumed_tokens > 10'000);
    CHECK(counts.evictions > 500);
    CHECK(counts.refused > 100);
  }
}

}  // namespace cairn
