#include "cairn/serve/metrics.h"

#include <doctest/doctest.h>

namespace cairn {
namespace {

TEST_CASE("what was counted and measured comes in Prometheus' form") {
  ServeMetrics metrics;
  metrics.CountRequest("/health", 200);
  metrics.CountRequest("/health", 200);
  metrics.ObserveFirstToken(20'000);
  metrics.CountAnswer(GenerationEnd::kStopped, 7);
  GenerationUsage usage;
  usage.prompt = TokenCount(100);
  usage.origin.memory = TokenCount(60);
  usage.origin.loaded = TokenCount(30);
  usage.origin.tier = "disk";
  usage.origin.why = MissReason::kDiverged;
  metrics.CountPrompt(usage);
  StateFigures state;
  state.budget_bytes = 1 << 20;
  const std::string text = metrics.Render({}, state, {}, 3);
  CHECK(text.contains("cairn_requests_total{route=\"/health\",status=\"200\"} 2\n"));
  CHECK(text.contains("cairn_time_to_first_token_seconds_bucket{le=\"0.025\"} 1\n"));
  CHECK(text.contains("cairn_time_to_first_token_seconds_bucket{le=\"0.01\"} 0\n"));
  CHECK(text.contains("cairn_answers_total{end=\"stop\"} 1\n"));
  CHECK(text.contains("cairn_answer_tokens_total 7\n"));
  CHECK(text.contains("cairn_prompt_tokens_total{origin=\"memory\"} 60\n"));
  CHECK(text.contains("cairn_prompt_tokens_total{origin=\"disk\"} 30\n"));
  CHECK(text.contains("cairn_prompt_tokens_total{origin=\"computed\"} 10\n"));
  CHECK(text.contains("cairn_prefixes_total{miss=\"diverged\"} 1\n"));
  CHECK(text.contains("cairn_state_bytes{kind=\"budget\"} 1048576\n"));
  CHECK(text.contains("cairn_jobs 3\n"));
  CHECK_FALSE(text.contains("cairn_tier_"));
}

TEST_CASE("tiers have names of their own once there are any") {
  StateFigures state;
  state.tiers = {{.name = "disk", .objects = 2, .bytes = 9}};
  const std::string text = ServeMetrics().Render({}, state, {}, 0);
  CHECK(text.contains("cairn_tier_bytes{tier=\"disk\"} 9\n"));
}

}  // namespace
}  // namespace cairn
