#include "cairn/state/prefix_tree.h"

#include <doctest/doctest.h>

#include <memory>
#include <utility>
#include <vector>

#include "cairn/state/prefix_tree_model_for_tests.h"

namespace cairn {
namespace {

constexpr int64_t kBlock = 512;

Rows MakeRows(const char* name, Lifetime lifetime) {
  Rows rows;
  rows.name = name;
  rows.width = 16;
  rows.lifetime = lifetime;
  return rows;  // 32 bytes a row, 512 a block
}

Fixed MakeFixed() {
  Fixed fixed;
  fixed.name = "memory";
  fixed.elements = ElementCount(16);
  return fixed;
}

StateKey KeyOf(int tenant) {
  StateKey key;
  key.bytes[0] = static_cast<std::byte>(tenant);
  return key;
}

// Tokens 0, 1, 2, ... with `salt` from `differs` on.
Tokens Numbers(int64_t count, int64_t differs = 1 << 20, int32_t salt = 1000) {
  Tokens tokens;
  for (int64_t i = 0; i < count; ++i) {
    tokens.emplace_back(static_cast<int32_t>(i) + (i < differs ? 0 : salt));
  }
  return tokens;
}

// A store and its tree, fed as an engine would.
class Fed {
 public:
  explicit Fed(std::vector<Component> components, Bytes budget = Bytes(1 << 20)) {
    auto layout = StateLayout::Make({.layers = {{std::move(components)}}});
    REQUIRE(layout.has_value());
    auto store = StateStore::Make(*std::move(layout), {.budget = budget});
    REQUIRE(store.has_value());
    store_ = *std::move(store);
    tree_ = std::make_unique<PrefixTree>(*store_, *MakeEvictionPolicy("lru"));
  }

  StateStore& store() { return *store_; }
  PrefixTree& tree() { return *tree_; }

  TokenCount Match(const Tokens& tokens, int tenant = 0) const {
    return tree_->Match(KeyOf(tenant), tokens, TokenCount(static_cast<int64_t>(tokens.size())));
  }

  struct Live {
    SequenceId id;
    PrefixTree::Lock lock;
    Tokens tokens;
    TokenCount found;
  };

  // Reads the tokens, from what is kept as far as that goes, and keeps them.
  Live Read(const Tokens& tokens, int tenant = 0) {
    Live live;
    live.tokens = tokens;
    const TokenCount most(static_cast<int64_t>(tokens.size()));
    const auto resumed = tree_->Resume(KeyOf(tenant), tokens, most, ++now_us_, live.lock);
    REQUIRE(resumed.has_value());
    live.id = resumed->id;
    live.found = resumed->tokens;
    const TokenCount added = most - live.found;
    tree_->MakeRoom(store_->BytesToPrepare(live.id, added));
    REQUIRE(store_->Prepare(live.id, added));
    WriteTokens(store_->layout(), store_->View(live.id), StampsOf(KeyOf(tenant), tokens));
    store_->Commit(live.id, added);
    CheckBytes(*store_, live.id, KeyOf(tenant), tokens);
    tree_->Keep(KeyOf(tenant), tokens, live.id, ++now_us_, live.lock);
    return live;
  }
  void End(Live& live) {
    store_->Release(live.id);
    tree_->Unlock(live.lock);
    tree_->Audit();
  }
  TokenCount ReadAndEnd(const Tokens& tokens, int tenant = 0) {
    Live live = Read(tokens, tenant);
    End(live);
    return live.found;
  }

