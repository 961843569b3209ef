// The encoders of GGUF vocabularies, and their token tables.
#ifndef CAIRN_TEXT_GGUF_ENCODERS_H_
#define CAIRN_TEXT_GGUF_ENCODERS_H_

#include <memory>

#include "cairn/base/status.h"
#include "cairn/text/gguf_vocabulary.h"
#include "cairn/text/pre_tokenizers.h"
#include "cairn/text/text_encoder.h"
#include "cairn/text/token_table.h"

namespace cairn {

struct GgufEncoder {
  std::unique_ptr<const TextEncoder> encoder;
  TokenTable table;
};

// A byte pair encoding with a list of merges.
Result<GgufEncoder> MergesFromGguf(const GgufVocabulary& vocabulary,
                                   const PreTokenizer& pre_tokenizer);

// SentencePiece-like: pieces with scores.
Result<GgufEncoder> PiecesFromGguf(const GgufVocabulary& vocabulary);

}  // namespace cairn

#endif  // CAIRN_TEXT_GGUF_ENCODERS_H_
