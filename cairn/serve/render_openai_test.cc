#include "cairn/serve/render_openai.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

namespace cairn {
namespace {

using Json = nlohmann::json;

AnswerHeading Heading(bool stream) {
  return {.id = "1",
          .model = "m",
          .fingerprint = "b1",
          .created_unix_s = 5,
          .stream = stream,
          .stream_usage = stream,
          .wants_logprobs = false};
}

AnswerUsage Usage() {
  AnswerUsage usage;
  GenerationUsage one;
  one.prompt = TokenCount(77);
  one.origin.memory = TokenCount(70);
  one.origin.loaded = TokenCount(6);
  one.origin.tier = "disk";
  one.queued_us = 1000;
  one.first_token_us = 3000;
  usage.Add(one);
  usage.answer_tokens = 11;
  usage.total_us = 13'000;
  return usage;
}

// The data of each event; the last one may be "[DONE]".
std::vector<std::string> EventsOf(std::string_view text) {
  std::vector<std::string> events;
  while (!text.empty()) {
    REQUIRE(text.starts_with("data: "));
    const size_t end = text.find("\n\n");
    REQUIRE(end != std::string_view::npos);
    events.emplace_back(text.substr(6, end - 6));
    text.remove_prefix(end + 2);
  }
  return events;
}

TEST_CASE("a whole chat answer has message, finish reason, and the usage by tier") {
  const auto renderer = MakeChatRenderer(Heading(false), 2);
  CHECK(renderer->Begin().empty());
  CHECK(renderer->Piece(1, {"b", {}}).empty());
  CHECK(renderer->Piece(0, {"a", {}}).empty());
  CHECK(renderer->Piece(0, {"c", {}}).empty());
  CHECK(renderer->End(0, {GenerationEnd::kEnd, ""}).empty());
  CHECK(renderer->End(1, {GenerationEnd::kLength, ""}).empty());
  const Json whole = Json::parse(renderer->Finish(Usage()));
  CHECK(whole["id"] == "chatcmpl-1");
  CHECK(whole["object"] == "chat.completion");
  CHECK(whole["choices"][0]["message"] == Json{{"role", "assistant"}, {"content", "ac"}});
  CHECK(whole["choices"][0]["finish_reason"] == "stop");
  CHECK(whole["choices"][1]["finish_reason"] == "length");
  CHECK(whole["choices"][0]["logprobs"].is_null());
  CHECK(whole["usage"]["total_tokens"] == 88);
  CHECK(whole["usage"]["prompt_tokens_details"]["cached_tokens"] == 76);
  CHECK(whole["usage"]["prompt_tokens_details"]["cached_tokens_by_tier"] ==
        Json{{"memory", 70}, {"disk", 6}});
  CHECK(whole["usage"]["prompt_tokens_details"]["miss_reason"] == "none");
  CHECK(whole["timings"]["prompt_n"] == 1);
  CHECK(whole["timings"]["predicted_per_second"] == 1000);
}

TEST_CASE("a chat stream names the role once, ends with an empty delta, usage and [DONE]") {
  const auto renderer = MakeChatRenderer(Heading(true), 1);
  std::string text = renderer->Piece(0, {"a", {}});
  text += renderer->Piece(0, {"", {}});
  text += renderer->Piece(0, {"b", {}});
  text += renderer->End(0, {GenerationEnd::kStopped, "x"});
  text += renderer->Finish(Usage());
  const std::vector<std::string> events = EventsOf(text);
  REQUIRE(events.size() == 6);
  const auto delta = [&](size_t i) { return Json::parse(events[i])["choices"][0]["delta"]; };
  CHECK(delta(0) == Json{{"role", "assistant"}, {"content", nullptr}});
  CHECK(delta(1) == Json{{"content", "a"}});
  CHECK(delta(2) == Json{{"content", "b"}});
  CHECK(delta(3) == Json::object());
  CHECK(Json::parse(events[2])["choices"][0]["finish_reason"].is_null());
  CHECK(Json::parse(events[3])["choices"][0]["finish_reason"] == "stop");
  CHECK(Json::parse(events[4])["choices"] == Json::array());
  CHECK(Json::parse(events[4])["usage"]["completion_tokens"] == 11);
  CHECK(Json::parse(events[4])["object"] == "chat.completion.chunk");
  CHECK(events[5] == "[DONE]");
}

TEST_CASE("calls of tools come beside the text, whole or in a stream, and are the reason to stop") {
  const std::string_view call = "<tool_call>{\"name\":\"f\",\"arguments\":{\"a\":1}}</tool_call>";
  for (const bool stream : {false, true}) {
    AnswerHeading heading = Heading(stream);
    heading.tools = ToolCallReader::Form::kMarked;
    const auto renderer = MakeChatRenderer(heading, 1);
    std::string text = renderer->Piece(0, {"well", {}});
    text += renderer->Piece(0, {std::string(call), {}});
    text += renderer->End(0, {GenerationEnd::kEnd, ""});
    text += renderer->Finish({});
    Json found, finish;
    if (stream) {
      const std::vector<std::string> events = EventsOf(text);
      REQUIRE(events.size() == 6);
      found = Json::parse(events[2])["choices"][0]["delta"]["tool_calls"][0];
      CHECK(found["index"] == 0);
      finish = Json::parse(events[3])["choices"][0]["finish_reason"];
    } else {
      const Json choice = Json::parse(text)["choices"][0];
      CHECK(choice["message"]["content"] == "well");
      found = choice["message"]["tool_calls"][0];
      finish = choice["finish_reason"];
    }
    CHECK(found["type"] == "function");
    CHECK(found["function"] == Json{{"name", "f"}, {"arguments", "{\"a\":1}"}});
    CHECK(finish == "tool_calls");
  }
}

TEST_CASE("a prompt without an answer took all the time there was") {
  const auto renderer = MakeChatRenderer(Heading(false), 1);
  renderer->End(0, {GenerationEnd::kLength, ""});
  AnswerUsage usage;
  usage.prompt_tokens = 10;
  usage.queued_us = 1000;
  usage.total_us = 6000;
  const Json timings = Json::parse(renderer->Finish(usage))["timings"];
  CHECK(timings["prompt_ms"] == 5);
  CHECK(timings["prompt_per_second"] == 2000);
  CHECK(timings["predicted_ms"] == 0);
}

TEST_CASE("an answer that is nothing but calls has no content") {
  AnswerHeading heading = Heading(false);
  heading.tools = ToolCallReader::Form::kWhole;
  const auto renderer = MakeChatRenderer(heading, 1);
  renderer->Piece(0, {"{\"name\":\"f\",\"arguments\":{}}", {}});
  renderer->End(0, {});
  const Json message = Json::parse(renderer->Finish({}))["choices"][0]["message"];
  CHECK(message["content"].is_null());
  CHECK(message["tool_calls"].size() == 1);
}

TEST_CASE("an answer without text still has its first chunk") {
  const auto renderer = MakeChatRenderer(Heading(true), 1);
  CHECK(EventsOf(renderer->End(0, {})).size() == 2);
}

TEST_CASE("probabilities come with their bytes, which needn't be characters") {
  AnswerHeading heading = Heading(false);
  heading.wants_logprobs = true;
  TokenReport token{TokenId(7), "\xC3", -0.25f, {{TokenId(8), "b", -1.5f}}};
  const auto renderer = MakeChatRenderer(heading, 1);
  renderer->Piece(0, {"x", {token}});
  renderer->End(0, {});
  const Json whole = Json::parse(renderer->Finish({}));
  const Json& one = whole["choices"][0]["logprobs"]["content"][0];
  CHECK(one["bytes"] == Json{0xC3});
  CHECK(one["token"] == "\xEF\xBF\xBD");
  CHECK(one["logprob"] == -0.25);
  CHECK(one["top_logprobs"][0]["token"] == "b");
  CHECK(one["top_logprobs"][0]["logprob"] == -1.5);
}

TEST_CASE("a completion has text, offsets of its tokens, and the echo in front once") {
  AnswerHeading heading = Heading(true);
  heading.wants_logprobs = true;
  const auto renderer = MakeCompletionRenderer(heading, 1, {"echo "});
  TokenReport token{TokenId(7), "ab", -1, {}};
  std::string text = renderer->Piece(0, {"ab", {token}});
  text += renderer->Piece(0, {"ab", {token}});
  text += renderer->End(0, {});
  const std::vector<std::string> events = EventsOf(text);
  REQUIRE(events.size() == 3);
  CHECK(Json::parse(events[0])["choices"][0]["text"] == "echo ab");
  CHECK(Json::parse(events[1])["choices"][0]["text"] == "ab");
  CHECK(Json::parse(events[1])["choices"][0]["logprobs"]["text_offset"] == Json{2});
  CHECK(Json::parse(events[2])["choices"][0]["finish_reason"] == "stop");
  CHECK(Json::parse(events[0])["id"] == "cmpl-1");
}

TEST_CASE("an echo comes even where there is no answer") {
  const auto renderer = MakeCompletionRenderer(Heading(false), 1, {"echo"});
  renderer->End(0, {GenerationEnd::kLength, ""});
  CHECK(Json::parse(renderer->Finish({}))["choices"][0]["text"] == "echo");
}

TEST_CASE("a stream that fails says so as an event") {
  const auto renderer = MakeChatRenderer(Heading(true), 1);
  const std::string event = renderer->StreamError({.type = ApiErrorType::kServer, .message = "x"});
  CHECK(Json::parse(EventsOf(event)[0])["error"]["type"] == "server_error");
}

}  // namespace
}  // namespace cairn
