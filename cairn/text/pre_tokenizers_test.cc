#include "cairn/text/pre_tokenizers.h"

#include <doctest/doctest.h>

#include "cairn/text/tokenizer.h"
#include "cairn/text/vocabularies_for_tests.h"

namespace cairn {
namespace {

// The names in the error for an unknown one.
std::vector<std::string> KnownNames() {
  const std::string message = FindPreTokenizer("?").error().message;
  std::vector<std::string> names;
  size_t begin = message.find("known are ") + std::string("known are ").size();
  while (begin < message.size()) {
    const size_t end = std::min(message.find(", ", begin), message.size());
    names.push_back(message.substr(begin, end - begin));
    begin = end + 2;
  }
  return names;
}

// Token texts of `text` under a pre-tokenizer, for a vocabulary of single bytes and of some words:
// what becomes one token was one part.
std::vector<std::string> Parts(const std::string& pre, std::string_view text) {
  VocabularyForTests made;
  FillMerges(made);
  made->pre = pre;
  for (const char* digit : {"1", "2", "3"}) made.AddMerge("1", digit);
  made.AddMerge("11", "1");
  made.AddMerge("'", "s");
  made.AddMerge("'", "S");
  made.AddMerge("Ġ", "Ġ");
  const Tokenizer tokenizer = *Tokenizer::FromGguf(*made);
  std::vector<std::string> parts;
  const auto ids = tokenizer.Encode(text, {.add_bos = false});
  for (TokenId id : *ids) parts.emplace_back(tokenizer.TokenText(id));
  return parts;
}

TEST_CASE("every known pre-tokenizer has patterns that work and loses no text") {
  const std::vector<std::string> names = KnownNames();
  CHECK(names.size() > 60);
  const std::string text = "Hello  world's\r\n\n 1234 x_y!! \t日本 it'S <a> ½ 🙂";
  for (const std::string& name : names) {
    CAPTURE(name);
    if (!(*FindPreTokenizer(name))->byte_level) continue;
    VocabularyForTests made;
    FillMerges(made);
    made->pre = name;
    const auto tokenizer = Tokenizer::FromGguf(*made);
    REQUIRE(tokenizer.has_value());
    CHECK(tokenizer->Decode(*tokenizer->Encode(text, {.add_bos = false})) == text);
  }
}

TEST_CASE("digits are grouped as the name says") {
  using List = std::vector<std::string>;
  CHECK(Parts("gpt-2", "1111") == List{"11", "11"});
  CHECK(Parts("llama-bpe", "1111") == List{"111", "1"});
  CHECK(Parts("smollm", "1111") == List{"1", "1", "1", "1"});
  CHECK(Parts("qwen2", "11") == List{"1", "1"});
  CHECK(Parts("deepseek-v3", "1111") == List{"111", "1"});
}

TEST_CASE("only some take upper case contractions as one part") {
  using List = std::vector<std::string>;
  CHECK(Parts("gpt-2", "'s'S") == List{"'s", "'", "S"});
  CHECK(Parts("qwen2", "'s'S") == List{"'s", "'S"});
}

TEST_CASE("no name is the default's, and an unknown name is told with the known ones") {
  CHECK((*FindPreTokenizer(""))->name == "default");
  const Error error = FindPreTokenizer("made-up").error();
  CHECK(error.code == ErrorCode::kUnsupported);
  CHECK(error.message.find("\"made-up\"") != std::string::npos);
  CHECK(error.message.find("llama-bpe") != std::string::npos);
}

}  // namespace
}  // namespace cairn
