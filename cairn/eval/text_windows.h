// TextWindows: pieces of a text as a model reads them, one behind the other.
//
// As llama.cpp's perplexity has it: the tokens of the whole text are cut into windows of equal
// length, and where the tokenizer begins texts with BOS, BOS takes the place of each window's first
// token. Only the second half of a window counts, so that each scored token has half a window
// before it. Pure functions; thread-safe.
#ifndef CAIRN_EVAL_TEXT_WINDOWS_H_
#define CAIRN_EVAL_TEXT_WINDOWS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cairn/base/ids.h"
#include "cairn/base/status.h"
#include "cairn/text/tokenizer.h"

namespace cairn {

// The first windows of the text, at most `most`. Errors: not even one fits; says how many tokens
// `name` has.
Result<std::vector<std::vector<TokenId>>> WindowsOf(const Tokenizer& tokenizer,
                                                    std::string_view text, std::string_view name,
                                                    TokenCount window, int64_t most);

// Tokens of a window whose prediction counts are those at [FirstScored(window), window).
constexpr int64_t FirstScored(int64_t window) { return window / 2 + 1; }

}  // namespace cairn

#endif  // CAIRN_EVAL_TEXT_WINDOWS_H_
