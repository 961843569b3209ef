// What every token id of a vocabulary is: its own text, the bytes it adds to decoded text, and
// whether it is special.
//
// Invariants: ids run from 0 to size()-1; an id without a token, and every id outside, has empty
// text and bytes. Decoding a sequence is the concatenation of its tokens' bytes, except that the
// first leading_spaces_dropped() bytes of a text are left out if they are spaces.
// Thread safety: immutable after it was filled.
#ifndef CAIRN_TEXT_TOKEN_TABLE_H_
#define CAIRN_TEXT_TOKEN_TABLE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cairn/base/ids.h"

namespace cairn {

class TokenTable {
 public:
  // Reads the records of rust/text/src/decoding.rs.
  static TokenTable FromRecords(std::string_view records);

  explicit TokenTable(int leading_spaces_dropped = 0)
      : leading_spaces_dropped_(leading_spaces_dropped) {}

  // Appends the next id.
  void Add(std::string_view text, std::string_view bytes, bool special);

  int64_t size() const { return static_cast<int64_t>(records_.size()); }
  int leading_spaces_dropped() const { return leading_spaces_dropped_; }
  std::string_view Text(TokenId id) const;
  std::string_view Bytes(TokenId id) const;
  bool IsSpecial(TokenId id) const;
  // The first token with this text, which isn't empty; walks over all tokens.
  std::optional<TokenId> FindText(std::string_view text) const;

 private:
  struct Record {
    uint64_t offset;  // of the text; the bytes follow it
    uint32_t text_size;
    uint32_t bytes_size;
    bool special;
  };
  const Record* Find(TokenId id) const;

  std::string storage_;
  std::vector<Record> records_;
  int leading_spaces_dropped_;
};

}  // namespace cairn

#endif  // CAIRN_TEXT_TOKEN_TABLE_H_
