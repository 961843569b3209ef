// The text encoder of SentencePiece-like vocabularies: tokens that are matched in the text, and
// merging by score in between.
//
// Spaces become U+2581. With add_space_prefix a text, and text after a matched token, begins as if
// there were a space in front; with remove_extra_whitespaces runs of spaces count as one and those
// at both ends of a text as none.
#ifndef CAIRN_TEXT_PIECE_ENCODER_H_
#define CAIRN_TEXT_PIECE_ENCODER_H_

#include <string>
#include <utility>

#include "cairn/text/piece_merger.h"
#include "cairn/text/special_tokens.h"
#include "cairn/text/text_encoder.h"

namespace cairn {

struct PieceSpaces {
  bool add_space_prefix = false;
  bool remove_extra_whitespaces = false;
};

class PieceEncoder : public TextEncoder {
 public:
  PieceEncoder(SpecialTokens special_tokens, PieceMerger merger, PieceSpaces spaces)
      : special_tokens_(std::move(special_tokens)), merger_(std::move(merger)), spaces_(spaces) {}

  Result<std::vector<TokenId>> Encode(std::string_view text, bool parse_special) const override;

 private:
  std::string WithMarkers(std::string_view text) const;

  SpecialTokens special_tokens_;
  PieceMerger merger_;
  PieceSpaces spaces_;
};

}  // namespace cairn

#endif  // CAIRN_TEXT_PIECE_ENCODER_H_
