#include "cairn/state/state_key.h"

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

#include "cairn/spec/state_spec_for_tests.h"

namespace cairn {
namespace {

StateIdentity Of(std::string model, std::string tenant = "") {
  StateIdentity identity;
  identity.model = std::move(model);
  identity.tenant = std::move(tenant);
  return identity;
}

StateSpec OneLayer() {
  Rows rows;
  rows.name = "keys";
  rows.width = 8;
  return {.layers = {{{rows}}}};
}

Rows& RowsOf(StateSpec& spec) { return std::get<Rows>(spec.layers[0].components[0]); }

std::vector<TokenId> SomeTokens(int count, int changed = -1) {
  std::vector<TokenId> tokens;
  for (int i = 0; i < count; ++i) tokens.emplace_back(i == changed ? -1 : i);
  return tokens;
}

}  // namespace

TEST_CASE("whatever the state depends on changes its key, and nothing else does") {
  const StateIdentity identity{
      .model = "m", .adapter = "a", .adapter_scale = 0.5, .positions = "p", .tenant = "t"};
  std::vector<StateKey> keys = {KeyOf(identity, OneLayer())};
  const auto with = [&](auto change) {
    StateIdentity other = identity;
    StateSpec spec = OneLayer();
    change(other, spec);
    keys.push_back(KeyOf(other, spec));
  };
  with([](StateIdentity& i, StateSpec&) { i.model = "n"; });
  with([](StateIdentity& i, StateSpec&) { i.adapter.clear(); });
  with([](StateIdentity& i, StateSpec&) { i.adapter_scale = 0.25; });
  with([](StateIdentity& i, StateSpec&) { i.positions = "long"; });
  with([](StateIdentity& i, StateSpec&) { i.tenant = "u"; });
  // The same letters, cut elsewhere.
  with([](StateIdentity& i, StateSpec&) { i.model = "ma", i.adapter.clear(); });
  with([](StateIdentity&, StateSpec& s) { RowsOf(s).codec = DType::kBF16; });
  with([](StateIdentity&, StateSpec& s) { RowsOf(s).order = RowOrder::kTransposedTiles; });
  with([](StateIdentity&, StateSpec& s) { RowsOf(s).lifetime = Lifetime::Window(TokenCount(9)); });
  with([](StateIdentity&, StateSpec& s) { RowsOf(s).lifetime = Lifetime::Chunk(TokenCount(9)); });
  with([](StateIdentity&, StateSpec& s) { RowsOf(s).position = PositionApplied::kWhenRead; });
  with([](StateIdentity&, StateSpec& s) { RowsOf(s).transform = RowTransform::kRotated; });
  with([](StateIdentity&, StateSpec& s) { RowsOf(s).transform = RowTransform::kStandardized; });
  with([](StateIdentity&, StateSpec& s) { RowsOf(s).heads = 2; });
  with([](StateIdentity&, StateSpec& s) { RowsOf(s).name = "values"; });
  with([](StateIdentity&, StateSpec& s) { s.layers.emplace_back(); });
  with([](StateIdentity&, StateSpec& s) { s.layers.push_back({{Alias{LayerIndex(0)}}}); });
  for (size_t i = 0; i < keys.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      CAPTURE(i);
      CAPTURE(j);
      CHECK_FALSE(keys[i] == keys[j]);
    }
  }
  CHECK(keys.front() == KeyOf(identity, OneLayer()));
}

TEST_CASE(
    "a chain's keys are those of the prefixes, and a changed token changes all from there on") {
  const StateKey key = KeyOf(Of("m"), OneLayer());
  const std::vector<ObjectKey> keys = PrefixKeys(key, SomeTokens(40), TokenCount(16));
  REQUIRE(keys.size() == 3);
  CHECK(PrefixKeys(key, SomeTokens(16), TokenCount(16)).back() == keys[0]);
  CHECK(PrefixKeys(key, SomeTokens(32), TokenCount(16)).back() == keys[1]);
  CHECK(PrefixKeys(key, SomeTokens(40), TokenCount(7)).back() == keys[2]);
  CHECK(PrefixKeys(key, {}, TokenCount(16)).empty());

  const std::vector<ObjectKey> changed = PrefixKeys(key, SomeTokens(40, 17), TokenCount(16));
  CHECK(changed[0] == keys[0]);
  CHECK_FALSE(changed[1] == keys[1]);
  CHECK_FALSE(changed[2] == keys[2]);
  const StateKey other = KeyOf(Of("m", "t"), OneLayer());
  CHECK_FALSE(PrefixKeys(other, SomeTokens(40), TokenCount(16))[0] == keys[0]);
}

TEST_CASE("keys don't change from version to version by accident") {
  const StateKey key = KeyOf(Of("m"), OneLayer());
  CHECK(key.bytes[0] == std::byte{4});
}

}  // namespace cairn
