#include "cairn/spec/hf_config.h"

#include <doctest/doctest.h>

#include <string>

namespace cairn {
namespace {

HfConfig Parse(const std::string& json) {
  auto config = HfConfig::Parse(json, "config.json");
  REQUIRE_MESSAGE(config.has_value(), config.error().message);
  return std::move(*config);
}

template <class T>
std::string MessageOf(const Result<T>& result) {
  REQUIRE_FALSE(result.has_value());
  CHECK(result.error().IsBadInput());
  CHECK_EQ(result.error().message.find('\n'), std::string::npos);
  return result.error().message;
}

}  // namespace

TEST_CASE("numbers are read within their range") {
  const HfConfig config = Parse(R"({"a": 5, "b": 1.5, "c": -1, "d": "5", "e": 18446744073709551615,
                                    "f": 5.0, "g": true, "h": [1], "i": {}})");
  CHECK_EQ(*config.Int("a", {1, 5}), 5);
  CHECK_EQ(*config.FloatOr("a", {0, 10}, 0), 5);
  CHECK_EQ(*config.FloatOr("b", {0, 10}, 0), 1.5);
  CHECK_EQ(*config.IntOr("z", {1, 5}, 7), 7);
  CHECK_EQ(MessageOf(config.Int("a", {1, 4})),
           "config.json: a is 5, expected an integer from 1 to 4");
  CHECK_EQ(MessageOf(config.Int("b", {1, 4})),
           "config.json: b is 1.5, expected an integer from 1 to 4");
  CHECK_EQ(MessageOf(config.Int("c", {1, 4})),
           "config.json: c is -1, expected an integer from 1 to 4");
  CHECK_EQ(MessageOf(config.Int("d", {1, 9})),
           "config.json: d is \"5\", expected an integer from 1 to 9");
  CHECK_EQ(MessageOf(config.Int("e", {1, 9})),
           "config.json: e is 18446744073709551615, expected an integer from 1 to 9");
  CHECK_EQ(MessageOf(config.Int("f", {1, 9})),
           "config.json: f is 5.0, expected an integer from 1 to 9");
  CHECK_EQ(MessageOf(config.Int("g", {0, 9})),
           "config.json: g is true, expected an integer from 0 to 9");
  CHECK_EQ(MessageOf(config.Int("h", {1, 9})),
           "config.json: h is a list of 1, expected an integer from 1 to 9");
  CHECK_EQ(MessageOf(config.FloatOr("i", {1, 9}, 0)),
           "config.json: i is an object, expected a number from 1 to 9");
  CHECK_EQ(MessageOf(config.Int("z", {1, 9})),
           "config.json: z is missing, expected an integer from 1 to 9");
}

TEST_CASE("null is absent for plain readers and nothing for optional ones") {
  const HfConfig config = Parse(R"({"a": null, "b": 3})");
  CHECK_FALSE(config.Has("a"));
  CHECK(config.IsNull("a"));
  CHECK_FALSE(config.IsNull("z"));
  CHECK_EQ(*config.IntOr("a", {1, 9}, 7), 7);
  CHECK_EQ(*config.BoolOr("a", true), true);
  CHECK_EQ(*config.OptionalInt("a", {1, 9}, 7), std::nullopt);
  CHECK_EQ(*config.OptionalInt("b", {1, 9}, 7), 3);
  CHECK_EQ(*config.OptionalInt("z", {1, 9}, 7), 7);
  CHECK_EQ(*config.OptionalFloat("a", {1, 9}, 7.5), std::nullopt);
  CHECK_EQ(*config.OptionalFloat("z", {1, 9}, 7.5), 7.5);
  CHECK_EQ(MessageOf(config.Int("a", {1, 9})),
           "config.json: a is missing, expected an integer from 1 to 9");
}

TEST_CASE("bare Infinity and NaN parse and are no numbers; inside strings they are text") {
  const HfConfig config =
      Parse(R"({"a": Infinity, "b": [-Infinity, NaN], "c": "Infinity \"NaN\"", "d": 1})");
  CHECK_EQ(*config.Int("d", {1, 1}), 1);
  CHECK_EQ(*config.String("c"), "Infinity \"NaN\"");
  CHECK_EQ(MessageOf(config.FloatOr("a", {1, 9}, 0)),
           "config.json: a is \"Infinity\", expected a number from 1 to 9");
}

TEST_CASE("lists have exactly as many entries as asked") {
  const HfConfig config = Parse(R"({"a": [1, 0, true], "b": ["x", "y"], "c": [1, "x"], "d": 1})");
  CHECK_EQ(*config.Ints("a", 3, {0, 1}), std::vector<int64_t>{1, 0, 1});
  CHECK_EQ(*config.Strings("b", 2), std::vector<std::string>{"x", "y"});
  CHECK_EQ(MessageOf(config.Ints("a", 4, {0, 1})),
           "config.json: a is a list of 3, expected a list of 4, each an integer from 0 to 1");
  CHECK_EQ(MessageOf(config.Ints("c", 2, {0, 1})),
           "config.json: c[1] is \"x\", expected an integer from 0 to 1");
  CHECK_EQ(MessageOf(config.Strings("c", 2)), "config.json: c[0] is 1, expected a string");
  CHECK_EQ(MessageOf(config.Strings("d", 2)), "config.json: d is 1, expected a list of 2 strings");
}

TEST_CASE("keys of a nested object are named with their path") {
  const HfConfig config = Parse(R"({"text_config": {"rope": {"x": 0}}, "other": 3})");
  const auto text = config.Child("text_config");
  REQUIRE((text.has_value() && text->has_value()));
  const auto rope = (*text)->Child("rope");
  REQUIRE((rope.has_value() && rope->has_value()));
  CHECK_EQ(MessageOf((*rope)->Int("x", {1, 2})),
           "config.json: text_config.rope.x is 0, expected an integer from 1 to 2");
  CHECK_FALSE(config.Child("absent")->has_value());
  CHECK_EQ(MessageOf(config.Child("other")), "config.json: other is 3, expected an object");
}

TEST_CASE("what isn't a bounded JSON object is refused in one line") {
  CHECK_EQ(MessageOf(HfConfig::Parse("[1, 2]", "c")), "c: a list of 2, expected a JSON object");
  CHECK(MessageOf(HfConfig::Parse("", "c")).starts_with("c: not JSON"));
  CHECK(MessageOf(HfConfig::Parse("{\"a\":\n\n}", "c")).starts_with("c: not JSON"));
  CHECK(MessageOf(HfConfig::Parse("{\"a\": 1e999}", "c")).starts_with("c: not JSON"));
  CHECK(MessageOf(HfConfig::Parse("{\"a\": \"\xff\"}", "c")).starts_with("c: not JSON"));
  std::string deep = "{\"a\": ";
  for (int i = 0; i < 100; ++i) deep += '[';
  CHECK_EQ(MessageOf(HfConfig::Parse(deep, "c")), "c: nested deeper than 32 levels");
  const std::string large(HfConfig::kMaxBytes + 1, ' ');
  CHECK_EQ(MessageOf(HfConfig::Parse(large, "c")),
           "c: 16777217 bytes, expected at most 16777216 for a config.json");
}

}  // namespace cairn
