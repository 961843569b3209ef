#include "cairn/serve/answer_text.h"

#include <doctest/doctest.h>

namespace cairn {
namespace {

TokenTable Table() {
  TokenTable table;
  for (const char* text : {"a", "b", "c", "\xC3", "\xA4"}) table.Add(text, text, false);
  table.Add("<end>", "<end>", true);
  return table;
}

GeneratedToken Token(int32_t id) {
  return {
      .id = GenerationId(1), .answer = 0, .token = TokenId(id), .logprob = -0.5f, .likeliest = {}};
}

TEST_CASE("text comes in whole characters, and special tokens only where they are wanted") {
  const TokenTable table = Table();
  AnswerText text = *AnswerText::Make(table, {});
  CHECK(text.Push(Token(0)).text == "a");
  CHECK(text.Push(Token(3)).text.empty());
  CHECK(text.Push(Token(4)).text == "\xC3\xA4");
  CHECK(text.Push(Token(5)).text.empty());
  CHECK(text.Push(Token(3)).text.empty());
  CHECK(text.Flush().text == "\xEF\xBF\xBD");
  AnswerText shown = *AnswerText::Make(table, {.shows_special = true});
  CHECK(shown.Push(Token(5)).text == "<end>");
}

TEST_CASE("a stop string over several tokens ends the text before it") {
  const TokenTable table = Table();
  AnswerText text = *AnswerText::Make(table, {.stops = {"bc"}});
  CHECK(text.Push(Token(0)).text == "a");
  CHECK(text.Push(Token(1)).text.empty());
  CHECK_FALSE(text.stopped());
  CHECK(text.Push(Token(2)).text.empty());
  CHECK(text.stopped());
  CHECK(text.stop() == "bc");
  CHECK(text.Push(Token(0)).text.empty());
  CHECK(text.Flush().text.empty());
}

TEST_CASE("what was held back for a stop string that didn't come is text at the end") {
  const TokenTable table = Table();
  AnswerText text = *AnswerText::Make(table, {.stops = {"bc"}});
  CHECK(text.Push(Token(1)).text.empty());
  CHECK(text.Flush().text == "b");
}

TEST_CASE("probabilities come with the text that their tokens ended up in") {
  const TokenTable table = Table();
  AnswerText text = *AnswerText::Make(table, {.stops = {}, .wants_logprobs = true});
  CHECK(text.Push(Token(3)).tokens.empty());
  const TextPiece piece = text.Push(Token(4));
  REQUIRE(piece.tokens.size() == 2);
  CHECK(piece.tokens[0].bytes == "\xC3");
  CHECK(piece.tokens[1].logprob == -0.5f);
  CHECK(text.Flush().tokens.empty());
}

TEST_CASE("an empty stop string is refused") {
  CHECK(AnswerText::Make(Table(), {.stops = {""}}).error().param == "stop");
}

}  // namespace
}  // namespace cairn
