#include "cairn/serve/api_fields.h"

#include <doctest/doctest.h>

namespace cairn {
namespace {

// The message of the first problem after `read` has read from the text.
template <class Read>
std::string ProblemAfter(std::string_view text, Read read) {
  const Result<JsonNode> body = JsonNode::Parse(text);
  ApiFields fields(*body, "");
  read(fields);
  return fields.ok() ? "none" : fields.problem()->message;
}

TEST_CASE("absent and null are the same, and no problem") {
  const Result<JsonNode> body = JsonNode::Parse(R"({"a":null})");
  ApiFields fields(*body, "");
  CHECK(fields.Integer("a", 0, 1) == std::nullopt);
  CHECK(fields.String("b", 1) == std::nullopt);
  CHECK(fields.Array("a", 1) == nullptr);
  CHECK(fields.ok());
  fields.Require("a");
  CHECK(fields.problem()->message == "a: is missing");
}

TEST_CASE("a wrong kind, a number out of range and a text too long name the field") {
  const auto text = R"({"n":"five","x":3,"s":"abc","o":[],"b":1,"f":1.5})";
  CHECK(ProblemAfter(text, [](ApiFields& f) { f.Integer("n", 0, 9); }) ==
        "n: must be a whole number, not a string");
  CHECK(ProblemAfter(text, [](ApiFields& f) { f.Integer("f", 0, 9); }) ==
        "f: must be a whole number, not a number");
  CHECK(ProblemAfter(text, [](ApiFields& f) { f.Integer("x", 0, 2); }) ==
        "x: 3 isn't within 0 and 2");
  CHECK(ProblemAfter(text, [](ApiFields& f) { f.Number("x", 0, 2.5); }) ==
        "x: 3 isn't within 0 and 2.5");
  CHECK(ProblemAfter(text, [](ApiFields& f) { f.String("s", 2); }) ==
        "s: has 3 bytes; at most 2 can be");
  CHECK(ProblemAfter(text, [](ApiFields& f) { f.Object("o"); }) ==
        "o: must be an object, not an array");
  CHECK(ProblemAfter(text, [](ApiFields& f) { f.Bool("b"); }) ==
        "b: must be true or false, not a whole number");
  CHECK(ProblemAfter(text, [](ApiFields& f) { f.Choice("s", {"x", "y"}); }) ==
        "s: \"abc\" is none of \"x\", \"y\"");
}

TEST_CASE("the first problem stays, and paths lead inside") {
  const Result<JsonNode> body = JsonNode::Parse(R"({"m":[{"role":7}],"n":true})");
  ApiFields fields(*body, "");
  ApiFields inner(fields.Array("m", 9)->front(), PathOfItem("m", 0));
  inner.String("role", 10);
  fields.Adopt(inner);
  fields.Integer("n", 0, 1);
  CHECK(fields.problem()->param == "m[0].role");
}

TEST_CASE("a body that is no object is the problem itself") {
  CHECK(ProblemAfter("[1]", [](ApiFields&) {}) == "body: must be an object, not an array");
}

}  // namespace
}  // namespace cairn
