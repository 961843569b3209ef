// The pre-tokenizers that a GGUF file names in tokenizer.ggml.pre, for byte pair encodings with a
// list of merges. The file has only the name; what it means is known here.
//
// The patterns are those of each model's tokenizer.json; names and groups follow llama.cpp's
// src/llama-vocab.cpp. Where the original normalizes to NFC, so does the row here.
#ifndef CAIRN_TEXT_PRE_TOKENIZERS_H_
#define CAIRN_TEXT_PRE_TOKENIZERS_H_

#include <span>
#include <string>
#include <string_view>

#include "cairn/base/status.h"

namespace cairn {

struct PreTokenizer {
  std::string_view name;
  // The text is split by each in turn; matches and what lies between them become parts.
  std::span<const std::string_view> patterns;
  bool nfc = false;            // the text is normalized first
  bool ignore_merges = false;  // a part that is a token is that token
  bool add_bos = false;        // where the file doesn't say
  // False: no byte alphabet; spaces become U+2581 and unknown bytes tokens like <0x0A>.
  bool byte_level = true;
};

// "" is the pre-tokenizer "default". An unknown name is an error that lists the known ones.
Result<const PreTokenizer*> FindPreTokenizer(std::string_view name);

// The settings that RustTokenizer::FromBpe takes.
std::string SettingsJson(const PreTokenizer& pre_tokenizer);

}  // namespace cairn

#endif  // CAIRN_TEXT_PRE_TOKENIZERS_H_
