#include "cairn/eval/text_windows.h"

#include <doctest/doctest.h>

#include "cairn/text/vocabularies_for_tests.h"

namespace cairn {
namespace {

Tokenizer TokenizerWith(bool add_bos) {
  VocabularyForTests made;
  FillPieces(made);
  made->add_bos = add_bos;
  made->add_space_prefix = false;
  return *Tokenizer::FromGguf(*made);
}

}  // namespace

TEST_CASE("windows follow each other without a gap, and what is too short for one is left out") {
  const Tokenizer tokenizer = TokenizerWith(false);
  const std::string text = "0123456789";
  const auto windows = *WindowsOf(tokenizer, text, "a text", TokenCount(4), 9);
  REQUIRE(windows.size() == 2);
  CHECK(tokenizer.Decode(windows[0]) == "0123");
  CHECK(tokenizer.Decode(windows[1]) == "4567");
  CHECK(WindowsOf(tokenizer, text, "a text", TokenCount(4), 1)->size() == 1);
}

TEST_CASE("BOS takes the first token's place where the tokenizer puts one in front of a text") {
  const Tokenizer tokenizer = TokenizerWith(true);
  const auto windows = *WindowsOf(tokenizer, "0123456789", "a text", TokenCount(4), 9);
  REQUIRE(windows.size() == 2);
  for (const auto& window : windows) CHECK(window.front() == *tokenizer.bos());
  CHECK(tokenizer.Decode(std::span(windows[0]).subspan(1)) == "012");
  CHECK(tokenizer.Decode(std::span(windows[1]).subspan(1)) == "456");
}

TEST_CASE("a text that fills no window is an error that says how long it is") {
  const auto none = WindowsOf(TokenizerWith(false), "0123", "some.txt", TokenCount(5), 1);
  REQUIRE_FALSE(none);
  CHECK(none.error().message.find("some.txt: 4 tokens are fewer than the context of 5") == 0);
}

TEST_CASE("a window's scored tokens are those of its second half but the first") {
  CHECK(FirstScored(8) == 5);
  CHECK(FirstScored(9) == 5);
}

}  // namespace cairn
