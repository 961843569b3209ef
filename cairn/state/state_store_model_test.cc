// Random operations on a StateStore against a naive model.
#include <doctest/doctest.h>

#include "cairn/state/state_model_for_tests.h"

namespace cairn {

TEST_CASE("a store under random operations equals a naive model of plain vectors") {
  int64_t exhausted = 0;
  int64_t rewinds = 0;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    CAPTURE(seed);
    RandomChoice choose(seed);
    StateModel model = RandomStateModel(choose);
    for (int i = 0; i < 120; ++i) {
      CAPTURE(i);
      REQUIRE_NOTHROW(model.Operate(choose));
    }
    exhausted += model.exhausted_count();
    rewinds += model.rewind_count();
  }
  // Else the test would miss what it is for.
  CHECK(exhausted > 100);
  CHECK(rewinds > 100);
}

}  // namespace cairn
