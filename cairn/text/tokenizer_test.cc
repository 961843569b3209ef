#include "cairn/text/tokenizer.h"

#include <doctest/doctest.h>

#include <atomic>
#include <thread>

#include "cairn/base/temp_folder_for_tests.h"
#include "cairn/text/vocabularies_for_tests.h"

namespace cairn {
namespace {

using Ids = std::vector<TokenId>;

// Letters, "ab", and the special tokens <s> and </s>; the post-processor puts <s> in front.
constexpr std::string_view kJson = R"({
  "version": "1.0", "truncation": null, "padding": null,
  "added_tokens": [
    {"id": 3, "content": "<s>", "single_word": false, "lstrip": false, "rstrip": false,
     "normalized": false, "special": true},
    {"id": 4, "content": "</s>", "single_word": false, "lstrip": false, "rstrip": false,
     "normalized": false, "special": true}],
  "normalizer": null,
  "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true,
                    "use_regex": true},
  "post_processor": {"type": "TemplateProcessing",
    "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}},
               {"Sequence": {"id": "A", "type_id": 0}}],
    "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
    "special_tokens": {"<s>": {"id": "<s>", "ids": [3], "tokens": ["<s>"]}}},
  "decoder": {"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true,
              "use_regex": true},
  "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": [["a", "b"]]}})";

Status WriteText(const std::string& path, std::string_view text) {
  return WriteFileAtomically(path, std::as_bytes(std::span(text)));
}

TEST_CASE("a tokenizer.json puts around a text what its post-processor says") {
  const auto tokenizer = Tokenizer::FromTokenizerJson(kJson, "t.json");
  REQUIRE(tokenizer.has_value());
  CHECK(*tokenizer->Encode("ab") == Ids{TokenId(3), TokenId(2)});
  CHECK(*tokenizer->Encode("ab", {.add_bos = false}) == Ids{TokenId(2)});
  CHECK(*tokenizer->Encode("") == Ids{TokenId(3)});
  CHECK(tokenizer->vocab_size() == 5);
  CHECK(tokenizer->Decode(*tokenizer->Encode("ab"), {.skip_special = true}) == "ab");
}

TEST_CASE("an error of a tokenizer.json names its source") {
  const auto tokenizer = Tokenizer::FromTokenizerJson("{}", "some/tokenizer.json");
  CHECK(tokenizer.error().message.starts_with("some/tokenizer.json: "));
  CHECK(tokenizer.error().code == ErrorCode::kCorrupt);
}

TEST_CASE("text that is no UTF-8 is an error that says where") {
  const auto tokenizer = Tokenizer::FromTokenizerJson(kJson, "t.json");
  VocabularyForTests made;
  FillPieces(made);
  const auto of_pieces = Tokenizer::FromGguf(*made);
  for (const auto* each : {&*tokenizer, &*of_pieces}) {
    for (const char* text : {"ab\xFF", "ab\xC3", "ab\xED\xA0\x80"}) {
      const auto ids = each->Encode(text);
      REQUIRE_FALSE(ids.has_value());
      CHECK(ids.error().message.find("offset 2") != std::string::npos);
    }
  }
}

TEST_CASE("BOS comes in front when it is asked for, and is an error where there is none") {
  VocabularyForTests made;
  FillMerges(made);
  CHECK(Tokenizer::FromGguf(*made)->Encode("h")->size() == 1);
  CHECK(Tokenizer::FromGguf(*made)->Encode("h", {.add_bos = true})->size() == 2);
  made->bos_id = std::nullopt;
  CHECK_FALSE(Tokenizer::FromGguf(*made)->Encode("h", {.add_bos = true}).has_value());
}

TEST_CASE("a GGUF file's own rule for BOS and EOS is followed") {
  VocabularyForTests made;
  FillMerges(made);
  made->add_bos = true;
  made->add_eos = true;
  const auto tokenizer = Tokenizer::FromGguf(*made);
  const auto ids = tokenizer->Encode("h");
  REQUIRE(ids->size() == 3);
  CHECK(ids->front() == tokenizer->bos());
  CHECK(ids->back() == tokenizer->eos());
  made->add_eos = std::nullopt;
  made->add_bos = std::nullopt;
  made->pre = "llama-bpe";
  CHECK(Tokenizer::FromGguf(*made)->Encode("h")->size() == 2);
}

TEST_CASE("a rendered chat gets BOS once, and no EOS") {
  VocabularyForTests made;
  FillPieces(made);
  made->add_eos = true;
  const auto tokenizer = Tokenizer::FromGguf(*made);
  const auto with = tokenizer->EncodeChat("<s>hello");
  const auto without = tokenizer->EncodeChat("hello");
  CHECK(*with == *without);
  CHECK(with->size() == 2);
  made->add_bos = false;
  CHECK(Tokenizer::FromGguf(*made)->EncodeChat("hello")->size() == 1);
}

