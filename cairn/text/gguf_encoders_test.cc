#include "cairn/text/gguf_encoders.h"

#include <doctest/doctest.h>

#include "cairn/text/tokenizer.h"
#include "cairn/text/vocabularies_for_tests.h"

namespace cairn {
namespace {

std::vector<std::string> Texts(const Tokenizer& tokenizer, std::string_view text,
                               EncodeOptions options = {.add_bos = false}) {
  const auto ids = tokenizer.Encode(text, options);
  REQUIRE(ids.has_value());
  std::vector<std::string> texts;
  for (TokenId id : *ids) texts.emplace_back(tokenizer.TokenText(id));
  return texts;
}

using List = std::vector<std::string>;

// Strings that decoding must give back as they were.
constexpr std::string_view kHardTexts[] = {
    "",
    " ",
    "hello world",
    "  two  spaces ",
    "\n\n\n",
    "\t\r\n",
    "é e\u0301 ǖ̈",
    "日本語 한국어",
    "👨‍👩‍👧‍👦 🏳️‍🌈 🇺🇸 1️⃣",
    "\u200F\u202Ebidi\u2069",
    "a\u00A0b\u3000c",
    "\uFFFD\uFEFF",
    "𝔹\U0010FFFF",
    "<0x0A> ▁ Ġ <unk>",
    "x <tool> y"};

TEST_CASE("merges are applied in their order, inside the parts of the text") {
  VocabularyForTests made;
  FillMerges(made);
  const Tokenizer tokenizer = *Tokenizer::FromGguf(*made);
  CHECK(Texts(tokenizer, "hello world") == List{"hello", "Ġworld"});
  CHECK(Texts(tokenizer, "hell world hello") == List{"hell", "Ġworld", "Ġ", "hello"});
  CHECK(Texts(tokenizer, "é") == List{"Ã", "©"});
  CHECK(tokenizer.Decode(*tokenizer.Encode("hello world")) == "hello world");
}

TEST_CASE("control tokens are found where they are parsed, user-defined ones always") {
  VocabularyForTests made;
  FillMerges(made);
  const Tokenizer tokenizer = *Tokenizer::FromGguf(*made);
  CHECK(Texts(tokenizer, "<|im_end|><tool>") == List{"<|im_end|>", "<tool>"});
  const auto ids = tokenizer.Encode("<|im_end|><tool>", {.add_bos = false, .parse_special = false});
  CHECK(ids->size() == 11);
  CHECK(tokenizer.TokenText(ids->back()) == "<tool>");
  CHECK(tokenizer.Decode(*ids) == "<|im_end|><tool>");
}

TEST_CASE("a user-defined token decodes to its own text, also if that looks like a byte letter") {
  VocabularyForTests made;
  FillMerges(made);
  const TokenId letter = made.Add("日ø", GgufTokenType::kUserDefined);
  const Tokenizer tokenizer = *Tokenizer::FromGguf(*made);
  CHECK(tokenizer.TokenBytes(letter) == "日ø");
  CHECK(tokenizer.Encode("日ø")->size() == 1);
}

TEST_CASE("pieces are merged by score, behind a marker for the space in front") {
  VocabularyForTests made;
  FillPieces(made);
  const Tokenizer tokenizer = *Tokenizer::FromGguf(*made);
  CHECK(Texts(tokenizer, "hello world") == List{"▁hello", "▁world"});
  CHECK(Texts(tokenizer, "he") == List{"▁he"});
  CHECK(Texts(tokenizer, "hello", {}) == List{"<s>", "▁hello"});
  CHECK(Texts(tokenizer, "é") == List{"▁", "<0xC3>", "<0xA9>"});
  CHECK(tokenizer.Decode(*tokenizer.Encode("hello world", {.add_bos = false})) == "hello world");
}

TEST_CASE("a user-defined run of spaces matches spaces, and markers written out") {
  VocabularyForTests made;
  FillPieces(made);
  made->add_space_prefix = false;
  const Tokenizer tokenizer = *Tokenizer::FromGguf(*made);
  CHECK(Texts(tokenizer, "h  w") == List{"h", "  ", "w"});
  CHECK(Texts(tokenizer, "h▁▁w") == List{"h", "  ", "w"});
  CHECK(Texts(tokenizer, "\n\nh") == List{"\n\n", "h"});
}

TEST_CASE("Phi-3's control tokens take white space after them along") {
  VocabularyForTests made;
  FillPieces(made);
  made->general_name = "Phi3 mini";
  const Tokenizer tokenizer = *Tokenizer::FromGguf(*made);
  CHECK(Texts(tokenizer, "<end_of_turn> \nhe") == List{"<end_of_turn>", "▁he"});
  CHECK(Texts(tokenizer, "<s> he") == List{"<s>", "▁", "▁he"});
}

TEST_CASE("hard texts come back as they were") {
  VocabularyForTests merges;
  FillMerges(merges);
  VocabularyForTests pieces;
  FillPieces(pieces);
  pieces->add_space_prefix = false;  // it adds spaces after user-defined tokens, too
  const Tokenizer of_merges = *Tokenizer::FromGguf(*merges);
  const Tokenizer of_pieces = *Tokenizer::FromGguf(*pieces);
  for (std::string_view text : kHardTexts) {
    CHECK(of_merges.Decode(*of_merges.Encode(text, {.add_bos = false})) == text);
    // A marker in the text can't be told from a space.
    if (text.find("▁") != std::string_view::npos) continue;
    CHECK(of_pieces.Decode(*of_pieces.Encode(text, {.add_bos = false})) == text);
  }
}

TEST_CASE("Gemma 4's merges work on markers instead of the byte alphabet") {
  VocabularyForTests made;
  made->where = "test.gguf";
  made->model = "gemma4";
  made->bos_id = made.Add("<bos>", GgufTokenType::kControl).value();
  made.AddFallbackBytes();
  for (const char* letter : {"▁", "h", "i", "\n"}) made.Add(letter);
  made.AddMerge("h", "i");
  made.AddMerge("▁", "hi");
  made.AddMerge("\n", "\n");
  const Tokenizer tokenizer = *Tokenizer::FromGguf(*made);
  CHECK(Texts(tokenizer, "hi hi\n\né", {}) ==
        List{"<bos>", "hi", "▁hi", "\n\n", "<0xC3>", "<0xA9>"});
  CHECK(tokenizer.Decode(*tokenizer.Encode("hi hi\n\né", {.add_bos = false})) == "hi hi\n\né");
}

}  // namespace
}  // namespace cairn
