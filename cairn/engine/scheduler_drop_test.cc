// Answers under a token policy, among others and alone.
#include <doctest/doctest.h>

#include <vector>

#include "cairn/engine/scheduler_for_tests.h"

namespace cairn {
namespace {

GenerationRequest Under(const char* policy, std::vector<TokenId> prompt, int64_t max_tokens) {
  GenerationRequest request = RequestOf(std::move(prompt), max_tokens);
  request.policy = *PolicySettings::Parse(policy);
  return request;
}

}  // namespace

TEST_CASE("what lost rows is kept for nobody, and the prompt before it whole") {
  FakeEngine fake;
  const std::vector<TokenId> prompt = SomeTokens(200, 1);
  const GenerationId id = fake.Submit(Under("snapkv:keep=0.5,window=8", prompt, 30));
  fake.StepUntilTokens(id, 10);
  const TokenCount lost = TokenCount(200) - TokenCount(100);
  CHECK(fake.engine->stats().dropped_tokens >= lost.value());
  RunAll(*fake.engine);
  fake.CheckNothingLeft();
  std::vector<TokenId> longer = prompt;
  for (const TokenId token : fake.recorder.Of(id).answers.at(0).tokens) longer.push_back(token);
  fake.Submit(RequestOf(longer, 1));
  RunAll(*fake.engine);
  CHECK(fake.engine->stats().resumed_tokens == 200);

  // Who asks the same begins with all that the policy needn't see, and without one with all.
  const GenerationId again = fake.Submit(Under("snapkv:keep=0.5,window=8", prompt, 30));
  const GenerationId whole = fake.Submit(RequestOf(prompt, 30));
  RunAll(*fake.engine);
  CHECK(fake.recorder.Of(again).answers == fake.recorder.Of(id).answers);
  CHECK(fake.recorder.Of(whole).answers == SoloAnswers(RequestOf(prompt, 30), {}));
  CHECK(fake.recorder.Of(whole).answers != fake.recorder.Of(id).answers);
  CHECK(fake.engine->stats().resumed_tokens == 200 + 192 + 199);
  fake.CheckNothingLeft();
}

TEST_CASE("usage says how many tokens lost their rows, and the bytes are those of what is left") {
  FakeEngine fake;
  const GenerationId id = fake.Submit(Under("streaming:budget=48", SomeTokens(200, 2), 50));
  fake.StepUntilTokens(id, 20);
  const StateLayout& layout = fake.store->layout();
  const auto use = fake.manager->UseOfBytes(BlockCount(1 << 20));
  REQUIRE(use.has_value());
  CHECK(use->running <= layout.AllocatedBytes(TokenCount(48 + 20)));
  RunAll(*fake.engine);
  const GenerationUsage& usage = fake.recorder.Of(id).usage;
  CHECK(usage.dropped >= TokenCount(152));
  CHECK(usage.dropped < TokenCount(200));
}

TEST_CASE("an embedding takes no policy") {
  FakeEngine fake;
  GenerationRequest request = EmbeddingOf(SomeTokens(20, 3), Pooling::kLast);
  request.policy = *PolicySettings::Parse("knorm");
  const auto refused = fake.engine->Submit(std::move(request), fake.recorder);
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().message.find("knorm") != std::string::npos);
}

}  // namespace cairn
