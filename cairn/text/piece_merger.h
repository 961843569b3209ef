// SentencePiece's byte pair encoding: pieces with scores, no list of merges.
//
// The text's characters are merged pairwise: among all neighbours whose concatenation is a piece,
// the pair with the highest score (of equal ones the leftmost) becomes one symbol, until none is
// left. A character that is no piece becomes its UTF-8 bytes' tokens, or else the unknown token.
// Because the order is a property of the pieces, nothing has to be built at load but one index.
// Thread safety: immutable after it was filled.
#ifndef CAIRN_TEXT_PIECE_MERGER_H_
#define CAIRN_TEXT_PIECE_MERGER_H_

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "cairn/base/ids.h"

namespace cairn {

class PieceMerger {
 public:
  struct Piece {
    std::string_view text;
    TokenId id;
    float score;
  };

  // Copies the texts. Empty ones are left out, and so are texts that came before. A score that is
  // no number counts as the lowest.
  explicit PieceMerger(std::span<const Piece> pieces);
  PieceMerger(PieceMerger&&) = default;  // a copy would look into the storage of the original
  PieceMerger& operator=(PieceMerger&&) = default;

  void SetByteToken(uint8_t byte, TokenId id) { byte_tokens_[byte] = id; }
  void SetUnknownToken(TokenId id) { unknown_ = id; }

  // True if every text gets a token for every character.
  bool CoversAllText() const;

  // Appends the tokens of valid UTF-8 `text`, at most kMaxTextBytes long. Bytes without a token
  // are left out.
  void Encode(std::string_view text, std::vector<TokenId>& ids) const;

  static constexpr size_t kMaxTextBytes = size_t{1} << 30;

 private:
  struct Work;

  // A place of the index.
  struct Slot {
    uint32_t hash = 0;
    uint32_t piece = 0;  // index in pieces_ plus one; 0: nothing here
  };

  // Index of the text's slot, or of the free one where it would be.
  size_t SlotOf(std::string_view text, uint32_t hash) const;
  const Piece* Find(std::string_view text) const;
  void AppendSymbol(std::string_view symbol, std::vector<TokenId>& ids) const;

  std::vector<char> storage_;  // the texts of pieces_
  std::vector<Piece> pieces_;
  std::vector<Slot> slots_;  // a power of two, at most half of them taken; open addressing
  size_t longest_piece_bytes_ = 0;
  std::array<std::optional<TokenId>, 256> byte_tokens_;
  std::optional<TokenId> unknown_;
};

}  // namespace cairn

#endif  // CAIRN_TEXT_PIECE_MERGER_H_
