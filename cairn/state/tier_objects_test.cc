#include "cairn/state/tier_objects.h"

#include <doctest/doctest.h>

#include <set>

#include "cairn/spec/state_spec_for_tests.h"
#include "cairn/state/prefix_tree_model_for_tests.h"

namespace cairn {
namespace {

Tokens RandomTokens(RandomChoice& choose, int64_t count) {
  Tokens tokens;
  for (int64_t i = 0; i < count; ++i) tokens.emplace_back(static_cast<int32_t>(choose(1000)));
  return tokens;
}

}  // namespace

TEST_CASE("the runs before a length and the end at it are exactly the blocks of a sequence") {
  RandomChoice choose(3);
  for (int round = 0; round < 200; ++round) {
    const StateLayout layout = *StateLayout::Make(RandomStateSpec(choose, 3));
    const TokenCount run_tokens(1 + choose(100));
    const TokenCount n(1 + choose(700));
    const int64_t runs = n.value() / run_tokens.value();
    const TierBlocks end = EndBlocks(layout, run_tokens, n);
    Bytes bytes = end.bytes;
    CHECK(end.fixed == (layout.fixed_bytes() > Bytes(0)));
    for (size_t i = 0; i < layout.classes().size(); ++i) {
      const ClassIndex c(static_cast<int32_t>(i));
      const BlockRange held = layout.BlocksHeld(c, n);
      int64_t next = layout.classes()[i].KeepsAll() ? 0 : held.first;
      for (int64_t run = 0; run < runs; ++run) {
        const BlockRange range = RunBlocks(layout, run_tokens, run).ranges[i];
        if (range.first == range.end) continue;
        CHECK(range.first == next);
        next = range.end;
      }
      if (end.ranges[i].first != end.ranges[i].end) CHECK(end.ranges[i].first == next);
      if (end.ranges[i].first != end.ranges[i].end) next = end.ranges[i].end;
      CHECK(next == held.end);
    }
    for (int64_t run = 0; run < runs; ++run) bytes += RunBlocks(layout, run_tokens, run).bytes;
    CHECK(bytes == layout.AllocatedBytes(n));
  }
}

TEST_CASE("keys of runs and ends differ by tokens, place, kind, state key and run length alone") {
  RandomChoice choose(4);
  const Tokens tokens = RandomTokens(choose, 200);
  const StateKey key{};
  StateKey other;
  other.bytes[5] = std::byte{1};
  std::set<ObjectKey> keys;
  size_t count = 0;
  for (const StateKey& k : {key, other}) {
    for (const int64_t run_tokens : {32, 64}) {
      const PrefixChain chain(k, tokens, TokenCount(run_tokens));
      for (int64_t run = 0; run < chain.whole_runs(); ++run, ++count) {
        keys.insert(chain.RunKey(run));
      }
      for (int64_t n = 1; n <= 200; ++n, ++count) keys.insert(chain.EndKey(TokenCount(n)));
    }
  }
  CHECK(keys.size() == count);

  Tokens longer = tokens;
  longer.emplace_back(1);
  const PrefixChain a(key, tokens, TokenCount(32));
  const PrefixChain b(key, longer, TokenCount(32));
  CHECK(a.RunKey(5) == b.RunKey(5));
  CHECK(a.EndKey(TokenCount(200)) == b.EndKey(TokenCount(200)));
  longer[3] = TokenId(-1);
  const PrefixChain c(key, longer, TokenCount(32));
  CHECK(a.RunKey(5) != c.RunKey(5));
  CHECK(a.EndKey(TokenCount(4)) != c.EndKey(TokenCount(4)));
}

TEST_CASE("an object's numbers say what it is, and other numbers are refused") {
  RandomChoice choose(5);
  const Tokens tokens = RandomTokens(choose, 100);
  const PrefixChain chain(StateKey{}, tokens, TokenCount(32));
  const TierObject run = chain.Run(1);
  CHECK(run.from == TokenCount(32));
  CHECK(run.to == TokenCount(64));
  CHECK(TierObjectOf(MetadataOf(run)) == run);
  const TierObject end = chain.End(TokenCount(70));
  CHECK(end.from == TokenCount(64));
  CHECK(end.before == chain.Tag(2));
  CHECK(run.before == chain.Tag(1));
  CHECK(run.after == end.before);
  CHECK(chain.TokensOf(end).size() == 6);
  CHECK(TierObjectOf(MetadataOf(end)) == end);
  CHECK_FALSE(TierObjectOf({}).has_value());
  CHECK_FALSE(TierObjectOf({3, 0, 1}).has_value());
  CHECK_FALSE(TierObjectOf({1, 5, 4}).has_value());
  CHECK_FALSE(TierObjectOf({2, 0, uint64_t{1} << 40}).has_value());
  CHECK_FALSE(TierObjectOf({1, 5, 5}).has_value());
  CHECK_FALSE(TierObjectOf({2, 0, 0}).has_value());
  CHECK(TierObjectOf({2, 5, 5}).has_value());
}

TEST_CASE("runs of models with large rows are shorter") {
  Rows rows;
  rows.name = "keys";
  rows.width = 64;
  CHECK(RunTokensFor(*StateLayout::Make({.layers = {{{rows}}}})) == TokenCount(256));
  rows.width = 1 << 16;
  const StateLayout large = *StateLayout::Make({.layers = {{{rows}}}});
  CHECK(RunTokensFor(large) == TokenCount(64));
  CHECK(large.MarginalBytesPerToken() * 64 == Bytes(8 << 20));
}

}  // namespace cairn
