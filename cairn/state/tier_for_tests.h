// A store of state with pattern bytes in it, for tests of what moves it.
#ifndef CAIRN_STATE_TIER_FOR_TESTS_H_
#define CAIRN_STATE_TIER_FOR_TESTS_H_

#include <memory>
#include <utility>
#include <vector>

#include "cairn/base/check.h"
#include "cairn/state/prefix_tree_model_for_tests.h"
#include "cairn/state/state_store.h"

namespace cairn {

inline Tokens NumberTokens(int64_t count, int32_t first = 0) {
  Tokens tokens;
  for (int64_t i = 0; i < count; ++i) tokens.emplace_back(first + static_cast<int32_t>(i));
  return tokens;
}

// Rows of 32 bytes a token, with 64 bytes of Fixed state or without.
inline StateLayout PatternLayout(bool with_fixed) {
  Rows rows;
  rows.name = "keys";
  rows.width = 16;
  Fixed fixed;
  fixed.name = "memory";
  fixed.elements = ElementCount(16);
  LayerState layer{.components = {rows}};
  if (with_fixed) layer.components.emplace_back(fixed);
  return *StateLayout::Make({.layers = {layer}});
}

inline std::unique_ptr<StateStore> PatternStore(bool with_fixed, Bytes budget = Bytes(1 << 20)) {
  return *StateStore::Make(PatternLayout(with_fixed), {.budget = budget});
}

// A sequence at rest that has read the tokens.
inline SequenceId ReadTokens(StateStore& store, const StateKey& key, const Tokens& tokens) {
  const SequenceId id = *store.Create();
  const TokenCount count(static_cast<int64_t>(tokens.size()));
  CAIRN_CHECK(store.Prepare(id, count).has_value());
  WriteTokens(store.layout(), store.View(id), StampsOf(key, tokens));
  store.Commit(id, count);
  return id;
}

}  // namespace cairn

#endif  // CAIRN_STATE_TIER_FOR_TESTS_H_
