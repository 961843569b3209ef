#include "cairn/serve/api_messages.h"

#include <doctest/doctest.h>

namespace cairn {
namespace {

ApiResult<ChatRequest> Parse(std::string_view text) {
  const Result<JsonNode> body = JsonNode::Parse(text);
  REQUIRE(body);
  return ParseMessagesRequest(*body, {});
}

std::string ProblemOf(std::string_view text) {
  const auto parsed = Parse(text);
  return parsed ? "none" : parsed.error().message;
}

std::string With(std::string_view more) {
  return fmt::format(R"({{"max_tokens":5,"messages":[{{"role":"user","content":"x"}}],{}}})", more);
}

TEST_CASE("blocks become the messages that templates know") {
  const auto parsed = Parse(
      R"({"max_tokens":9,"system":[{"type":"text","text":"be "},
            {"type":"text","text":"brief","cache_control":{"type":"ephemeral"}}],
          "messages":[{"role":"user","content":"time?"},
            {"role":"assistant","content":[{"type":"thinking","thinking":"hm"},
              {"type":"text","text":"I look"},
              {"type":"tool_use","id":"t1","name":"now","input":{"zone":1}}]},
            {"role":"user","content":[{"type":"tool_result","tool_use_id":"t1",
              "content":[{"type":"text","text":"noon"}]},{"type":"text","text":"well?"}]}]})");
  REQUIRE(parsed);
  CHECK(parsed->messages_json ==
        R"([{"role":"system","content":"be brief"},{"role":"user","content":"time?"},)"
        R"({"role":"assistant","content":"I look","tool_calls":[{"id":"t1","type":"function",)"
        R"("function":{"name":"now","arguments":{"zone":1}}}],"reasoning_content":"hm"},)"
        R"({"role":"tool","content":"noon","tool_call_id":"t1"},)"
        R"({"role":"user","content":"well?"}])");
  CHECK(parsed->options.max_tokens == 9);
}

TEST_CASE("a message of tool results alone adds no empty one") {
  const auto parsed = Parse(
      R"({"max_tokens":1,"messages":[{"role":"user","content":[{"type":"tool_result",
          "tool_use_id":"t1","content":"noon"}]}]})");
  REQUIRE(parsed);
  CHECK(parsed->messages_json == R"([{"role":"tool","content":"noon","tool_call_id":"t1"}])");
}

TEST_CASE("what is wrong names the place") {
  CHECK(ProblemOf(R"({"messages":[{"role":"user","content":"x"}]})") == "max_tokens: is missing");
  CHECK(ProblemOf(R"({"max_tokens":1})") == "messages: is missing");
  CHECK(ProblemOf(R"({"max_tokens":1,"messages":[{"role":"system","content":"x"}]})")
            .starts_with("messages[0].role: \"system\" is none of"));
  CHECK(
      ProblemOf(R"({"max_tokens":1,"messages":[{"role":"user","content":[{"type":"image"}]}]})") ==
      "messages[0].content[0].type: isn't supported in this role's messages");
  CHECK(ProblemOf(With(R"("system":[{"type":"text"}])")) == "system[0].text: is missing");
  CHECK(ProblemOf(With(R"("system":[{"type":"text","text":"x","cache_control":{"type":"x"}}])"))
            .starts_with("system[0].cache_control.type"));
  CHECK(ProblemOf(With(R"("stop_sequences":[1])")).starts_with("stop_sequences: must hold"));
  CHECK(ProblemOf(With(R"("thinking":{"type":"enabled","budget_tokens":1024})")) ==
        "thinking.type: only \"disabled\" is supported");
  CHECK(ProblemOf(With(R"("mcp_servers":[])")) == "mcp_servers: isn't supported");
}

TEST_CASE("tools come in the form that templates know, and the choice by its names") {
  const auto parsed = Parse(
      With(R"("tools":[{"name":"now","description":"time","input_schema":{"type":"object"}}],)"
           R"("tool_choice":{"type":"tool","name":"now"})"));
  REQUIRE(parsed);
  CHECK(parsed->variables_json ==
        R"({"tools":[{"type":"function","function":{"name":"now","description":"time",)"
        R"("parameters":{"type":"object"}}}]})");
  CHECK(parsed->tool_choice.kind == ToolChoice::Kind::kNamed);
  CHECK(ProblemOf(With(R"("tools":[{"name":"now"}])")) == "tools[0].input_schema: is missing");
  CHECK(ProblemOf(With(R"("tool_choice":{"type":"any"})")) == "tool_choice: needs tools");
}

TEST_CASE("counting needs no limit of the answer") {
  const auto body = *JsonNode::Parse(R"({"messages":[{"role":"user","content":"x"}]})");
  CHECK(ParseCountRequest(body));
}

}  // namespace
}  // namespace cairn
