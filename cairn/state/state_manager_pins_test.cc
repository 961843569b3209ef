// Pins of a StateManager: what they hold, what it costs, and what is dropped on request.
#include <doctest/doctest.h>

#include <memory>
#include <vector>

#include "cairn/state/prefix_tree_model_for_tests.h"
#include "cairn/state/state_manager.h"
#include "cairn/state/tier_for_tests.h"

namespace cairn {
namespace {

constexpr int64_t kRow = 32;
constexpr int64_t kMemory = 64;  // the Fixed component's bytes

Tokens Joined(Tokens a, const Tokens& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// A manager that has read what it is asked to.
class Keeper {
 public:
  explicit Keeper(bool with_fixed) {
    store_ = PatternStore(with_fixed);
    manager_ = *StateManager::Make(*store_, {});
  }
  StateManager& manager() { return *manager_; }
  StateStore& store() { return *store_; }
  void Read(const Tokens& tokens) {
    const LeaseId id = *manager_->Open(key_, tokens, ++now_us_);
    const SequenceId sequence = manager_->Sequence(id);
    const TokenCount added =
        TokenCount(static_cast<int64_t>(tokens.size())) - store_->Length(sequence);
    REQUIRE(manager_->Prepare(id, added));
    WriteTokens(store_->layout(), store_->View(sequence), StampsOf(key_, tokens));
    store_->Commit(sequence, added);
    manager_->Close(id, tokens, ++now_us_);
  }
  PinId Pin(const Tokens& tokens) { return manager_->Pin(key_, tokens); }
  TokenCount AtHand(const Tokens& tokens) {
    return manager_->tree().Match(key_, tokens, TokenCount(1 << 20));
  }
  Bytes ForgetAll(const Tokens& tokens, int64_t keep = 0) {
    const Bytes freed = manager_->ForgetAll(key_, tokens, TokenCount(keep));
    manager_->Audit();
    return freed;
  }

 private:
  StateKey key_;
  std::unique_ptr<StateStore> store_;
  std::unique_ptr<StateManager> manager_;
  int64_t now_us_ = 0;
};

TEST_CASE("thirty-two pins of one path take its bytes once, and each only its own end") {
  Keeper keeper(/*with_fixed=*/false);
  const Tokens shared = NumberTokens(128);
  keeper.Read(shared);
  std::vector<PinId> pins;
  for (int i = 0; i < 32; ++i) pins.push_back(keeper.Pin(shared));
  CHECK(keeper.manager().PinnedBytes() == Bytes(128 * kRow));
  const StateManager::PinUse use = keeper.manager().UseOf(pins.front());
  CHECK(use.tokens == TokenCount(128));
  CHECK(use.bytes == Bytes(128 * kRow));
  CHECK(use.alone == Bytes(0));
  const Tokens longer = Joined(shared, NumberTokens(32, 1000));
  keeper.Read(longer);
  const PinId own = keeper.Pin(longer);
  CHECK(keeper.manager().UseOf(own).bytes == Bytes(160 * kRow));
  CHECK(keeper.manager().UseOf(own).alone == Bytes(32 * kRow));
  CHECK(keeper.manager().PinnedBytes() == Bytes(160 * kRow));
  CHECK(keeper.manager().UseOfBytes(BlockCount(1000))->pinned == Bytes(160 * kRow));
  for (const PinId pin : pins) keeper.manager().Unpin(pin);
  CHECK(keeper.manager().UseOf(own).alone == Bytes(160 * kRow));
  keeper.manager().Audit();
  keeper.manager().Unpin(own);
  CHECK(keeper.manager().PinnedBytes() == Bytes(0));
  CHECK(keeper.manager().UseOfBytes(BlockCount(1000))->kept == Bytes(160 * kRow));
  keeper.manager().Audit();
}

TEST_CASE("a pin holds its own tokens, not what others have read behind them") {
  for (const bool with_fixed : {false, true}) {
    Keeper keeper(with_fixed);
    keeper.Read(NumberTokens(160));
    const PinId pin = keeper.Pin(NumberTokens(64));
    const StateManager::PinUse use = keeper.manager().UseOf(pin);
    CHECK(use.tokens == TokenCount(64));
    CHECK(use.bytes == Bytes(64 * kRow));
    keeper.manager().Audit();
    keeper.manager().MakeRoom(keeper.store().stats().budget);
    CHECK(keeper.store().LiveBytes() == Bytes(64 * kRow));
    keeper.manager().Unpin(pin);
    keeper.manager().Audit();
  }
}

TEST_CASE("what a pin holds includes the points to resume from") {
  Keeper keeper(/*with_fixed=*/true);
  keeper.Read(NumberTokens(64));
  keeper.Read(NumberTokens(96));
  const PinId pin = keeper.Pin(NumberTokens(96));
  CHECK(keeper.manager().UseOf(pin).bytes == Bytes(96 * kRow + 2 * kMemory));
  keeper.manager().MakeRoom(keeper.store().stats().budget);
  CHECK(keeper.AtHand(NumberTokens(100)) == TokenCount(96));
  keeper.manager().Unpin(pin);
}

TEST_CASE("a path of tokens that nothing is known of is pinned for nothing") {
  Keeper keeper(/*with_fixed=*/false);
  const PinId pin = keeper.Pin(NumberTokens(64));
  CHECK(keeper.manager().UseOf(pin).tokens == TokenCount(0));
  CHECK(keeper.manager().UseOf(pin).bytes == Bytes(0));
  keeper.manager().Unpin(pin);
  keeper.manager().Audit();
}

TEST_CASE("forgetting all drops what goes on from the tokens, but nothing that is pinned or kept") {
  for (const bool with_fixed : {false, true}) {
    Keeper keeper(with_fixed);
    const Tokens shared = NumberTokens(64);
    const Tokens left = Joined(shared, NumberTokens(32, 100));
    const Tokens left_on = Joined(left, NumberTokens(32, 500));
    const Tokens right = Joined(shared, NumberTokens(32, 200));
    for (const Tokens& each : {shared, left, left_on, right}) keeper.Read(each);
    const Bytes all = keeper.store().LiveBytes();
    CHECK(keeper.ForgetAll(Joined(left, NumberTokens(3, 900))) == Bytes(0));  // nothing begins so
    CHECK(keeper.ForgetAll(left, 64) == Bytes(64 * kRow + (with_fixed ? 2 * kMemory : 0)));
    CHECK(keeper.AtHand(left) == TokenCount(64));
    CHECK(keeper.AtHand(right) == TokenCount(96));
    const PinId pin = keeper.Pin(right);
    CHECK(keeper.ForgetAll(shared) == Bytes(0));
    keeper.manager().Unpin(pin);
    keeper.Read(left);
    CHECK(keeper.ForgetAll(Joined(left, NumberTokens(1, 7)), 64) >
          Bytes(0));  // a token was never read
    CHECK(keeper.ForgetAll(shared) > Bytes(0));
    CHECK(keeper.store().LiveBytes() == Bytes(0));
    CHECK(all > Bytes(0));
  }
}

}  // namespace
}  // namespace cairn
