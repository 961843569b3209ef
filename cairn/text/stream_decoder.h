// Turns tokens into text as they come, in complete characters only.
//
// Invariant: the texts of all Push calls and of the final Flush, joined, equal Tokenizer::Decode
// of all the tokens with the same options.
// Thread safety: none; one object per stream.
#ifndef CAIRN_TEXT_STREAM_DECODER_H_
#define CAIRN_TEXT_STREAM_DECODER_H_

#include <string>
#include <string_view>

#include "cairn/base/ids.h"
#include "cairn/text/token_table.h"
#include "cairn/text/utf8.h"

namespace cairn {

struct DecodeOptions {
  bool skip_special = false;
  // False when the tokens continue a text: a space in front of the first word is then kept where
  // the vocabulary would drop it.
  bool at_text_start = true;
};

class StreamDecoder {
 public:
  // `table` (Tokenizer::table()) must outlive the decoder.
  explicit StreamDecoder(const TokenTable& table, DecodeOptions options = {})
      : table_(&table),
        skip_special_(options.skip_special),
        spaces_to_drop_(options.at_text_start ? table.leading_spaces_dropped() : 0) {}

  // The characters that `id` completes; often empty. Ids without a token add nothing.
  std::string Push(TokenId id);
  // Ends the text: bytes of an unfinished character become U+FFFD.
  std::string Flush();

 private:
  const TokenTable* table_;
  bool skip_special_;
  int spaces_to_drop_;  // 0 once something else was seen
  Utf8Stream characters_;
};

}  // namespace cairn

#endif  // CAIRN_TEXT_STREAM_DECODER_H_