 private:
  std::unique_ptr<StateStore> store_;
  std::unique_ptr<PrefixTree> tree_;
  int64_t now_us_ = 0;
};

}  // namespace

TEST_CASE("the longest common prefix of any two requests is computed once") {
  Fed fed({MakeRows("keys", Lifetime::All())});
  CHECK(fed.ReadAndEnd(Numbers(100)) == TokenCount(0));
  CHECK(fed.ReadAndEnd(Numbers(150)) == TokenCount(100));
  CHECK(fed.ReadAndEnd(Numbers(90, 37)) == TokenCount(37));  // in the middle of a block
  CHECK(fed.ReadAndEnd(Numbers(90, 60)) == TokenCount(60));
  CHECK(fed.Match(Numbers(90, 37)) == TokenCount(90));  // both branches are kept
  CHECK(fed.Match(Numbers(150)) == TokenCount(150));
}

TEST_CASE("a request that is kept as a whole still leaves its last token to be computed") {
  Fed fed({MakeRows("keys", Lifetime::All())});
  fed.ReadAndEnd(Numbers(64));
  PrefixTree::Lock lock;
  const auto resumed = fed.tree().Resume(KeyOf(0), Numbers(64), TokenCount(63), 1, lock);
  REQUIRE(resumed.has_value());
  CHECK(resumed->tokens == TokenCount(63));
  fed.store().Release(resumed->id);
  fed.tree().Unlock(lock);
}

TEST_CASE("another key finds nothing, whatever is kept under the first") {
  Fed fed({MakeRows("keys", Lifetime::All())});
  fed.ReadAndEnd(Numbers(100), 1);
  CHECK(fed.Match(Numbers(100), 2) == TokenCount(0));
  CHECK(fed.ReadAndEnd(Numbers(100), 2) == TokenCount(0));
  CHECK(fed.Match(Numbers(100), 1) == TokenCount(100));
}

TEST_CASE("rows without the Fixed state of the same length are no hit") {
  Fed fed({MakeRows("keys", Lifetime::All()), MakeFixed()});
  fed.ReadAndEnd(Numbers(50));
  fed.ReadAndEnd(Numbers(80));
  CHECK(fed.Match(Numbers(79)) == TokenCount(50));
  CHECK(fed.Match(Numbers(80)) == TokenCount(80));
  CHECK(fed.Match(Numbers(80, 49)) == TokenCount(0));
}

TEST_CASE("a branch that a window still covers is a hit, and stays one for a third request") {
  Fed fed({MakeRows("keys", Lifetime::All()), MakeRows("near", Lifetime::Window(TokenCount(64)))});
  fed.ReadAndEnd(Numbers(60));  // shorter than the window: every length can be resumed
  CHECK(fed.ReadAndEnd(Numbers(55, 30)) == TokenCount(30));
  CHECK(fed.ReadAndEnd(Numbers(55, 30, 2000)) == TokenCount(30));
  CHECK(fed.ReadAndEnd(Numbers(300)) == TokenCount(60));
  // After 300 tokens the window has left the first ones.
  CHECK(fed.Match(Numbers(300, 150)) == TokenCount(60));
}

TEST_CASE("what was used longest ago goes first, from its end, and shared beginnings go last") {
  Fed fed({MakeRows("keys", Lifetime::All())}, Bytes(20 * kBlock));
  fed.ReadAndEnd(Numbers(160));      // 10 blocks
  fed.ReadAndEnd(Numbers(160, 80));  // shares 5 of them
  CHECK(fed.store().LiveBytes() == Bytes(15 * kBlock));
  REQUIRE(fed.tree().MakeRoom(Bytes(7 * kBlock)));
  CHECK(fed.Match(Numbers(160)) == TokenCount(128));
  CHECK(fed.Match(Numbers(160, 80)) == TokenCount(160));
  REQUIRE(fed.tree().MakeRoom(Bytes(14 * kBlock)));
  CHECK(fed.Match(Numbers(160)) == TokenCount(80));
  CHECK(fed.Match(Numbers(160, 80)) == TokenCount(96));
  REQUIRE(fed.tree().MakeRoom(Bytes(20 * kBlock)));
  CHECK(fed.store().LiveBytes() == Bytes(0));
  CHECK(fed.tree().stats().nodes == 0);
  fed.tree().Audit();
}

TEST_CASE("a live path stays; a request for which nothing can go is refused and changes nothing") {
  Fed fed({MakeRows("keys", Lifetime::All())}, Bytes(10 * kBlock));
  Fed::Live live = fed.Read(Numbers(160));
  CHECK_FALSE(fed.tree().MakeRoom(Bytes(kBlock)));
  CHECK(fed.Match(Numbers(160)) == TokenCount(160));
  PrefixTree::Lock lock;  // 150 tokens: a copy of the last block would be needed
  const auto refused = fed.tree().Resume(KeyOf(0), Numbers(150), TokenCount(150), 9, lock);
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().code == ErrorCode::kExhausted);
  CHECK_FALSE(lock.held());
  fed.tree().Audit();
  fed.End(live);
  CHECK(fed.tree().MakeRoom(Bytes(10 * kBlock)));
}

