// Random operations on a PrefixTree and its store, compared with what the tokens alone say.
//
// The state of a token is a function of the key and of all tokens up to it, as a model's is:
// whatever a sequence was made of, every byte it holds can be computed. Few tokens and two keys
// make paths meet often. Only for tests and fuzzers: a difference fails a CHECK. `Choose` as in
// state_spec_for_tests.h.
#ifndef CAIRN_STATE_PREFIX_TREE_MODEL_FOR_TESTS_H_
#define CAIRN_STATE_PREFIX_TREE_MODEL_FOR_TESTS_H_

#include <algorithm>
#include <cstring>
#include <deque>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "cairn/base/check.h"
#include "cairn/spec/state_spec_for_tests.h"
#include "cairn/state/prefix_tree.h"
#include "cairn/state/state_pattern_for_tests.h"

namespace cairn {

using Tokens = std::vector<TokenId>;

// One stamp a token, each of them a function of the key and all tokens so far.
inline std::vector<Stamp> StampsOf(const StateKey& key, const Tokens& tokens) {
  std::vector<Stamp> stamps;
  Stamp stamp = 1 + static_cast<Stamp>(key.bytes[0]);
  for (const TokenId token : tokens) {
    stamp = (stamp ^ static_cast<Stamp>(token.value() + 1)) * 0x9E3779B97F4A7C15u;
    stamp ^= stamp >> 29;
    stamps.push_back(stamp);
  }
  return stamps;
}

// CHECKs every byte of a sequence that has read `tokens`.
inline void CheckBytes(const StateStore& store, SequenceId id, const StateKey& key,
                       const Tokens& tokens) {
  CAIRN_CHECK(store.Length(id).value() == static_cast<int64_t>(tokens.size()));
  const std::vector<Stamp> stamps = StampsOf(key, tokens);
  store.ForEachBlock(id, [&](ClassIndex c, int64_t logical, std::span<const std::byte> bytes) {
    const BlockClass& block_class = store.layout().classes()[static_cast<size_t>(c.value())];
    const std::vector<std::byte> image = BlockImage(store.layout(), block_class, logical, stamps);
    CAIRN_CHECK(std::memcmp(bytes.data(), image.data(), image.size()) == 0);
  });
  std::vector<std::byte> fixed(store.FixedBytes(id).size());
  if (!fixed.empty()) WriteFixed(store.layout(), stamps, fixed.data());
  CAIRN_CHECK(std::ranges::equal(fixed, store.FixedBytes(id)));
}

class PrefixTreeModel {
 public:
  // Without `evicts` nothing goes unless bytes are short.
  PrefixTreeModel(std::unique_ptr<StateStore> store, std::unique_ptr<EvictionPolicy> policy,
                  bool evicts)
      : store_(std::move(store)), tree_(*store_, std::move(policy)), evicts_(evicts) {}
  ~PrefixTreeModel() {
    while (!live_.empty()) Release(live_.size() - 1);
    tree_.Audit();
  }

  StateStore& store() { return *store_; }
  PrefixTree& tree() { return tree_; }
  int64_t resumed_tokens() const { return resumed_tokens_; }
  int64_t refused() const { return refused_; }

  template <class Choose>
  void Operate(Choose& choose) {
    now_us_ += choose(16) == 0 ? choose(60'000'000) : choose(3);
    const int64_t op = choose(12);
    if (live_.empty() || (op <= 2 && live_.size() < 5)) {
      Admit(choose);
    } else if (op <= 7) {
      Append(Pick(choose), choose);
    } else if (op <= 9) {
      Keep(Pick(choose));
    } else if (op == 10) {
      Release(Pick(choose));
    } else if (evicts_) {
      tree_.MakeRoom(Bytes(choose(store_->stats().budget.value() + 1)));
    }
  }

  void Audit() const {
    tree_.Audit();
    for (const Live& live : live_) CheckBytes(*store_, live.id, KeyOf(live.tenant), live.tokens);
  }

 private:
  struct Live {
    SequenceId id;
    int64_t tenant = 0;
    Tokens tokens;
    PrefixTree::Lock lock;
  };
  // What was kept last, of which later requests are made.
  struct Seen {
    int64_t tenant = 0;
    Tokens tokens;
  };

  static StateKey KeyOf(int64_t tenant) {
    StateKey key;
    key.bytes[0] = static_cast<std::byte>(tenant);
    return key;
  }

  template <class Choose>
  size_t Pick(Choose& choose) {
    return static_cast<size_t>(choose(static_cast<int64_t>(live_.size())));
  }

  template <class Choose>
  static void AddRandom(Tokens& tokens, int64_t count, Choose& choose) {
    for (int64_t i = 0; i < count; ++i) tokens.emplace_back(static_cast<int32_t>(choose(2)));
  }

