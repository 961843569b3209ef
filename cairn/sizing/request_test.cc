#include "cairn/sizing/request.h"

#include <doctest/doctest.h>

#include "cairn/spec/families_for_tests.h"

namespace cairn {
namespace {

SizeReport MustAnswer(const char* golden, SizeRequest request) {
  auto report =
      AnswerSizeRequest({.name = golden, .spec = GoldenModel(golden)}, std::move(request));
  REQUIRE_MESSAGE(report.has_value(), report.error().message);
  return *std::move(report);
}

}  // namespace

TEST_CASE("without a context the model's own is taken") {
  const SizeReport report = MustAnswer("gemma3_text", {});
  REQUIRE_EQ(report.sizing.answers.size(), 1);
  CHECK_EQ(report.sizing.answers[0].tokens, report.model.spec.context_length);
  CHECK(report.warnings == report.model.spec.notes);
  ModelSpec unnamed = GoldenModel("gemma3_text");
  unnamed.context_length = TokenCount(0);
  CHECK_EQ(DefaultContext(unnamed), TokenCount(4096));
}

TEST_CASE("a card of one stage keeps all if nothing is divided") {
  const SizeReport report = MustAnswer("gemma3_text", {.question = {.tokens = {TokenCount(64)}}});
  REQUIRE_EQ(report.stages.size(), 1);
  CHECK(report.stages[0].sizing.answers[0].total == report.sizing.answers[0].total);
}

TEST_CASE("replicas divide the requests, the one with the most counts") {
  SizeRequest request = {.question = {.batch = 5, .tokens = {TokenCount(64)}},
                         .parallel = {.dp = 2}};
  const SizeReport report = MustAnswer("llama_gqa", request);
  CHECK_EQ(report.sizing.answers[0].requests, 5);
  CHECK_EQ(report.FullestStage(0).sizing.answers[0].requests, 3);
}

TEST_CASE("the fullest stage is the one whose cards keep most") {
  SizeRequest request = {.question = {.tokens = {TokenCount(64)}},
                         .parallel = {.pp = 2, .stage_layers = {3, 4}}};
  const SizeReport report = MustAnswer("gemma3_text", request);
  const StageSizing& fullest = report.FullestStage(0);
  for (const StageSizing& stage : report.stages) {
    CHECK_GE(fullest.sizing.answers[0].total.TotalBytes(),
             stage.sizing.answers[0].total.TotalBytes());
  }
}

TEST_CASE("a request file's mix is one answer") {
  SizeRequest request;
  request.question.requests = {{2, TokenCount(10)}, {1, TokenCount(100)}};
  const SizeReport report = MustAnswer("llama_gqa", request);
  REQUIRE_EQ(report.sizing.answers.size(), 1);
  CHECK_EQ(report.sizing.answers[0].requests, 3);
  CHECK_EQ(report.sizing.answers[0].tokens, TokenCount(100));
  CHECK_EQ(report.sizing.answers[0].total.kv_bytes, report.sizing.bytes_per_token * 120);
}

TEST_CASE("a context beyond the model's own is warned of") {
  const SizeReport report = MustAnswer("gemma3_text", {.question = {.tokens = {TokenCount(9999)}}});
  REQUIRE_EQ(report.warnings.size(), report.model.spec.notes.size() + 1);
  CHECK(report.warnings.back().find("9999") != std::string::npos);
}

TEST_CASE("impossible questions are refused") {
  const auto refused = [](const SizeRequest& request) {
    return !AnswerSizeRequest({.name = "m", .spec = GoldenModel("llama_gqa")}, request).has_value();
  };
  CHECK(refused({.question = {.batch = 0}}));
  CHECK(refused({.question = {.tokens = {TokenCount(-1)}}}));
  CHECK(refused({.question = {}, .parallel = {.tp = 0}}));
}

}  // namespace cairn
