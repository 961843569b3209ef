#include "cairn/text/rust_bridge.h"

#include <doctest/doctest.h>

namespace cairn {
namespace {

// A tokenizer.json with the letters a and b; `parts` are further members.
std::string SmallJson(std::string_view parts) {
  return fmt::format(
      R"({{"version": "1.0", "added_tokens": [], {}
          "model": {{"type": "BPE", "vocab": {{"a": 0, "b": 1, "ab": 2}}, "merges": ["a b"]}}}})",
      parts);
}

constexpr std::string_view kByteLevel =
    R"("decoder": {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": false},)";

TEST_CASE("a tokenizer.json becomes a tokenizer and a table") {
  const auto tokenizer = RustTokenizer::FromJson(SmallJson(kByteLevel));
  REQUIRE(tokenizer.has_value());
  const auto ids = tokenizer->Encode("abb", {.add_special = false, .parse_special = true});
  CHECK(*ids == std::vector<TokenId>{TokenId(2), TokenId(1)});
  CHECK(tokenizer->Table()->size() == 3);
  CHECK(tokenizer->Table()->Text(TokenId(2)) == "ab");
}

TEST_CASE("what is wrong with a tokenizer.json is said in one line") {
  const std::string deep = std::string(100'000, '[');
  for (const std::string& json :
       {std::string(), std::string("{}"), std::string("[1]"), std::string("\xFF\xFE"), deep,
        std::string("{\"model\":") + deep, SmallJson(""), SmallJson("\"decoder\": 1,"),
        SmallJson(R"("decoder": {"type": "WordPiece", "prefix": "#", "cleanup": true},)"),
        SmallJson(
            fmt::format(R"({} "pre_tokenizer": {{"type": "Split", "pattern": {{"Regex": "(("}},
                                "behavior": "Isolated", "invert": false}},)",
                        kByteLevel))}) {
    const auto tokenizer = RustTokenizer::FromJson(json);
    REQUIRE_FALSE(tokenizer.has_value());
    CHECK_FALSE(tokenizer.error().message.empty());
    CHECK(tokenizer.error().message.find('\n') == std::string::npos);
  }
}

TEST_CASE("a token id far outside is an error, not a table of that size") {
  const std::string json =
      R"({"version": "1.0", "added_tokens": [],
          "decoder": {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": false},
          "model": {"type": "BPE", "vocab": {"a": 4000000000}, "merges": []}})";
  const auto tokenizer = RustTokenizer::FromJson(json);
  REQUIRE(tokenizer.has_value());
  CHECK_FALSE(tokenizer->Table().has_value());
}

TEST_CASE("text that is no UTF-8 is an error") {
  const auto tokenizer = RustTokenizer::FromJson(SmallJson(kByteLevel));
  CHECK_FALSE(
      tokenizer->Encode("a\xFF", {.add_special = false, .parse_special = true}).has_value());
}

TEST_CASE("the decoders of language models are taken apart into steps") {
  const auto table = [](std::string_view decoder, std::string_view vocab) {
    const std::string json = fmt::format(
        R"({{"version": "1.0", "added_tokens": [], "decoder": {},
            "model": {{"type": "BPE", "vocab": {}, "merges": []}}}})",
        decoder, vocab);
    return *RustTokenizer::FromJson(json)->Table();
  };
  const TokenTable pieces = table(
      R"({"type": "Sequence", "decoders": [
          {"type": "Replace", "pattern": {"String": "▁"}, "content": " "},
          {"type": "ByteFallback"}, {"type": "Fuse"},
          {"type": "Strip", "content": " ", "start": 1, "stop": 0}]})",
      R"({"▁a": 0, "<0xE2>": 1, "<0xG0>": 2})");
  CHECK(pieces.leading_spaces_dropped() == 1);
  CHECK(pieces.Bytes(TokenId(0)) == " a");
  CHECK(pieces.Bytes(TokenId(1)) == "\xE2");
  CHECK(pieces.Bytes(TokenId(2)) == "<0xG0>");
  const TokenTable metaspace = table(
      R"({"type": "Metaspace", "replacement": "_", "prepend_scheme": "always", "split": true})",
      R"({"_a": 0})");
  CHECK(metaspace.leading_spaces_dropped() == 1);
  CHECK(metaspace.Bytes(TokenId(0)) == " a");
  const TokenTable bytes =
      table(R"({"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true})",
            R"({"Ġa": 0, "Ã": 1, "日": 2, "Ń": 3, "ń": 4})");
  CHECK(bytes.leading_spaces_dropped() == 0);
  CHECK(bytes.Bytes(TokenId(0)) == " a");
  CHECK(bytes.Bytes(TokenId(1)) == "\xC3");
  CHECK(bytes.Bytes(TokenId(2)) == "日");
  CHECK(bytes.Bytes(TokenId(3)) == "\xAD");
  CHECK(bytes.Bytes(TokenId(4)) == "ń");
}

TEST_CASE("a template is parsed once and rendered with different contexts") {
  const auto chat_template = RustTemplate::Parse("{{ x }}!");
  CHECK(*chat_template->Render(R"({"x": "a"})", 0) == "a!");
  CHECK(*chat_template->Render(R"({"x": [1, null, "b"]})", 0) == "[1, None, 'b']!");
  CHECK_FALSE(chat_template->Render("[]", 0).has_value());
  CHECK_FALSE(RustTemplate::Parse("{{").has_value());
  CHECK_FALSE(RustTemplate::Parse("\xFF").has_value());
}

}  // namespace
}  // namespace cairn
