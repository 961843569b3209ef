// The text encoder of the tokenizers crate.
#ifndef CAIRN_TEXT_RUST_ENCODER_H_
#define CAIRN_TEXT_RUST_ENCODER_H_

#include <utility>

#include "cairn/text/rust_bridge.h"
#include "cairn/text/text_encoder.h"

namespace cairn {

class RustEncoder : public TextEncoder {
 public:
  explicit RustEncoder(RustTokenizer tokenizer) : tokenizer_(std::move(tokenizer)) {}

  Result<std::vector<TokenId>> Encode(std::string_view text, bool parse_special) const override {
    return tokenizer_.Encode(text, {.add_special = false, .parse_special = parse_special});
  }

 private:
  RustTokenizer tokenizer_;
};

}  // namespace cairn

#endif  // CAIRN_TEXT_RUST_ENCODER_H_
