#include "cairn/serve/api_chat.h"

#include <doctest/doctest.h>

namespace cairn {
namespace {

constexpr std::string_view kHello = R"("messages":[{"role":"user","content":"hello"}])";
constexpr std::string_view kTools =
    R"("tools":[{"type":"function","function":{"name":"now","parameters":{"type":"object"}}}])";

ApiResult<ChatRequest> Parse(std::string_view text) {
  const Result<JsonNode> body = JsonNode::Parse(text);
  REQUIRE(body);
  return ParseChatRequest(*body, {});
}

std::string ProblemOf(std::string_view text) {
  const ApiResult<ChatRequest> parsed = Parse(text);
  return parsed ? "none" : parsed.error().message;
}

std::string With(std::string_view more) { return fmt::format("{{{},{}}}", kHello, more); }

TEST_CASE("messages come to the template with the roles that it knows and joined text") {
  const auto parsed = Parse(
      R"({"messages":[{"role":"developer","content":"be brief"},
          {"role":"user","name":"n",
           "content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]},
          {"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function",
             "function":{"name":"now","arguments":"{\"zone\":1}"}}]},
          {"role":"tool","tool_call_id":"c1","content":"noon"}]})");
  REQUIRE(parsed);
  CHECK(parsed->messages_json ==
        R"([{"role":"system","content":"be brief"},{"role":"user","content":"ab","name":"n"},)"
        R"({"role":"assistant","content":"","tool_calls":[{"id":"c1","type":"function",)"
        R"("function":{"name":"now","arguments":{"zone":1}}}]},)"
        R"({"role":"tool","content":"noon","tool_call_id":"c1"}])");
  CHECK(parsed->variables_json == "{}");
  CHECK(parsed->add_generation_prompt);
}

TEST_CASE("messages that are wrong name the place") {
  CHECK(ProblemOf("{}") == "messages: is missing");
  CHECK(ProblemOf(R"({"messages":[]})") == "messages: at least one is needed");
  CHECK(ProblemOf(R"({"messages":"hi"})") == "messages: must be an array, not a string");
  CHECK(ProblemOf(R"({"messages":[3]})") == "messages[0]: must be an object, not a whole number");
  CHECK(ProblemOf(R"({"messages":[{"content":"x"}]})") == "messages[0].role: is missing");
  CHECK(ProblemOf(R"({"messages":[{"role":"user"}]})") == "messages[0].content: is missing");
  CHECK(ProblemOf(R"({"messages":[{"role":"king","content":"x"}]})")
            .starts_with("messages[0].role: \"king\" is none of"));
  CHECK(ProblemOf(R"({"messages":[{"role":"user","content":[{"type":"image_url"}]}]})") ==
        "messages[0].content[0].type: only \"text\" is supported");
  CHECK(ProblemOf(R"({"messages":[{"role":"user","content":7}]})")
            .starts_with("messages[0].content: must be a string"));
  CHECK(
      ProblemOf(R"({"messages":[{"role":"assistant","tool_calls":[{"function":{"name":4}}]}]})") ==
      "messages[0].tool_calls[0].function.name: must be a string, not a whole number");
}

TEST_CASE("the newer name of the limit counts") {
  CHECK(Parse(With(R"("max_tokens":5)"))->options.max_tokens == 5);
  CHECK(Parse(With(R"("max_tokens":5,"max_completion_tokens":7)"))->options.max_tokens == 7);
  CHECK(ProblemOf(With(R"("max_completion_tokens":-1)")).starts_with("max_completion_tokens"));
}

TEST_CASE("top_logprobs needs logprobs") {
  CHECK(Parse(With(R"("logprobs":true,"top_logprobs":3)"))->options.top_logprobs == 3);
  CHECK(ProblemOf(With(R"("top_logprobs":3)")) == "top_logprobs: needs \"logprobs\": true");
  CHECK(ProblemOf(With(R"("logprobs":true,"top_logprobs":21)")).starts_with("top_logprobs: 21"));
}

TEST_CASE("tools go to the template unless they are forbidden, and a named one must exist") {
  const auto parsed = Parse(With(kTools));
  REQUIRE(parsed);
  CHECK(parsed->tools.front().name == "now");
  CHECK(parsed->tools.front().parameters_json == R"({"type":"object"})");
  CHECK(parsed->variables_json.starts_with(R"({"tools":[{"type":"function")"));
  const auto none = Parse(With(fmt::format(R"({},"tool_choice":"none")", kTools)));
  CHECK(none->variables_json == "{}");
  const auto named = Parse(With(fmt::format(
      R"({},"tool_choice":{{"type":"function","function":{{"name":"now"}}}})", kTools)));
  CHECK(named->tool_choice.kind == ToolChoice::Kind::kNamed);
  CHECK(ProblemOf(With(fmt::format(
            R"({},"tool_choice":{{"type":"function","function":{{"name":"then"}}}})", kTools))) ==
        "tool_choice.function.name: is none of the tools");
  CHECK(ProblemOf(With(R"("tool_choice":"required")")) == "tool_choice: needs tools");
  CHECK(ProblemOf(With(R"("tools":[{"type":"function","function":{"name":"a b"}}])"))
            .starts_with("tools[0].function.name: may have"));
  CHECK(ProblemOf(With(R"("tools":[{"type":"web"}])")).starts_with("tools[0].type"));
}

TEST_CASE("text is the only modality") {
  CHECK(Parse(With(R"("modalities":["text"])")));
  CHECK(ProblemOf(With(R"("modalities":["text","audio"])")) ==
        "modalities: only \"text\" is supported");
}

}  // namespace
}  // namespace cairn
