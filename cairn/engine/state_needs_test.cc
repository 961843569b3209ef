#include "cairn/engine/state_needs.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "cairn/spec/state_spec_for_tests.h"
#include "cairn/state/state_store.h"

namespace cairn {
namespace {

// Reads so many tokens in pieces to the ends of blocks; false if the budget isn't enough.
bool CanRead(const StateLayout& layout, Bytes budget, TokenCount tokens) {
  const auto store = *StateStore::Make(layout, {.budget = budget});
  const Result<SequenceId> id = store->Create();
  if (!id) return false;
  for (TokenCount read; read < tokens;) {
    const TokenCount piece = std::min(StateNeeds::PieceAt(read), tokens - read);
    if (!store->Prepare(*id, piece)) return false;
    store->Commit(*id, piece);
    read += piece;
  }
  return true;
}

}  // namespace

TEST_CASE("the bytes that a sequence needs alone are enough, and one less is not") {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    CAPTURE(seed);
    RandomChoice choose(seed);
    const StateLayout layout = *StateLayout::Make(RandomStateSpec(choose, 4));
    const TokenCount context(1 + choose(400));
    const StateNeeds needs(layout, context);
    for (int i = 0; i < 8; ++i) {
      const TokenCount tokens(choose(context.value() + 1));
      const Bytes need = needs.Alone(tokens);
      if (need == Bytes(0)) continue;
      CHECK(CanRead(layout, need, tokens));
      CHECK_FALSE(CanRead(layout, need - Bytes(1), tokens));
    }
    CHECK(CanRead(layout, needs.Alone(context) + Bytes(1), context));
  }
}

TEST_CASE("rows and points are all of a state, and only models that need points have bytes there") {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    CAPTURE(seed);
    RandomChoice choose(seed);
    const StateLayout layout = *StateLayout::Make(RandomStateSpec(choose, 4));
    const StateNeeds needs(layout, TokenCount(100));
    const auto store = *StateStore::Make(layout, {.budget = Bytes(1 << 20)});
    for (const int64_t n : {1, 17, 100}) {
      const TokenCount tokens(n);
      CHECK(needs.Rows(tokens) + needs.Point(tokens) == layout.AllocatedBytes(tokens));
      if (!store->NeedsPoints()) CHECK(needs.Point(tokens) == Bytes(0));
    }
  }
}

}  // namespace cairn
