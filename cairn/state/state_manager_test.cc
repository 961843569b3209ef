#include "cairn/state/state_manager.h"

#include <doctest/doctest.h>

#include <memory>
#include <utility>
#include <vector>

#include "cairn/state/prefix_tree_model_for_tests.h"
#include "cairn/state/tier_for_tests.h"

namespace cairn {
namespace {

constexpr int64_t kRow = 32;

// A store and its manager, fed as an engine would.
class Fed {
 public:
  explicit Fed(bool with_fixed, Bytes budget = Bytes(1 << 20)) {
    store_ = PatternStore(with_fixed, budget);
    manager_ = *StateManager::Make(*store_, {});
  }
  StateManager& manager() { return *manager_; }
  StateStore& store() { return *store_; }

  LeaseId Open(const Tokens& tokens) {
    const Result<LeaseId> id = manager_->Open(key_, tokens, ++now_us_);
    REQUIRE(id.has_value());
    return *id;
  }
  // Reads what is missing of the tokens.
  Status Read(LeaseId id, const Tokens& tokens) {
    const SequenceId sequence = manager_->Sequence(id);
    const TokenCount added =
        TokenCount(static_cast<int64_t>(tokens.size())) - store_->Length(sequence);
    CAIRN_TRY(manager_->Prepare(id, added));
    WriteTokens(store_->layout(), store_->View(sequence), StampsOf(key_, tokens));
    store_->Commit(sequence, added);
    CheckBytes(*store_, sequence, key_, tokens);
    return {};
  }
  void Close(LeaseId id, const Tokens& tokens) { manager_->Close(id, tokens, ++now_us_); }

