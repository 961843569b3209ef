// What a PrefixTree tells its policy: of which paths it is, and how they are used.
#include <doctest/doctest.h>

#include <memory>
#include <utility>
#include <vector>

#include "cairn/state/prefix_tree_model_for_tests.h"

namespace cairn {
namespace {

constexpr int64_t kBlock = 512;

// Writes down what it hears; what was used longest ago goes first.
class Listening : public EvictionPolicy {
 public:
  std::string_view name() const override { return "listening"; }
  void Add(EvictionEntry& entry) override {
    lru_->Add(entry);
    added.push_back(entry);
  }
  void Remove(EvictionEntry& entry) override { lru_->Remove(entry); }
  EvictionEntry* Victim() override { return lru_->Victim(); }
  void Returned(EvictionEntry& path, int64_t) override {
    if (path.path.watch >= 0) returned.push_back(path.path.watch);
    path.path.watch = -1;
  }
  void Kept(EvictionEntry& path, int64_t) override {
    kept.push_back(path.id);
    path.path.watch = std::ssize(kept) - 1;
  }
  void Gone(EvictionEntry& entry, EvictionEntry* rest) override {
    if (entry.path.watch < 0) return;
    if (rest != nullptr) rest->path.watch = entry.path.watch;
    if (rest == nullptr) gone.push_back(entry.id);
  }

  std::vector<EvictionEntry> added;
  std::vector<int64_t> returned;
  std::vector<uint64_t> kept, gone;

 private:
  std::unique_ptr<EvictionPolicy> lru_ = *MakeEvictionPolicy("lru");
};

// Tokens 0, 1, 2, ... with others from `differs` on.
Tokens Numbers(int64_t count, int64_t differs = 1 << 20) {
  Tokens tokens;
  for (int64_t i = 0; i < count; ++i) {
    tokens.emplace_back(static_cast<int32_t>(i) + (i < differs ? 0 : 1000));
  }
  return tokens;
}

// A tree that a Listening hears, with rows of 32 bytes and, if wanted, a Fixed component.
class Heard {
 public:
  explicit Heard(bool needs_points = false, RecomputeCost cost = {}) {
    Rows rows;
    rows.name = "keys";
    rows.width = 16;
    std::vector<Component> components{rows};
    Fixed fixed;
    fixed.name = "memory";
    fixed.elements = ElementCount(16);
    if (needs_points) components.emplace_back(fixed);
    auto layout = StateLayout::Make({.layers = {{std::move(components)}}});
    REQUIRE(layout.has_value());
    auto store = StateStore::Make(*std::move(layout), {.budget = Bytes(1 << 20)});
    REQUIRE(store.has_value());
    store_ = *std::move(store);
    tree_ = std::make_unique<PrefixTree>(*store_, policy_, cost);
  }

  Listening& policy() { return policy_; }

  void Read(const Tokens& tokens, const Turn& turn = {}) {
    PrefixTree::Lock lock;
    const TokenCount most(static_cast<int64_t>(tokens.size()));
    const auto resumed = tree_->Resume({}, tokens, most, ++now_us_, lock);
    REQUIRE(resumed.has_value());
    REQUIRE(store_->Prepare(resumed->id, most - resumed->tokens));
    WriteTokens(store_->layout(), store_->View(resumed->id), StampsOf({}, tokens));
    store_->Commit(resumed->id, most - resumed->tokens);
    tree_->Keep({}, tokens, resumed->id, ++now_us_, lock, turn);
    store_->Release(resumed->id);
    tree_->Unlock(lock);
    tree_->Audit();
  }
  void Evict(Bytes bytes) {
    CHECK(tree_->MakeRoom(store_->available() + bytes));
    tree_->Audit();
  }
  void EvictAll() { Evict(store_->stats().budget - store_->available()); }

 private:
  Listening policy_;
  std::unique_ptr<StateStore> store_;
  std::unique_ptr<PrefixTree> tree_;
  int64_t now_us_ = 0;
};

}  // namespace

TEST_CASE("a path that is asked for again returns: as it was, cut, and by most of its last node") {
  Heard heard;
  heard.Read(Numbers(160));
  heard.Read(Numbers(200));
  CHECK(heard.policy().returned == std::vector<int64_t>{0});
  heard.Evict(Bytes(4 * kBlock));  // the last node, and of what is before it a part
  heard.Read(Numbers(200));
  CHECK(heard.policy().returned == std::vector<int64_t>{0, 1});
  heard.Read(Numbers(220, 190));
  CHECK(heard.policy().returned == std::vector<int64_t>{0, 1, 2});
  heard.Read(Numbers(220, 50));  // begins like it, no more
  CHECK(heard.policy().returned == std::vector<int64_t>{0, 1, 2});
  heard.Read(Numbers(230, 50));
  CHECK(heard.policy().returned == std::vector<int64_t>{0, 1, 2, 4});
}

TEST_CASE("a path that was evicted as a whole is known by its id when it is kept again") {
  for (const bool needs_points : {false, true}) {
    CAPTURE(needs_points);
    Heard heard(needs_points);
    heard.Read(Numbers(100));
    heard.Read(Numbers(150));
    heard.EvictAll();
    REQUIRE(heard.policy().gone.size() == 1);
    heard.Read(Numbers(170));
    CHECK(heard.policy().kept.back() == heard.policy().gone[0]);
    heard.EvictAll();
    heard.Read(Numbers(170, 10));  // another one
    CHECK(heard.policy().kept.back() != heard.policy().gone[0]);
  }
}

TEST_CASE("where a path was split doesn't change the ids of what lies behind") {
  Heard split;
  split.Read(Numbers(100));
  split.Read(Numbers(100, 40));  // parts at 40
  split.Read(Numbers(100, 70));
  Heard whole;
  whole.Read(Numbers(70));
  whole.Read(Numbers(100, 70));
  CHECK(split.policy().kept.back() == whole.policy().kept.back());
}

TEST_CASE("the turn reaches all nodes of a path, and what they cost grows with their position") {
  Heard heard(false, {.fixed = 2, .position = 1});
  heard.Read(Numbers(32));
  const Turn turn{.end = TurnEnd::kToolCall, .answer = TokenCount(7)};
  heard.Read(Numbers(64), turn);
  CHECK(heard.policy().added.back().cost == doctest::Approx(32 * (2 + 48)));
  heard.Evict(Bytes(2 * kBlock));
  const EvictionEntry& left = heard.policy().added.back();
  CHECK(left.to == TokenCount(32));
  CHECK(left.cost == doctest::Approx(32 * (2 + 16)));
  CHECK(left.path.turn.end == turn.end);
  CHECK(left.path.turn.answer == turn.answer);
}

TEST_CASE("points that the only path goes on from are superseded, those where paths part are not") {
  Heard heard(true);
  heard.Read(Numbers(32));
  CHECK_FALSE(heard.policy().added.back().superseded);
  heard.Read(Numbers(64));
  std::vector<EvictionEntry>& added = heard.policy().added;
  const auto last = [&added](int64_t to) {
    for (size_t i = added.size(); i-- > 0;) {
      if (added[i].to == TokenCount(to)) return added[i];
    }
    return EvictionEntry{};
  };
  CHECK(last(32).superseded);
  CHECK_FALSE(last(64).superseded);
  CHECK(last(64).from == TokenCount(0));  // what is superseded may be gone any time
  heard.Read(Numbers(64, 32));
  CHECK_FALSE(last(32).superseded);
  CHECK(last(64).from == TokenCount(32));
}

}  // namespace cairn
