#include "cairn/serve/chat_messages.h"

#include <doctest/doctest.h>

namespace cairn {
namespace {

TEST_CASE("arguments that are no object stay the text that they are") {
  const Result<JsonNode> body =
      JsonNode::Parse(R"({"messages":[{"role":"assistant",)"
                      R"("tool_calls":[{"function":{"name":"f","arguments":"[1"}}]}]})");
  ApiFields fields(*body, "");
  const JsonNode messages(ReadChatMessages(fields));
  REQUIRE(fields.ok());
  CHECK(messages.Dump().contains(R"("arguments":"[1")"));
}

TEST_CASE("only an assistant calls tools") {
  const Result<JsonNode> body =
      JsonNode::Parse(R"({"messages":[{"role":"user","content":"x","tool_calls":[]}]})");
  ApiFields fields(*body, "");
  ReadChatMessages(fields);
  CHECK(fields.problem()->message ==
        "messages[0].tool_calls: only an assistant's message has them");
}

TEST_CASE("a plain message has a role and a content") {
  CHECK(PlainMessage("user", "x\"y").Dump() == R"({"role":"user","content":"x\"y"})");
}

}  // namespace
}  // namespace cairn
