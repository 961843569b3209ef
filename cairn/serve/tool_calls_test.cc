#include "cairn/serve/tool_calls.h"

#include <doctest/doctest.h>

namespace cairn {
namespace {

using Form = ToolCallReader::Form;

// Text and calls ("name(arguments)") of an answer that comes in pieces of that size.
std::string Read(Form form, std::string_view text, size_t size) {
  ToolCallReader reader(form);
  std::string out;
  const auto add = [&](const ToolCallReader::Piece& piece) {
    out += piece.text;
    for (const ToolCall& call : piece.calls) out += "|" + call.name + call.arguments_json + "|";
  };
  for (; !text.empty(); text.remove_prefix(std::min(size, text.size()))) {
    add(reader.Push(text.substr(0, size)));
  }
  add(reader.Flush());
  return out;
}

TEST_CASE("calls between marks are found however the text is cut") {
  const std::string_view text =
      "I look.<tool_call>\n{\"name\": \"now\", \"arguments\": {\"zone\": 1}}\n</tool_call>\n"
      "<tool_call>{\"name\": \"f\", \"arguments\": {}}</tool_call>";
  for (size_t size = 1; size < 40; ++size) {
    CHECK(Read(Form::kMarked, text, size) == "I look.|now{\"zone\":1}||f{}|");
  }
}

TEST_CASE("what only looks like a call stays text") {
  for (size_t size = 1; size < 20; ++size) {
    CHECK(Read(Form::kMarked, "a <tool_cal> b", size) == "a <tool_cal> b");
    CHECK(Read(Form::kMarked, "<tool_call>no JSON</tool_call>!", size) ==
          "<tool_call>no JSON</tool_call>!");
    CHECK(Read(Form::kMarked, "<tool_call>{\"name\":\"f\"}</tool_call>", size) ==
          "<tool_call>{\"name\":\"f\"}</tool_call>");
    CHECK(Read(Form::kMarked, "x<tool_call>{\"name\":", size) == "x<tool_call>{\"name\":");
  }
  CHECK(Read(Form::kNone, "<tool_call>{\"name\":\"f\",\"arguments\":{}}</tool_call>", 3)
            .starts_with("<tool_call>"));
}

TEST_CASE("a call whose end mark is missing counts if it is whole") {
  CHECK(Read(Form::kMarked, "<tool_call>{\"name\":\"f\",\"arguments\":{}}", 4) == "|f{}|");
}

TEST_CASE("an answer that is one call is read at its end, and is text when it was cut") {
  CHECK(Read(Form::kWhole, "{\"name\": \"f\", \"arguments\": {\"a\": 1.5}}", 5) ==
        "|f{\"a\":1.5}|");
  CHECK(Read(Form::kWhole, "{\"name\": \"f\", \"argum", 5) == "{\"name\": \"f\", \"argum");
}

TEST_CASE("ids differ") {
  ToolCallReader one(Form::kWhole), two(Form::kWhole);
  one.Push("{\"name\":\"f\",\"arguments\":{}}");
  two.Push("{\"name\":\"f\",\"arguments\":{}}");
  CHECK(one.Flush().calls.front().id != two.Flush().calls.front().id);
}

TEST_CASE("a forced call follows the schema of its tool, or of one of them") {
  const std::vector<ChatTool> tools = {{"f", R"({"type":"object","properties":{}})"}, {"g", ""}};
  CHECK(SchemaOfCall(tools, {ToolChoice::Kind::kNamed, "g"}) ==
        R"({"type":"object","properties":{"name":{"const":"g"},"arguments":{"type":"object"}},)"
        R"("required":["name","arguments"],"additionalProperties":false})");
  CHECK(SchemaOfCall(tools, {ToolChoice::Kind::kRequired, ""}).starts_with(R"({"anyOf":[{)"));
}

}  // namespace
}  // namespace cairn
