#include "cairn/text/special_tokens.h"

#include <doctest/doctest.h>

namespace cairn {
namespace {

constexpr bool kParseControl = true;

SpecialTokens::Entry Plain(int32_t id) {
  return {.id = TokenId(id), .control = false, .strips_right = false};
}

SpecialTokens::Entry Control(int32_t id, bool strips_right = false) {
  return {.id = TokenId(id), .control = true, .strips_right = strips_right};
}

// "text" for plain text, "#7" for token 7, separated by bars.
std::string Describe(const std::vector<SpecialTokens::Part>& parts) {
  std::string result;
  for (const auto& part : parts) {
    if (!result.empty()) result += '|';
    result += part.id ? "#" + std::to_string(part.id->value()) : std::string(part.text);
  }
  return result;
}

TEST_CASE("at one place the longest token wins, and earlier places win over later ones") {
  SpecialTokens tokens;
  tokens.Add("\n", Plain(1));
  tokens.Add("\n\n\n", Plain(3));
  tokens.Add("ab", Plain(4));
  tokens.Add("bcde", Plain(5));
  CHECK(Describe(tokens.Split("\n\n\n\n\n", true)) == "#3|#1|#1");
  CHECK(Describe(tokens.Split("xabcdey", true)) == "x|#4|cdey");
  CHECK(Describe(tokens.Split("bcd", true)) == "bcd");
}

TEST_CASE("control tokens are text where they are not parsed, user-defined ones never") {
  SpecialTokens tokens;
  tokens.Add("<s>", Control(1));
  tokens.Add("<s>tool", Plain(2));
  CHECK(Describe(tokens.Split("a<s>b<s>tool", kParseControl)) == "a|#1|b|#2");
  CHECK(Describe(tokens.Split("a<s>b<s>tool", !kParseControl)) == "a<s>b|#2");
}

TEST_CASE("a token that strips takes white space after it along, up to the end") {
  SpecialTokens tokens;
  tokens.Add("<u>", Control(1, /*strips_right=*/true));
  CHECK(Describe(tokens.Split("<u> \n hi<u>  ", kParseControl)) == "#1|hi|#1");
}

TEST_CASE("an empty text has no parts, and an empty or doubled token is left out") {
  SpecialTokens tokens;
  tokens.Add("", Plain(1));
  tokens.Add("a", Plain(2));
  tokens.Add("a", Plain(3));
  CHECK(tokens.Split("", true).empty());
  CHECK(Describe(tokens.Split("ba", true)) == "b|#2");
}

}  // namespace
}  // namespace cairn