TEST_CASE("a point that goes takes the rows with it that nothing can be resumed from") {
  Fed fed({MakeRows("keys", Lifetime::All()), MakeFixed()}, Bytes(20 * kBlock));
  fed.ReadAndEnd(Numbers(64));
  fed.ReadAndEnd(Numbers(128));
  CHECK(fed.tree().stats().points == 2);
  fed.ReadAndEnd(Numbers(64));  // the shorter one is used again
  REQUIRE(fed.tree().MakeRoom(fed.store().available() + Bytes(1)));
  CHECK(fed.tree().stats().points == 1);
  CHECK(fed.Match(Numbers(128)) == TokenCount(64));
  CHECK(fed.store().LiveBytes() == Bytes(4 * kBlock) + fed.store().layout().fixed_bytes());
}

TEST_CASE("thirty-two forks of one context add what is theirs alone") {
  Fed fed({MakeRows("keys", Lifetime::All())});
  fed.ReadAndEnd(Numbers(1024));
  const Bytes one = fed.store().LiveBytes();
  std::vector<Fed::Live> forks;
  for (int32_t i = 0; i < 32; ++i) forks.push_back(fed.Read(Numbers(1040, 1024, 5000 + 100 * i)));
  for (const Fed::Live& fork : forks) CHECK(fork.found == TokenCount(1024));
  CHECK(fed.store().LiveBytes() == one + Bytes(32 * kBlock));
  for (Fed::Live& fork : forks) fed.End(fork);
}

TEST_CASE("a path of many turns is torn down without running out of stack") {
  Fed fed({MakeRows("keys", Lifetime::All())}, Bytes(int64_t{1} << 30));
  Fed::Live live = fed.Read(Numbers(1));
  for (int64_t turn = 2; turn <= 20'000; ++turn) {
    live.tokens.emplace_back(static_cast<int32_t>(turn));
    REQUIRE(fed.store().Prepare(live.id, TokenCount(1)));
    fed.store().Commit(live.id, TokenCount(1));
    if (turn % 5 == 0) fed.tree().Keep(KeyOf(0), live.tokens, live.id, turn, live.lock);
  }
  fed.End(live);
  CHECK(fed.tree().stats().nodes == 4001);
}

TEST_CASE("a summary shows what begins alike once, the nodes nearest to the roots first") {
  Fed fed({MakeRows("keys", Lifetime::All())});
  fed.ReadAndEnd(Numbers(64));
  fed.ReadAndEnd(Numbers(80, 32));
  fed.ReadAndEnd(Numbers(16), 1);
  Fed::Live live = fed.Read(Numbers(64));
  const auto nodes = fed.tree().Summary(10);
  REQUIRE(nodes.size() == 4);
  CHECK(nodes[0].tokens == 32);
  CHECK(nodes[0].children == 2);
  CHECK(nodes[0].locked);
  CHECK(nodes[0].bytes == Bytes(2 * kBlock));
  CHECK(nodes[1].tokens == 16);  // another tenant's
  CHECK(nodes[1].parent == -1);
  CHECK_FALSE(nodes[1].locked);
  CHECK(nodes[2].tokens == 48);
  CHECK(nodes[2].parent == 0);
  CHECK_FALSE(nodes[2].locked);
  CHECK(nodes[3].tokens == 32);
  CHECK(nodes[3].locked);
  CHECK(fed.tree().Summary(3).size() == 3);
  // The tokens up to a node's end, as long as there are few.
  std::vector<Tokens> paths;
  const auto note = [&](const PrefixTree::NodeSummary&, const StateKey& key,
                        std::span<const TokenId> path) {
    CHECK(key == KeyOf(paths.size() == 1 ? 1 : 0));
    paths.emplace_back(path.begin(), path.end());
  };
  fed.tree().ForEachShown(10, TokenCount(1000), note);
  CHECK(paths == std::vector<Tokens>{Numbers(32), Numbers(16), Numbers(80, 32), Numbers(64)});
  paths.clear();
  fed.tree().ForEachShown(10, TokenCount(32 + 16 + 79), note);
  CHECK(paths == std::vector<Tokens>{Numbers(32), Numbers(16), {}, {}});
  CHECK(fed.tree().Summary(0).empty());
  fed.End(live);
}

}  // namespace cairn
