#include "cairn/text/tokenizer.h"

#include <algorithm>

#include "cairn/text/end_of_generation.h"
#include "cairn/text/utf8.h"

namespace cairn {

Tokenizer::Tokenizer(TokenizerParts parts)
    : encoder_(std::move(parts.encoder)),
      table_(std::move(parts.table)),
      bos_(parts.bos),
      eos_(parts.eos),
      prefix_(std::move(parts.prefix)),
      suffix_(std::move(parts.suffix)),
      chat_templates_(std::move(parts.chat_templates)) {
  if (eos_) parts.ends.push_back(*eos_);
  end_of_generation_ = EndOfGenerationTokens(table_, std::move(parts.ends));
}

Result<std::vector<TokenId>> Tokenizer::Encode(std::string_view text,
                                               const EncodeOptions& options) const {
  if (const size_t offset = FindInvalidUtf8(text); offset != std::string_view::npos) {
    return Fail(ErrorCode::kInvalidArgument,
                "the text is not UTF-8: byte 0x{:02X} at offset {} can't be there",
                static_cast<uint8_t>(text[offset]), offset);
  }
  std::vector<TokenId> ids;
  if (!options.add_bos.has_value()) {
    ids = prefix_;
  } else if (*options.add_bos) {
    if (!bos_) {
      return Fail(ErrorCode::kInvalidArgument, "BOS is asked for, but this tokenizer has none");
    }
    ids.push_back(*bos_);
  }
  CAIRN_ASSIGN(const std::vector<TokenId> inner, encoder_->Encode(text, options.parse_special));
  ids.insert(ids.end(), inner.begin(), inner.end());
  if (!options.add_bos.has_value()) ids.insert(ids.end(), suffix_.begin(), suffix_.end());
  return ids;
}

Result<std::vector<TokenId>> Tokenizer::EncodeChat(std::string_view rendered) const {
  const bool adds_bos = bos_.has_value() && std::ranges::find(prefix_, *bos_) != prefix_.end();
  const bool has_bos = adds_bos && rendered.starts_with(table_.Text(*bos_));
  return Encode(rendered, {.add_bos = adds_bos && !has_bos, .parse_special = true});
}

std::string Tokenizer::Decode(std::span<const TokenId> ids, DecodeOptions options) const {
  StreamDecoder decoder(table_, options);
  std::string text;
  for (TokenId id : ids) text += decoder.Push(id);
  text += decoder.Flush();
  return text;
}

bool Tokenizer::IsEndOfGeneration(TokenId id) const {
  return std::ranges::binary_search(end_of_generation_, id);
}

}  // namespace cairn
