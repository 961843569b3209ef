#include "cairn/text/stream_decoder.h"

#include <doctest/doctest.h>

#include <random>
#include <vector>

#include "cairn/text/utf8.h"

namespace cairn {
namespace {

// Tokens: parts of characters, spaces, a special one.
TokenTable MakeTable(int leading_spaces_dropped) {
  TokenTable table(leading_spaces_dropped);
  for (const char* bytes :
       {" a", "\xF0\x9F", "\x98\x80", "\xE2\x82", "\xAC", " ", "b\xC3", "\xA9"}) {
    table.Add(bytes, bytes, false);
  }
  table.Add("<s>", "<s>", true);
  return table;
}

std::string Decode(const TokenTable& table, const std::vector<int32_t>& ids,
                   DecodeOptions options) {
  StreamDecoder decoder(table, options);
  std::string text;
  for (int32_t id : ids) text += decoder.Push(TokenId(id));
  return text + decoder.Flush();
}

TEST_CASE("a character comes out with the token that completes it") {
  const TokenTable table = MakeTable(0);
  StreamDecoder decoder(table);
  CHECK(decoder.Push(TokenId(1)).empty());
  CHECK(decoder.Push(TokenId(2)) == "😀");
  CHECK(decoder.Push(TokenId(6)) == "b");
  CHECK(decoder.Push(TokenId(7)) == "é");
  CHECK(decoder.Push(TokenId(3)).empty());
  CHECK(decoder.Flush() == "�");
}

TEST_CASE("any tokens give UTF-8 in every piece, and the replacement of their joined bytes") {
  const TokenTable table = MakeTable(0);
  std::mt19937 random(3);
  for (int round = 0; round < 500; ++round) {
    StreamDecoder decoder(table);
    Utf8Stream whole;
    std::string bytes;
    std::string text;
    for (int i = 0; i < 12; ++i) {
      const TokenId id(static_cast<int32_t>(random() % 10) - 1);
      bytes += table.Bytes(id);
      const std::string piece = decoder.Push(id);
      CHECK(FindInvalidUtf8(piece) == std::string_view::npos);
      text += piece;
    }
    std::string expected = whole.Push(bytes);
    expected += whole.Flush();
    CHECK(text + decoder.Flush() == expected);
  }
}

TEST_CASE("the space in front of a text is dropped once, and only at the start") {
  const TokenTable table = MakeTable(1);
  CHECK(Decode(table, {0, 0}, {}) == "a a");
  CHECK(Decode(table, {5, 0}, {}) == " a");
  CHECK(Decode(table, {8, 0}, {}) == "<s> a");
  CHECK(Decode(table, {8, 0}, {.skip_special = true}) == "a");
  CHECK(Decode(table, {0, 0}, {.at_text_start = false}) == " a a");
}

TEST_CASE("special tokens are left out when that is asked for") {
  const TokenTable table = MakeTable(0);
  CHECK(Decode(table, {8, 0, 8}, {}) == "<s> a<s>");
  CHECK(Decode(table, {8, 0, 8}, {.skip_special = true}) == " a");
}

TEST_CASE("ids without a token add nothing") {
  const TokenTable table = MakeTable(0);
  CHECK(Decode(table, {-5, 1, 1000, 2, 2'000'000'000}, {}) == "😀");
}

}  // namespace
}  // namespace cairn
