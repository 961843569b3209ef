#include "cairn/serve/json_node.h"

#include <doctest/doctest.h>

namespace cairn {
namespace {

std::string ProblemOf(std::string_view text, const JsonLimits& limits = {}) {
  const Result<JsonNode> parsed = JsonNode::Parse(text, limits);
  return parsed ? "none" : parsed.error().message;
}

TEST_CASE("values of every kind come out as they went in") {
  const std::string text =
      R"({"a":[1,-2,0.5,true,false,null,"x\n\"y\""],"b":{},"c":[],"d":{"e":9007199254740993}})";
  const Result<JsonNode> parsed = JsonNode::Parse(text);
  REQUIRE(parsed);
  CHECK(parsed->Dump() == text);
  CHECK(parsed->Find("d")->Find("e")->Integer() == 9007199254740993);
  CHECK(parsed->Find("a")->Array()->at(2).Number() == 0.5);
  CHECK(parsed->Find("nothing") == nullptr);
}

TEST_CASE("a whole number may be written with a point, another one is no integer") {
  CHECK(JsonNode::Parse("5.0")->Integer() == 5);
  CHECK(JsonNode::Parse("5.5")->Integer() == std::nullopt);
  CHECK(JsonNode::Parse("1e300")->Integer() == std::nullopt);
  CHECK(JsonNode::Parse("18446744073709551615")->Integer() == std::nullopt);
  CHECK(JsonNode::Parse("\"5\"")->Integer() == std::nullopt);
}

TEST_CASE("of a name that comes twice the last value counts") {
  CHECK(JsonNode::Parse(R"({"a":1,"a":2})")->Find("a")->Integer() == 2);
}

TEST_CASE("what isn't JSON is refused with its place") {
  CHECK(ProblemOf("") == "not JSON at byte 1: ");
  CHECK(ProblemOf("{\"a\": NaN}").starts_with("not JSON at byte 7"));
  CHECK(ProblemOf("[Infinity]").starts_with("not JSON at byte"));
  CHECK(ProblemOf("[-Infinity]").starts_with("not JSON at byte"));
  CHECK(ProblemOf("{} x").starts_with("not JSON at byte"));
  CHECK(ProblemOf("[1,]").starts_with("not JSON at byte"));
  CHECK(ProblemOf("\"\xff\xfe\"").starts_with("not JSON at byte"));
  CHECK(ProblemOf("\"\\ud800\"").starts_with("not JSON at byte"));
  CHECK(ProblemOf("[1e999]") != "none");
}

TEST_CASE("a zero byte doesn't end the text") {
  using std::string_literals::operator""s;
  CHECK(ProblemOf("1\0\xff"s) == "not JSON at byte 2: a zero byte");
  CHECK(ProblemOf("{}\0"s) == "not JSON at byte 3: a zero byte");
  CHECK(ProblemOf("\"\\u0000\"") == "none");
}

TEST_CASE("depth and the number of values have a limit, however large the text") {
  const std::string deep = std::string(100'000, '[') + std::string(100'000, ']');
  CHECK(ProblemOf(deep) == "nested more than 64 deep");
  const std::string fits = std::string(64, '[') + std::string(64, ']');
  CHECK(ProblemOf(fits) == "none");
  std::string many = "[0";
  for (int i = 0; i < 1000; ++i) many += ",0";
  CHECK(ProblemOf(many + "]", {.depth = 4, .values = 1000}) == "more than 1000 values");
}

}  // namespace
}  // namespace cairn