 private:
  StateKey key_;
  int64_t now_us_ = 0;
  std::unique_ptr<StateStore> store_;
  std::unique_ptr<StateManager> manager_;
};

}  // namespace

TEST_CASE("A lease begins with what others have read, but for its last token") {
  for (const bool with_fixed : {false, true}) {
    Fed fed(with_fixed);
    const Tokens first = NumberTokens(100);
    const LeaseId a = fed.Open(first);
    REQUIRE(fed.Read(a, first));
    fed.Close(a, first);

    Tokens second = first;
    second.emplace_back(7);
    const LeaseId b = fed.Open(second);
    CHECK(fed.manager().Origin(b).memory == TokenCount(100));
    CHECK(fed.manager().Origin(b).why == MissReason::kNone);
    REQUIRE(fed.Read(b, second));
    fed.Close(b, second);

    const LeaseId c = fed.Open(second);
    CHECK(fed.manager().Origin(c).memory == TokenCount(100));
    fed.manager().Drop(c);
    fed.manager().Audit();
  }
}

TEST_CASE("A fork reads on by itself") {
  Fed fed(/*with_fixed=*/true);
  const Tokens prompt = NumberTokens(40);
  const LeaseId a = fed.Open(prompt);
  REQUIRE(fed.Read(a, prompt));
  const Result<LeaseId> b = fed.manager().Fork(a);
  REQUIRE(b.has_value());
  Tokens left = prompt;
  left.emplace_back(1);
  Tokens right = prompt;
  right.emplace_back(2);
  REQUIRE(fed.Read(a, left));
  REQUIRE(fed.Read(*b, right));
  fed.Close(a, left);
  fed.Close(*b, right);
  fed.manager().Audit();
}

TEST_CASE("What is live stays and what is kept goes when bytes are short") {
  Fed fed(/*with_fixed=*/false, Bytes(100 * kRow));
  const Tokens kept = NumberTokens(64);
  const LeaseId a = fed.Open(kept);
  REQUIRE(fed.Read(a, kept));
  fed.Close(a, kept);
  const Tokens live = NumberTokens(80, 1000);
  const LeaseId b = fed.Open(live);
  REQUIRE(fed.Read(b, live));
  CHECK(fed.manager().tree().stats().evictions > 0);
  const Tokens other = NumberTokens(64, 2000);
  const LeaseId c = fed.Open(other);
  CHECK_FALSE(fed.Read(c, other).has_value());
  fed.manager().Drop(c);
  fed.Close(b, live);
  fed.manager().Audit();
}

TEST_CASE("what is pinned stays when bytes are short, and goes when it is unpinned") {
  for (const bool with_fixed : {false, true}) {
    Fed fed(with_fixed, Bytes(200 * kRow));
    const Tokens pinned = NumberTokens(64);
    LeaseId id = fed.Open(pinned);
    REQUIRE(fed.Read(id, pinned));
    fed.Close(id, pinned);
    const PinId pin = fed.manager().Pin(StateKey{}, pinned);
    CHECK(fed.manager().PinnedTokens(pin) == TokenCount(64));
    for (int32_t i = 1; i < 5; ++i) {
      const Tokens other = NumberTokens(100, i * 1000);
      id = fed.Open(other);
      REQUIRE(fed.Read(id, other));
      fed.Close(id, other);
    }
    CHECK_FALSE(fed.manager().MakeRoom(fed.store().stats().budget));
    Tokens asked = pinned;
    asked.emplace_back(7);
    id = fed.Open(asked);
    CHECK(fed.manager().Origin(id).memory == TokenCount(64));
    fed.manager().Drop(id);
    fed.manager().Unpin(pin);
    fed.manager().Audit();
    CHECK(fed.manager().MakeRoom(fed.store().stats().budget));
    fed.manager().Audit();
  }
}

TEST_CASE("forgetting frees what one path alone uses and leaves what others do") {
  for (const bool with_fixed : {false, true}) {
    Fed fed(with_fixed);
    const Tokens shared = NumberTokens(64);
    LeaseId id = fed.Open(shared);
    REQUIRE(fed.Read(id, shared));
    fed.Close(id, shared);
    Tokens left = shared;
    Tokens right = shared;
    for (int32_t i = 0; i < 32; ++i) {
      left.emplace_back(100 + i);
      right.emplace_back(200 + i);
    }
    for (const Tokens& each : {left, right}) {
      id = fed.Open(each);
      REQUIRE(fed.Read(id, each));
      fed.Close(id, each);
    }
    CHECK(fed.manager().Forget(StateKey{}, NumberTokens(10)) == Bytes(0));  // it goes on
    const Bytes freed = fed.manager().Forget(StateKey{}, left);
    CHECK(freed == Bytes(32 * kRow + (with_fixed ? 64 : 0)));
    CHECK(fed.manager().Forget(StateKey{}, left) == Bytes(0));
    fed.manager().Audit();
    right.emplace_back(1);
    id = fed.Open(right);
    CHECK(fed.manager().Origin(id).memory == TokenCount(96));
    right.pop_back();
    CHECK(fed.manager().Forget(StateKey{}, right) == Bytes(0));  // locked
    fed.manager().Drop(id);
    CHECK(fed.manager().Forget(StateKey{}, right) > Bytes(0));
    CHECK(fed.store().LiveBytes() == Bytes(0));
    fed.manager().Audit();
  }
}

TEST_CASE("managers of several models share one budget, and what one wants goes from any") {
  for (const std::string_view name : EvictionPolicyNames()) {
    CAPTURE(name);
    ByteAccount account(Bytes(300 * kRow));
    const std::unique_ptr<EvictionPolicy> policy = *MakeEvictionPolicy(name);
    const StateKey key;
    std::vector<std::unique_ptr<StateStore>> stores;
    std::vector<std::unique_ptr<StateManager>> managers;
    for (const bool with_fixed : {false, true}) {
      stores.push_back(
          *StateStore::Make(PatternLayout(with_fixed), {.budget = {}, .account = &account}));
      StateManager::Options options;
      options.shared_policy = policy.get();
      managers.push_back(*StateManager::Make(*stores.back(), options));
    }
    int64_t now_us = 0;
    const auto read = [&](size_t model, const Tokens& tokens) {
      const LeaseId id = *managers[model]->Open(key, tokens, ++now_us);
      const SequenceId sequence = managers[model]->Sequence(id);
      const TokenCount added =
          TokenCount(static_cast<int64_t>(tokens.size())) - stores[model]->Length(sequence);
      REQUIRE(managers[model]->Prepare(id, added));
      WriteTokens(stores[model]->layout(), stores[model]->View(sequence), StampsOf(key, tokens));
      stores[model]->Commit(sequence, added);
      managers[model]->Close(id, tokens, ++now_us);
      account.Audit();
      for (const auto& manager : managers) manager->Audit();
    };
    read(0, NumberTokens(160));
    read(1, NumberTokens(160));  // takes from the first
    CHECK(managers[0]->tree().stats().evictions > 0);
    read(1, NumberTokens(160, 1000));
    read(0, NumberTokens(200, 2000));
    CHECK(managers[1]->tree().stats().evictions > 0);
    CHECK(account.live() <= account.budget());
    managers.clear();
    CHECK(policy->Victim() == nullptr);
    CHECK(account.live() == Bytes(0));
  }
}

TEST_CASE("Live bytes are divided by use, each block once") {
  for (const bool with_fixed : {false, true}) {
    Fed fed(with_fixed);
    const Tokens kept = NumberTokens(64);
    const LeaseId a = fed.Open(kept);
    REQUIRE(fed.Read(a, kept));
    CHECK(fed.manager().UseOfBytes(BlockCount(100))->running == fed.store().LiveBytes());
    fed.Close(a, kept);
    auto use = *fed.manager().UseOfBytes(BlockCount(100));
    CHECK(use.running == Bytes(0));
    CHECK(use.in_use == Bytes(0));
    CHECK(use.kept == Bytes(64 * kRow));
    CHECK(use.kept + use.snapshots == fed.store().LiveBytes());
    CHECK((use.snapshots > Bytes(0)) == with_fixed);

    Tokens more = kept;
    for (int32_t i = 0; i < 16; ++i) more.emplace_back(1000 + i);
    const LeaseId b = fed.Open(more);
    REQUIRE(fed.Read(b, more));
    use = *fed.manager().UseOfBytes(BlockCount(100));
    CHECK(use.in_use == Bytes(64 * kRow));
    CHECK(use.kept == Bytes(0));
    CHECK(use.running == fed.store().LiveBytes() - use.in_use - use.snapshots);
    CHECK(use.running >= Bytes(16 * kRow));
    CHECK_FALSE(fed.manager().UseOfBytes(BlockCount(1)).has_value());
    fed.Close(b, more);
  }
}

}  // namespace cairn