TEST_CASE("several threads may use one tokenizer") {
  VocabularyForTests made;
  FillMerges(made);
  const auto tokenizer = Tokenizer::FromGguf(*made);
  const auto expected = tokenizer->Encode("hello world <tool> hello");
  std::atomic<int> equal = 0;
  {
    std::vector<std::jthread> threads;
    threads.reserve(4);
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] {
        for (int round = 0; round < 100; ++round) {
          equal += *tokenizer->Encode("hello world <tool> hello") == *expected;
        }
      });
    }
  }
  CHECK(equal == 400);
}

TEST_CASE("the ends of an answer are EOS, what the file names, and what is known") {
  VocabularyForTests made;
  FillPieces(made);
  made->eot_id = made.Add("<eot>", GgufTokenType::kControl).value();
  const auto tokenizer = Tokenizer::FromGguf(*made);
  std::vector<std::string> ends;
  for (TokenId id : tokenizer->end_of_generation()) ends.emplace_back(tokenizer->TokenText(id));
  CHECK(ends == std::vector<std::string>{"</s>", "<end_of_turn>", "<eot>"});
  CHECK(tokenizer->IsEndOfGeneration(TokenId(2)));
  CHECK_FALSE(tokenizer->IsEndOfGeneration(TokenId(1)));
  CHECK_FALSE(tokenizer->IsEndOfGeneration(TokenId(-1)));
}

TEST_CASE("a folder's other files name the special tokens and the chat template") {
  const TempFolder folder;
  REQUIRE(WriteText(folder.File("tokenizer.json"), kJson));
  REQUIRE(WriteText(folder.File("tokenizer_config.json"),
                    R"({"bos_token": {"content": "<s>"}, "eos_token": "</s>",
                        "add_bos_token": false, "add_eos_token": true,
                        "chat_template": [{"name": "default", "template": "A"},
                                          {"name": "tool_use", "template": "B"}, {"name": 1}]})"));
  REQUIRE(WriteText(folder.File("generation_config.json"), R"({"eos_token_id": [1, 4, -1, 99]})"));
  const auto tokenizer = Tokenizer::FromFolder(folder.path());
  REQUIRE(tokenizer.has_value());
  CHECK(tokenizer->bos() == TokenId(3));
  CHECK(tokenizer->eos() == TokenId(4));
  CHECK(*tokenizer->Encode("ab") == Ids{TokenId(2), TokenId(4)});
  CHECK(tokenizer->IsEndOfGeneration(TokenId(1)));
  REQUIRE(tokenizer->chat_templates().size() == 2);
  CHECK(tokenizer->chat_templates()[1].source == "B");
  REQUIRE(WriteText(folder.File("chat_template.jinja"), "C"));
  CHECK(Tokenizer::FromFolder(folder.path())->chat_templates().at(0).source == "C");
}

TEST_CASE("a folder with a tokenizer.json alone is enough") {
  const TempFolder folder;
  REQUIRE(WriteText(folder.File("tokenizer.json"), kJson));
  REQUIRE(WriteText(folder.File("config.json"), R"({"bos_token_id": 3, "eos_token_id": 4})"));
  const auto tokenizer = Tokenizer::FromFolder(folder.path());
  REQUIRE(tokenizer.has_value());
  CHECK(*tokenizer->Encode("ab") == Ids{TokenId(3), TokenId(2)});
  CHECK(tokenizer->eos() == TokenId(4));
  CHECK(tokenizer->chat_templates().empty());
}

TEST_CASE("a folder's mistakes are errors that name the file") {
  const TempFolder folder;
  CHECK(Tokenizer::FromFolder(folder.path()).error().code == ErrorCode::kNotFound);
  REQUIRE(WriteText(folder.File("tokenizer.json"), kJson));
  for (const char* text : {"{", "[]", "\"x\"", "{\"a\": \xFF}"}) {
    REQUIRE(WriteText(folder.File("tokenizer_config.json"), text));
    const auto tokenizer = Tokenizer::FromFolder(folder.path());
    REQUIRE_FALSE(tokenizer.has_value());
    CHECK(tokenizer.error().message.find("tokenizer_config.json") != std::string::npos);
  }
  // Members of a wrong type count as absent.
  REQUIRE(WriteText(folder.File("tokenizer_config.json"),
                    R"({"bos_token": 1, "eos_token": {"content": []}, "add_bos_token": "x",
                        "chat_template": 7})"));
  CHECK(Tokenizer::FromFolder(folder.path()).has_value());
}

}  // namespace
}  // namespace cairn
