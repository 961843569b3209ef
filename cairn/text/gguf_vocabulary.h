// The tokenizer.* metadata of a GGUF file, as Tokenizer::FromGguf takes it.
//
// Nothing in it is trusted: array sizes may disagree, ids may lie outside, texts may be empty,
// doubled or no UTF-8. The views only have to live during the call.
#ifndef CAIRN_TEXT_GGUF_VOCABULARY_H_
#define CAIRN_TEXT_GGUF_VOCABULARY_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cairn {

// Values of tokenizer.ggml.token_type.
enum class GgufTokenType : int32_t {
  kUndefined = 0,
  kNormal = 1,
  kUnknown = 2,
  kControl = 3,
  kUserDefined = 4,
  kUnused = 5,
  kByte = 6,
};

// A member is empty (or absent) if the file doesn't have its key.
struct GgufVocabulary {
  std::string where;         // the file, for messages
  std::string general_name;  // general.name
  std::string model;         // tokenizer.ggml.model: "gpt2", "llama", ...
  std::string pre;           // tokenizer.ggml.pre: the name of a pre-tokenizer
  std::vector<std::string_view> tokens;
  std::vector<float> scores;
  std::vector<int32_t> token_types;
  std::vector<std::string_view> merges;
  std::optional<int64_t> bos_id;
  std::optional<int64_t> eos_id;
  std::optional<int64_t> eot_id;
  std::optional<int64_t> eom_id;
  std::optional<int64_t> unk_id;  // tokenizer.ggml.unknown_token_id
  std::optional<int64_t> pad_id;  // tokenizer.ggml.padding_token_id
  std::optional<bool> add_bos;
  std::optional<bool> add_eos;
  std::optional<bool> add_space_prefix;
  std::optional<bool> remove_extra_whitespaces;
  std::optional<std::string> chat_template;  // tokenizer.chat_template

  GgufTokenType TypeOf(size_t index) const {
    if (index >= token_types.size()) return GgufTokenType::kNormal;
    return static_cast<GgufTokenType>(token_types[index]);
  }
  bool IsControl(size_t index) const {
    const GgufTokenType type = TypeOf(index);
    return type == GgufTokenType::kControl || type == GgufTokenType::kUnknown;
  }
};

}  // namespace cairn

#endif  // CAIRN_TEXT_GGUF_VOCABULARY_H_
