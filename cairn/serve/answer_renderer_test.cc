#include "cairn/serve/answer_renderer.h"

#include <doctest/doctest.h>

namespace cairn {
namespace {

TEST_CASE("the usage of several prompts is their sum, times the longest of them") {
  AnswerUsage usage;
  GenerationUsage one;
  one.prompt = TokenCount(10);
  one.origin.memory = TokenCount(4);
  one.origin.why = MissReason::kDiverged;
  one.queued_us = 5;
  one.first_token_us = 9;
  usage.Add(one);
  one.origin.tier = "disk";
  one.origin.loaded = TokenCount(3);
  one.origin.why = MissReason::kNone;
  one.queued_us = 2;
  one.first_token_us = 20;
  usage.Add(one);
  CHECK(usage.prompt_tokens == 20);
  CHECK(usage.cached_tokens() == 11);
  REQUIRE(usage.cached_by_tier.size() == 2);
  CHECK(usage.cached_by_tier[0] == std::pair<std::string, int64_t>("memory", 8));
  CHECK(usage.cached_by_tier[1] == std::pair<std::string, int64_t>("disk", 3));
  CHECK(usage.miss_reason == NameOf(MissReason::kDiverged));
  CHECK(usage.queued_us == 5);
  CHECK(usage.first_token_us == 20);
}

TEST_CASE("events may have a name") {
  CHECK(ServerSentEvent("{}") == "data: {}\n\n");
  CHECK(ServerSentEvent("{}", "ping") == "event: ping\ndata: {}\n\n");
}

}  // namespace
}  // namespace cairn
