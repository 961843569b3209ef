#include "cairn/serve/render_anthropic.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

namespace cairn {
namespace {

using Json = nlohmann::json;

AnswerHeading Heading(bool stream) {
  AnswerHeading heading{.id = "1", .model = "m", .stream = stream};
  heading.prompt_tokens = 30;
  return heading;
}

AnswerUsage Usage() {
  AnswerUsage usage;
  usage.prompt_tokens = 30;
  usage.answer_tokens = 4;
  usage.cached_by_tier = {{"memory", 12}};
  usage.miss_reason = "diverged";
  return usage;
}

std::vector<std::pair<std::string, Json>> EventsOf(std::string_view text) {
  std::vector<std::pair<std::string, Json>> events;
  while (!text.empty()) {
    const size_t line = text.find('\n'), end = text.find("\n\n");
    const std::string_view data = text.substr(line + 1, end - line - 1);
    events.emplace_back(text.substr(7, line - 7), Json::parse(data.substr(6)));
    text.remove_prefix(end + 2);
  }
  return events;
}

TEST_CASE("a whole message counts what was read and what was at hand apart") {
  const auto renderer = MakeMessageRenderer(Heading(false));
  renderer->Piece(0, {"a", {}});
  renderer->Piece(0, {"b", {}});
  renderer->End(0, {GenerationEnd::kStopped, "x"});
  const Json message = Json::parse(renderer->Finish(Usage()));
  CHECK(message["id"] == "msg_1");
  CHECK(message["type"] == "message");
  CHECK(message["content"] == Json::array({{{"type", "text"}, {"text", "ab"}}}));
  CHECK(message["stop_reason"] == "stop_sequence");
  CHECK(message["stop_sequence"] == "x");
  CHECK(message["usage"]["input_tokens"] == 18);
  CHECK(message["usage"]["cache_read_input_tokens"] == 12);
  CHECK(message["usage"]["output_tokens"] == 4);
  CHECK_FALSE(message.contains("timings"));
}

TEST_CASE("a stream has Anthropic's events in their order") {
  const auto renderer = MakeMessageRenderer(Heading(true));
  std::string text = renderer->Begin();
  text += renderer->Piece(0, {"a", {}});
  text += renderer->Piece(0, {"", {}});
  text += renderer->Piece(0, {"b", {}});
  text += renderer->End(0, {GenerationEnd::kEnd, ""});
  text += renderer->Finish(Usage());
  const auto events = EventsOf(text);
  std::vector<std::string> names;
  for (const auto& [name, data] : events) {
    names.push_back(name);
    CHECK(data["type"] == name);
  }
  CHECK(names == std::vector<std::string>{"message_start", "content_block_start",
                                          "content_block_delta", "content_block_delta",
                                          "content_block_stop", "message_delta", "message_stop"});
  CHECK(events[0].second["message"]["usage"]["input_tokens"] == 30);
  CHECK(events[0].second["message"]["content"] == Json::array());
  CHECK(events[2].second["delta"]["text"] == "a");
  CHECK(events[5].second["delta"]["stop_reason"] == "end_turn");
  CHECK(events[5].second["delta"]["stop_sequence"].is_null());
  CHECK(events[5].second["usage"]["cache_read_input_tokens"] == 12);
}

TEST_CASE("a call is a block of its own behind the text's") {
  const std::string_view call = "<tool_call>{\"name\":\"f\",\"arguments\":{\"a\":1}}</tool_call>";
  AnswerHeading heading = Heading(true);
  heading.tools = ToolCallReader::Form::kMarked;
  const auto renderer = MakeMessageRenderer(heading);
  std::string text = renderer->Piece(0, {"well", {}});
  text += renderer->Piece(0, {std::string(call), {}});
  text += renderer->End(0, {});
  text += renderer->Finish(Usage());
  const auto events = EventsOf(text);
  REQUIRE(events.size() == 8);
  CHECK(events[2].first == "content_block_stop");
  CHECK(events[3].second["index"] == 1);
  CHECK(events[3].second["content_block"]["name"] == "f");
  CHECK(events[4].second["delta"]["partial_json"] == "{\"a\":1}");
  CHECK(events[6].second["delta"]["stop_reason"] == "tool_use");
  heading.stream = false;
  const auto whole = MakeMessageRenderer(heading);
  whole->Piece(0, {std::string(call), {}});
  whole->End(0, {});
  const Json content = Json::parse(whole->Finish(Usage()))["content"];
  REQUIRE(content.size() == 1);
  CHECK(content[0]["input"] == Json{{"a", 1}});
}

TEST_CASE("an answer without text still has its block") {
  const auto renderer = MakeMessageRenderer(Heading(true));
  CHECK(EventsOf(renderer->End(0, {})).size() == 2);
}

TEST_CASE("an error in a stream is an event of that name") {
  const auto renderer = MakeMessageRenderer(Heading(true));
  const auto events =
      EventsOf(renderer->StreamError({.type = ApiErrorType::kUnavailable, .message = "m"}));
  CHECK(events[0].first == "error");
  CHECK(events[0].second["error"]["type"] == "overloaded_error");
}

}  // namespace
}  // namespace cairn
