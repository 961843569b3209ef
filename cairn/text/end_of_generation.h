// Which tokens end an answer. Files name one or two; chat models also use others, known by their
// texts.
#ifndef CAIRN_TEXT_END_OF_GENERATION_H_
#define CAIRN_TEXT_END_OF_GENERATION_H_

#include <vector>

#include "cairn/base/ids.h"
#include "cairn/text/token_table.h"

namespace cairn {

// `named` (what the file says) and the special tokens whose text is a well-known end of a turn or
// of a text; sorted, no doubles.
std::vector<TokenId> EndOfGenerationTokens(const TokenTable& table, std::vector<TokenId> named);

}  // namespace cairn

#endif  // CAIRN_TEXT_END_OF_GENERATION_H_
