// The algorithm inside a Tokenizer that turns text into ids.
#ifndef CAIRN_TEXT_TEXT_ENCODER_H_
#define CAIRN_TEXT_TEXT_ENCODER_H_

#include <string_view>
#include <vector>

#include "cairn/base/ids.h"
#include "cairn/base/status.h"

namespace cairn {

class TextEncoder {
 public:
  virtual ~TextEncoder() = default;
  // `text` is UTF-8. Adds nothing around the text.
  virtual Result<std::vector<TokenId>> Encode(std::string_view text, bool parse_special) const = 0;
};

}  // namespace cairn

#endif  // CAIRN_TEXT_TEXT_ENCODER_H_
