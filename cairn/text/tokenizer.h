// A model's tokenizer: text to token ids and back.
//
// It comes from a tokenizer.json (Hugging Face), or from the metadata of a GGUF file. Which
// algorithm is inside is nobody else's business.
// Invariants: Encode never returns an id outside 0..vocab_size()-1; Decode always returns UTF-8.
// Thread safety: immutable; all members may be called from several threads.
#ifndef CAIRN_TEXT_TOKENIZER_H_
#define CAIRN_TEXT_TOKENIZER_H_

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cairn/base/ids.h"
#include "cairn/base/status.h"
#include "cairn/text/gguf_vocabulary.h"
#include "cairn/text/stream_decoder.h"
#include "cairn/text/text_encoder.h"
#include "cairn/text/token_table.h"

namespace cairn {

struct EncodeOptions {
  // Put BOS in front? Absent: what the tokenizer does by itself (which may include EOS behind).
  std::optional<bool> add_bos = std::nullopt;
  // Does the text of a special token, such as <|im_end|>, stand for that token?
  bool parse_special = true;
};

// A chat template in Jinja, and its name where a model has several ("default" is the usual one).
struct NamedTemplate {
  std::string name;
  std::string source;
};

// What a tokenizer is made of, whatever it comes from.
struct TokenizerParts {
  static Result<TokenizerParts> FromTokenizerJson(std::string_view json, std::string_view where);

  std::unique_ptr<const TextEncoder> encoder;
  TokenTable table;
  std::optional<TokenId> bos;
  std::optional<TokenId> eos;
  // What the tokenizer by itself puts in front of a text and behind it.
  std::vector<TokenId> prefix;
  std::vector<TokenId> suffix;
  // Tokens that end an answer, besides `eos` and those that are known by their texts.
  std::vector<TokenId> ends;
  std::vector<NamedTemplate> chat_templates;
};

class Tokenizer {
 public:
  explicit Tokenizer(TokenizerParts parts);

  // `where` names the source in error messages.
  static Result<Tokenizer> FromTokenizerJson(std::string_view json, std::string_view where);
  // A Hugging Face folder: tokenizer.json and, where they exist, tokenizer_config.json,
  // special_tokens_map.json, generation_config.json, config.json and chat_template.jinja.
  static Result<Tokenizer> FromFolder(const std::string& folder);
  static Result<Tokenizer> FromGguf(const GgufVocabulary& vocabulary);

  // `text` must be UTF-8.
  Result<std::vector<TokenId>> Encode(std::string_view text,
                                      const EncodeOptions& options = {}) const;
  // A rendered chat template: the tokenizer's own BOS goes in front only if it isn't there yet.
  Result<std::vector<TokenId>> EncodeChat(std::string_view rendered) const;

  // Ids without a token are left out. StreamDecoder does the same piece by piece.
  std::string Decode(std::span<const TokenId> ids, DecodeOptions options = {}) const;

  // The token as the vocabulary writes it ("Ġhello", "▁hello", "<0x0A>").
  std::string_view TokenText(TokenId id) const { return table_.Text(id); }
  // What the token adds to decoded text; may be a part of a character.
  std::string_view TokenBytes(TokenId id) const { return table_.Bytes(id); }
  bool IsSpecial(TokenId id) const { return table_.IsSpecial(id); }
  bool IsEndOfGeneration(TokenId id) const;
  std::span<const TokenId> end_of_generation() const { return end_of_generation_; }

  int64_t vocab_size() const { return table_.size(); }
  std::optional<TokenId> bos() const { return bos_; }
  std::optional<TokenId> eos() const { return eos_; }
  const TokenTable& table() const { return table_; }
  const std::vector<NamedTemplate>& chat_templates() const { return chat_templates_; }

 private:
  std::unique_ptr<const TextEncoder> encoder_;
  TokenTable table_;
  std::optional<TokenId> bos_;
  std::optional<TokenId> eos_;
  std::vector<TokenId> prefix_;
  std::vector<TokenId> suffix_;
  std::vector<TokenId> end_of_generation_;  // sorted
  std::vector<NamedTemplate> chat_templates_;
};

}  // namespace cairn

#endif  // CAIRN_TEXT_TOKENIZER_H_