  // A request that begins like one before, or not.
  template <class Choose>
  void Admit(Choose& choose) {
    Live live;
    live.tenant = choose(2);
    if (!seen_.empty() && choose(6) != 0) {
      const Seen& seen = seen_[static_cast<size_t>(choose(static_cast<int64_t>(seen_.size())))];
      live.tokens = seen.tokens;
      if (choose(4) != 0) live.tenant = seen.tenant;
      const auto size = static_cast<int64_t>(seen.tokens.size());
      if (choose(2) == 0) live.tokens.resize(static_cast<size_t>(choose(size + 1)));
    }
    AddRandom(live.tokens, choose(40), choose);
    const auto most = TokenCount(static_cast<int64_t>(live.tokens.size()) - choose(2));
    const TokenCount match = tree_.Match(KeyOf(live.tenant), live.tokens, most);
    const auto resumed = tree_.Resume(KeyOf(live.tenant), live.tokens, most, now_us_, live.lock);
    if (!resumed) {
      CAIRN_CHECK(resumed.error().code == ErrorCode::kExhausted && !live.lock.held());
      ++refused_;
      return;
    }
    CAIRN_CHECK(resumed->tokens == match && match <= std::max(most, TokenCount(0)));
    CAIRN_CHECK(match >= KeptBefore(live, most));
    resumed_tokens_ += match.value();
    live.id = resumed->id;
    live.tokens.resize(static_cast<size_t>(match.value()));
    CheckBytes(*store_, live.id, KeyOf(live.tenant), live.tokens);
    live_.push_back(std::move(live));
  }

  // What must be found if nothing was ever evicted: the longest prefix that was kept as it is, or
  // where rows are enough, the longest beginning of one.
  TokenCount KeptBefore(const Live& live, TokenCount most) const {
    if (tree_.stats().evictions > 0) return TokenCount(0);
    int64_t longest = 0;
    for (const Seen& seen : kept_) {
      if (seen.tenant != live.tenant) continue;
      const auto common = std::ranges::mismatch(seen.tokens, live.tokens).in1 - seen.tokens.begin();
      const int64_t usable = std::min<int64_t>(common, most.value());
      const bool whole = usable == static_cast<int64_t>(seen.tokens.size());
      if (whole || !store_->NeedsPoints()) longest = std::max(longest, usable);
    }
    return TokenCount(longest);
  }

  template <class Choose>
  void Append(size_t index, Choose& choose) {
    Live& live = live_[index];
    Tokens after = live.tokens;
    AddRandom(after, 1 + choose(choose(4) == 0 ? 60 : 6), choose);
    const TokenCount added(static_cast<int64_t>(after.size() - live.tokens.size()));
    tree_.MakeRoom(store_->BytesToPrepare(live.id, added));
    if (!store_->Prepare(live.id, added)) {
      ++refused_;
      return;
    }
    WriteTokens(store_->layout(), store_->View(live.id), StampsOf(KeyOf(live.tenant), after));
    store_->Commit(live.id, added);
    live.tokens = std::move(after);
    CheckBytes(*store_, live.id, KeyOf(live.tenant), live.tokens);
  }

  void Keep(size_t index) {
    Live& live = live_[index];
    const Turn turn{.end = static_cast<TurnEnd>(live.tokens.size() % kTurnEnds),
                    .answer = TokenCount(static_cast<int64_t>(live.tokens.size()))};
    tree_.Keep(KeyOf(live.tenant), live.tokens, live.id, now_us_, live.lock, turn);
    Seen seen{.tenant = live.tenant, .tokens = live.tokens};
    if (tree_.stats().evictions == 0) kept_.push_back(seen);
    seen_.push_back(std::move(seen));
    if (seen_.size() > 24) seen_.pop_front();
    const TokenCount length(static_cast<int64_t>(live.tokens.size()));
    CAIRN_CHECK(tree_.Match(KeyOf(live.tenant), live.tokens, length) == length);
  }

  void Release(size_t index) {
    Live& live = live_[index];
    store_->Release(live.id);
    tree_.Unlock(live.lock);
    std::swap(live, live_.back());
    live_.pop_back();
  }

  std::unique_ptr<StateStore> store_;
  PrefixTree tree_;
  const bool evicts_;
  std::vector<Live> live_;
  std::deque<Seen> seen_;
  std::vector<Seen> kept_;
  int64_t now_us_ = 0;
  int64_t resumed_tokens_ = 0;
  int64_t refused_ = 0;
};

// Of any state, with much room or little. Built in place: a tree stays where it is.
template <class Choose>
std::unique_ptr<PrefixTreeModel> RandomPrefixTreeModel(Choose& choose, std::string_view policy) {
  Result<StateLayout> layout = StateLayout::Make(RandomStateSpec(choose, 3));
  CAIRN_CHECK(layout.has_value());
  const bool plenty = choose(3) == 0;
  const Bytes little = layout->AllocatedBytes(TokenCount(1 + choose(600))) * (1 + choose(3));
  const Bytes budget = plenty ? Bytes(int64_t{1} << 26) : little + Bytes(choose(5000));
  auto store = StateStore::Make(*std::move(layout), {.budget = budget});
  CAIRN_CHECK(store.has_value());
  return std::make_unique<PrefixTreeModel>(*std::move(store), *MakeEvictionPolicy(policy), !plenty);
}

}  // namespace cairn

#endif  // CAIRN_STATE_PREFIX_TREE_MODEL_FOR_TESTS_H_
