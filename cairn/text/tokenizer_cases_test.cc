// Real tokenizers on awkward strings, against what Hugging Face's library makes of them
// (tests/tokenizers), once from tokenizer.json and once in the form that a GGUF file has.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>

#include "cairn/base/env.h"
#include "cairn/text/stop_strings.h"
#include "cairn/text/tokenizer.h"
#include "cairn/text/utf8.h"
#include "cairn/text/vocabularies_for_tests.h"

namespace cairn {
namespace {

using Json = nlohmann::json;

constexpr size_t kMaxFileBytes = size_t{1} << 28;
constexpr const char* kNames[] = {"qwen3", "gemma3", "llama3", "deepseek_v3", "gptoss"};

// The bytes of a tokenizer.json; empty, with a message, where it is absent.
std::string ReadTokenizerJson(const std::string& name) {
  const char* folder = std::getenv("CAIRN_TOKENIZERS");
  const std::string path =
      fmt::format("{}/{}/tokenizer.json", folder ? folder : "models/tokenizers", name);
  if (!FileExists(path)) {
    MESSAGE("skipped: there is no ", path, " (make tokenizers brings it)");
    return {};
  }
  return *ReadFile(path, kMaxFileBytes);
}

Json ReadCases(const std::string& name) {
  const std::string path = fmt::format("tests/tokenizers/{}/tokenizer_cases.json", name);
  return Json::parse(*ReadFile(path, kMaxFileBytes));
}

std::vector<TokenId> ToIds(const Json& array) {
  std::vector<TokenId> ids;
  for (const Json& id : array) ids.push_back(TokenId(id.get<int32_t>()));
  return ids;
}

void CheckStreaming(const Tokenizer& tokenizer, const std::vector<TokenId>& ids,
                    const std::string& decoded) {
  StreamDecoder decoder(tokenizer.table());
  StopStrings stops = *StopStrings::Create({"\x01never\x02", decoded + "\x01"});
  std::string streamed;
  std::string stopped;
  for (TokenId id : ids) {
    const std::string piece = decoder.Push(id);
    CHECK(FindInvalidUtf8(piece) == std::string_view::npos);
    streamed += piece;
    stopped += stops.Push(piece);
  }
  const std::string rest = decoder.Flush();
  CHECK(streamed + rest == decoded);
  stopped += stops.Push(rest);
  CHECK(stopped + stops.Flush() == decoded);
}

void CheckCases(const Tokenizer& tokenizer, const Json& document) {
  for (const Json& test : document["cases"]) {
    CAPTURE(test["label"].get<std::string>());
    const auto text = test["text"].get<std::string>();
    const std::vector<TokenId> ids = ToIds(test["ids"]);
    CHECK(*tokenizer.Encode(text, {.add_bos = false}) == ids);
    CHECK(*tokenizer.Encode(text) == ToIds(test["ids_with_special_tokens"]));
    CHECK(tokenizer.Decode(ids) == test["decoded"].get<std::string>());
    CHECK(tokenizer.Decode(ToIds(test["ids_with_special_tokens"]), {.skip_special = true}) ==
          test["decoded_skip_special_tokens"].get<std::string>());
    CheckStreaming(tokenizer, ids, test["decoded"].get<std::string>());
  }
  for (const Json& test : document["decode_only"]) {
    CHECK(tokenizer.Decode(ToIds(test["ids"])) == test["decoded"].get<std::string>());
  }
}

// Byte tokens such as <0xE2> that don't make a character are one U+FFFD each in the library, one
// together here. Only prefixes that end inside a character show it.
void CheckPrefixes(const Tokenizer& tokenizer, const Json& document) {
  const bool has_byte_tokens = document["model"]["byte_fallback"].get<bool>();
  for (const Json& test : document["streaming"]) {
    const std::vector<TokenId> ids = ToIds(test["ids"]);
    for (size_t size = 1; size <= ids.size(); ++size) {
      const auto expected = test["decoded_prefixes"][size - 1].get<std::string>();
      if (has_byte_tokens && expected.ends_with("\uFFFD")) continue;
      CHECK(tokenizer.Decode({ids.data(), size}) == expected);
    }
  }
}

struct GgufForm {
  const char* name;
  const char* model;
  const char* pre;
};

constexpr GgufForm kGgufForms[] = {{"qwen3", "gpt2", "qwen2"},
                                   {"gemma3", "llama", "default"},
                                   {"llama3", "gpt2", "llama-bpe"},
                                   {"deepseek_v3", "gpt2", "deepseek-v3"},
                                   {"gptoss", "gpt2", "gpt-4o"}};

GgufTokenType TypeOf(const std::string& text, const Json* added, bool pieces) {
  if (added != nullptr) {
    return (*added)["special"].get<bool>() ? GgufTokenType::kControl : GgufTokenType::kUserDefined;
  }
  const bool byte = pieces && text.size() == 6 && text.starts_with("<0x");
  return byte ? GgufTokenType::kByte : GgufTokenType::kNormal;
}

// What a converter writes into a GGUF file: texts by id, types, merges; for pieces scores that
// follow the ids, as SentencePiece numbers them.
void FillFromJson(const Json& json, const GgufForm& form, VocabularyForTests& made) {
  const bool pieces = std::string_view(form.model) == "llama";
  std::vector<std::string> texts;
  std::vector<const Json*> added;
  const auto put = [&](size_t id, const std::string& text, const Json* entry) {
    texts.resize(std::max(texts.size(), id + 1));
    added.resize(texts.size());
    texts[id] = text;
    added[id] = entry;
  };
  for (const auto& [text, id] : json["model"]["vocab"].items())
    put(id.get<size_t>(), text, nullptr);
  for (const Json& entry : json["added_tokens"]) {
    put(entry["id"].get<size_t>(), entry["content"].get<std::string>(), &entry);
  }
  for (size_t id = 0; id < texts.size(); ++id) {
    const GgufTokenType type = TypeOf(texts[id], added[id], pieces);
    std::string& text = texts[id];
    // Converters write the markers of user-defined pieces as the spaces that they stand for.
    const bool marked = pieces && type == GgufTokenType::kUserDefined;
    for (size_t at = 0; marked && (at = text.find("▁", at)) != std::string::npos;) {
      text.replace(at, std::string_view("▁").size(), " ");
    }
    made.Add(text, type, -static_cast<float>(id));
  }
  made->where = form.name;
  made->model = form.model;
  made->pre = form.pre;
  made->add_space_prefix = false;
  made->add_bos = false;
}

std::vector<std::string> MergesOf(const Json& json) {
  std::vector<std::string> merges;
  for (const Json& merge : json["model"]["merges"]) {
    merges.push_back(merge.is_string()
                         ? merge.get<std::string>()
                         : merge[0].get<std::string>() + " " + merge[1].get<std::string>());
  }
  return merges;
}

TEST_CASE(
    "awkward strings have the library's ids and decode to its texts, all at once or streamed") {
  for (const char* name : kNames) {
    CAPTURE(name);
    const std::string bytes = ReadTokenizerJson(name);
    if (bytes.empty()) continue;
    const auto tokenizer = Tokenizer::FromTokenizerJson(bytes, name);
    REQUIRE(tokenizer.has_value());
    const Json document = ReadCases(name);
    CHECK(tokenizer->vocab_size() == document["vocab_size"].get<int64_t>());
    CheckCases(*tokenizer, document);
    CheckPrefixes(*tokenizer, document);
  }
}

TEST_CASE("the same tokenizers as GGUF metadata give the same ids and texts") {
  for (const GgufForm& form : kGgufForms) {
    CAPTURE(form.name);
    const std::string bytes = ReadTokenizerJson(form.name);
    if (bytes.empty()) continue;
    const Json json = Json::parse(bytes);
    VocabularyForTests made;
    FillFromJson(json, form, made);
    const std::vector<std::string> merges = MergesOf(json);
    made->merges.assign(merges.begin(), merges.end());
    const auto tokenizer = Tokenizer::FromGguf(*made);
    REQUIRE(tokenizer.has_value());
    for (const Json& test : ReadCases(form.name)["cases"]) {
      CAPTURE(test["label"].get<std::string>());
      const auto ids = tokenizer->Encode(test["text"].get<std::string>());
      CHECK(*ids == ToIds(test["ids"]));
      CHECK(tokenizer->Decode(*ids) == test["decoded"].get<std::string>());
    }
  }
}

TEST_CASE("special tokens stay text when they are not parsed") {
  const std::string bytes = ReadTokenizerJson("qwen3");
  if (bytes.empty()) return;
  const auto tokenizer = Tokenizer::FromTokenizerJson(bytes, "qwen3");
  const std::string_view text = "a<|im_end|>b";
  const auto parsed = tokenizer->Encode(text);
  const auto plain = tokenizer->Encode(text, {.parse_special = false});
  CHECK(parsed->size() == 3);
  CHECK(plain->size() > 3);
  for (TokenId id : *plain) CHECK_FALSE(tokenizer->IsSpecial(id));
  CHECK(tokenizer->Decode(*plain) == text);
}

}  // namespace
}  // namespace cairn
