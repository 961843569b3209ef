// What a picture of the tree says of tiers.
#include <doctest/doctest.h>

#include <memory>
#include <optional>
#include <vector>

#include "cairn/state/object_store_for_tests.h"
#include "cairn/state/state_manager.h"
#include "cairn/state/tier_for_tests.h"

namespace cairn {
namespace {

constexpr TokenCount kRun{32};
constexpr TokenCount kMany{1 << 20};

// A store whose state is kept, and on so many tiers.
struct Kept {
  explicit Kept(std::vector<MemoryObjectStore*> tiers, bool with_fixed = false)
      : store(PatternStore(with_fixed)) {
    StateManager::Options options;
    const char* const names[] = {"disk", "store"};
    for (size_t i = 0; i < tiers.size(); ++i) {
      options.tiers.push_back({.name = names[i], .objects = tiers[i]});
    }
    options.run_tokens = kRun;
    manager = *StateManager::Make(*store, options);
  }
  // Without waiting for a tier.
  void Keep(const Tokens& tokens) {
    const SequenceId id = ReadTokens(*store, key, tokens);
    manager->KeepSequence(key, tokens, id, 0);
    store->Release(id);
  }
  // By node, and of each by tier.
  std::vector<std::vector<int64_t>> OnTiers(TokenCount most_tokens = kMany) const {
    std::vector<std::vector<int64_t>> all;
    for (const StateManager::ShownNode& shown : manager->Picture(100, most_tokens)) {
      all.emplace_back();
      if (!shown.on_tiers) all.back().push_back(-1);
      for (const TokenCount on : shown.on_tiers.value_or(std::vector<TokenCount>{})) {
        all.back().push_back(on.value());
      }
    }
    return all;
  }

  StateKey key;
  std::unique_ptr<StateStore> store;
  std::unique_ptr<StateManager> manager;
};

using Numbers = std::vector<std::vector<int64_t>>;

}  // namespace

TEST_CASE(
    "tokens count for a tier once their run is written, and a path's last ones with its end") {
  for (const bool with_fixed : {false, true}) {
    MemoryObjectStore disk;
    Kept kept({&disk}, with_fixed);
    kept.Keep(NumberTokens(100));
    CHECK(kept.OnTiers() == Numbers{{0}});
    kept.manager->Flush(0);
    CHECK(kept.OnTiers() == Numbers{{100}});
    kept.Keep(NumberTokens(130));
    CHECK(kept.OnTiers() == Numbers{{100}, {0}});
    kept.manager->Flush(0);
    CHECK(kept.OnTiers() == Numbers{{100}, {30}});
  }
}

TEST_CASE("a beginning that ends within a run is on a tier with the runs that go on from it") {
  MemoryObjectStore disk;
  Kept kept({&disk});
  Tokens other = NumberTokens(40);
  for (const TokenId token : NumberTokens(90, 5000)) other.push_back(token);
  kept.Keep(NumberTokens(100));
  kept.Keep(other);
  CHECK(kept.OnTiers() == Numbers{{0}, {0}, {0}});
  kept.manager->Flush(0);
  // Longer ones come first.
  CHECK(kept.OnTiers() == Numbers{{40}, {90}, {60}});
  const auto nodes = kept.manager->Picture(100, kMany);
  CHECK(nodes[0].node.tokens == 40);
  CHECK(nodes[1].node.tokens == 90);
}

TEST_CASE("a beginning that ends within a run is on a tier with the ends that go on from it") {
  for (const bool with_fixed : {false, true}) {
    MemoryObjectStore disk;
    Kept kept({&disk}, with_fixed);
    Tokens other = NumberTokens(40);
    for (const TokenId token : NumberTokens(8, 5000)) other.push_back(token);
    kept.Keep(NumberTokens(50));
    kept.Keep(other);
    CHECK(kept.OnTiers() == Numbers{{0}, {0}, {0}});
    kept.manager->Flush(0);
    CHECK(kept.OnTiers() == Numbers{{40}, {10}, {8}});
  }
}

TEST_CASE("each tier has its own numbers, and too long paths have none") {
  MemoryObjectStore disk, store;
  {
    Kept first({&disk});
    first.Keep(NumberTokens(70));
    first.manager->Flush(0);
  }
  Kept kept({&disk, &store});
  kept.Keep(NumberTokens(70));
  CHECK(kept.OnTiers() == Numbers{{70, 0}});
  kept.manager->Flush(0);
  CHECK(kept.OnTiers() == Numbers{{70, 70}});
  kept.Keep(NumberTokens(30, 9000));
  kept.manager->Flush(0);
  CHECK(kept.OnTiers(TokenCount(100)) == Numbers{{70, 70}, {30, 30}});
  CHECK(kept.OnTiers(TokenCount(99)) == Numbers{{70, 70}, {-1}});
  CHECK(Kept({}).OnTiers().empty());
}

}  // namespace cairn
