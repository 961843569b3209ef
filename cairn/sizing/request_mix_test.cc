#include "cairn/sizing/request_mix.h"

#include <doctest/doctest.h>

#include "cairn/spec/families_for_tests.h"

namespace cairn {
namespace {

StateLayout LayoutOfGolden(const char* name) {
  return *StateLayout::Make(StateSpecOf(GoldenModel(name), {}));
}

StateAmount MustSum(const StateLayout& layout, const RequestMix& mix, int row_ranks = 1) {
  const auto amount = AmountOf(layout, mix, row_ranks);
  REQUIRE_MESSAGE(amount.has_value(), amount.error().message);
  return *amount;
}

RequestMix Mix(int64_t count, int64_t tokens, int64_t prefix = 0) {
  return {.groups = {{count, TokenCount(tokens)}}, .shared_prefix = TokenCount(prefix)};
}

}  // namespace

TEST_CASE("one request keeps what its layout says, and a batch so many times that") {
  for (const char* name : {"llama_gqa", "gemma3_text", "mistral_swa"}) {
    CAPTURE(name);
    const StateLayout layout = LayoutOfGolden(name);
    for (const int64_t tokens : {0, 1, 7, 8, 16, 33, 1000}) {
      const StateAmount one = MustSum(layout, Mix(1, tokens));
      CHECK_EQ(one.content_bytes, layout.ContentBytes(TokenCount(tokens)));
      CHECK_EQ(one.allocated_bytes, layout.AllocatedBytes(TokenCount(tokens)));
      CHECK_EQ(one.kv_bytes, layout.SeenRowBytes(TokenCount(tokens)));
      const StateAmount five = MustSum(layout, Mix(5, tokens));
      CHECK_EQ(five.kv_bytes, one.kv_bytes * 5);
      CHECK_EQ(five.allocated_bytes, one.allocated_bytes * 5);
      CHECK_EQ(five.content_elements, one.content_elements * 5);
    }
  }
}

TEST_CASE("rows of a shared prefix are kept once") {
  const StateLayout layout = LayoutOfGolden("llama_gqa");
  const Bytes row = layout.MarginalBytesPerToken();
  const StateAmount mixed = MustSum(layout, Mix(8, 320, 160));
  CHECK_EQ(mixed.kv_bytes, row * (160 + 8 * 160));
  CHECK_EQ(mixed.content_bytes, mixed.kv_bytes);
  CHECK_EQ(mixed.allocated_bytes, mixed.kv_bytes);
  // A block that is part prefix is each request's own.
  CHECK_EQ(MustSum(layout, Mix(8, 320, 165)).allocated_bytes, mixed.allocated_bytes);
  // A request that is all prefix adds nothing.
  RequestMix with_short = Mix(8, 320, 160);
  with_short.groups.push_back({3, TokenCount(100)});
  CHECK_EQ(MustSum(layout, with_short).kv_bytes, mixed.kv_bytes);
}

TEST_CASE("a window keeps only the prefix rows that some request still sees") {
  const StateLayout layout = LayoutOfGolden("mistral_swa");
  const int64_t window = layout.classes().front().lifetime.tokens.value();
  const Bytes row = layout.classes().front().row_bytes;
  CHECK_EQ(MustSum(layout, Mix(4, 100 + window, 100)).kv_bytes, row * (4 * window));
  CHECK_EQ(MustSum(layout, Mix(4, 100 + window - 3, 100)).kv_bytes, row * (3 + 4 * (window - 3)));
}

TEST_CASE("sharing never costs more, a longer request never less") {
  for (const char* name : {"llama_gqa", "gemma3_text", "mistral_swa"}) {
    CAPTURE(name);
    const StateLayout layout = LayoutOfGolden(name);
    for (int64_t tokens = 1; tokens < 120; tokens += 7) {
      const StateAmount alone = MustSum(layout, Mix(6, tokens));
      CHECK_LE(alone.kv_bytes, MustSum(layout, Mix(6, tokens + 1)).kv_bytes);
      for (int64_t prefix = 0; prefix <= tokens + 5; prefix += 3) {
        const StateAmount shared = MustSum(layout, Mix(6, tokens, prefix));
        CHECK_LE(shared.kv_bytes, alone.kv_bytes);
        CHECK_LE(shared.content_bytes, alone.content_bytes);
        CHECK_LE(shared.allocated_bytes, alone.allocated_bytes);
      }
    }
  }
}

TEST_CASE("cards that divide a request's rows hold them all together") {
  const StateLayout layout = LayoutOfGolden("gemma3_text");
  for (const int64_t tokens : {1, 100, 1001}) {
    const Bytes whole = MustSum(layout, Mix(2, tokens)).kv_bytes;
    const Bytes part = MustSum(layout, Mix(2, tokens), 4).kv_bytes;
    CHECK_GE(part * 4, whole);
    CHECK_LE(part, whole);
  }
}

TEST_CASE("sums that pass 63 bits and requests out of range are refused") {
  const StateLayout layout = LayoutOfGolden("llama_gqa");
  CHECK_FALSE(AmountOf(layout, Mix(kMaxRequests, kMaxStateTokens.value())).has_value());
  CHECK_FALSE(AmountOf(layout, Mix(kMaxRequests + 1, 1)).has_value());
  CHECK_FALSE(AmountOf(layout, Mix(1, kMaxStateTokens.value() + 1)).has_value());
  CHECK_FALSE(AmountOf(layout, Mix(1, 1, -1)).has_value());
}

TEST_CASE("a file of requests has a line for each kind, and an error names the line") {
  const auto groups = ParseRequests("# morning\n100\n\n3 x 2000 # chat\r\n4,50\n", "mix.txt");
  REQUIRE(groups.has_value());
  CHECK(*groups == std::vector<RequestGroup>{
                       {1, TokenCount(100)}, {3, TokenCount(2000)}, {4, TokenCount(50)}});
  for (const char* bad :
       {"1\nx\n", "1\n2 x\n", "1\n-5\n", "1\n1.5\n", "1\n99999999999999999999\n"}) {
    CAPTURE(bad);
    const auto refused = ParseRequests(bad, "mix.txt");
    REQUIRE_FALSE(refused.has_value());
    CHECK(refused.error().message.find("mix.txt line 2") != std::string::npos);
  }
  CHECK_FALSE(ParseRequests("# nothing\n", "mix.txt").has_value());
}

}  // namespace cairn
