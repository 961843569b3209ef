// Finds the tokens that are matched in the text itself, before any merging: control tokens such
// as <bos>, and user-defined ones such as runs of newlines.
//
// At every position the longest matching token wins; earlier positions win over later ones.
// Thread safety: immutable after it was filled.
#ifndef CAIRN_TEXT_SPECIAL_TOKENS_H_
#define CAIRN_TEXT_SPECIAL_TOKENS_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "cairn/base/ids.h"

namespace cairn {

class SpecialTokens {
 public:
  struct Entry {
    TokenId id;
    bool control;       // matched only where special tokens are parsed
    bool strips_right;  // takes the white space after it along
  };

  // A part of a text: a token, or plain text between tokens.
  struct Part {
    std::optional<TokenId> id;
    std::string_view text;
  };

  // Empty texts and texts that are already there are left out.
  void Add(std::string_view text, Entry entry);

  // The parts lie in `text`; none is empty text.
  std::vector<Part> Split(std::string_view text, bool parse_control) const;

 private:
  struct Match {
    const Entry* entry;
    size_t size;
  };
  std::optional<Match> LongestAt(std::string_view text, bool parse_control) const;

  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  std::unordered_map<std::string, Entry, Hash, std::equal_to<>> entries_;
  // The sizes of the tokens that begin with a byte, longest first.
  std::array<std::vector<uint32_t>, 256> sizes_by_first_byte_;
};

}  // namespace cairn

#endif  // CAIRN_TEXT_SPECIAL_TOKENS_H_
