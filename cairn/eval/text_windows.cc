#include "cairn/eval/text_windows.h"

#include <algorithm>

namespace cairn {

Result<std::vector<std::vector<TokenId>>> WindowsOf(const Tokenizer& tokenizer,
                                                    std::string_view text, std::string_view name,
                                                    TokenCount window, int64_t most) {
  CAIRN_ASSIGN(const std::vector<TokenId> tokens, tokenizer.Encode(text));
  const auto count = static_cast<int64_t>(tokens.size());
  const int64_t windows = std::min(count / window.value(), most);
  if (windows == 0) {
    return Fail(ErrorCode::kInvalidArgument,
                "{}: {} tokens are fewer than the context of {}; a longer text (--text FILE) or a "
                "shorter context (-c) would be right",
                name, count, window.value());
  }
  const std::optional<TokenId> bos = tokenizer.bos();
  const bool begins = bos && tokens.front() == *bos;
  std::vector<std::vector<TokenId>> result;
  for (int64_t w = 0; w < windows; ++w) {
    const auto first = tokens.begin() + w * window.value();
    result.emplace_back(first, first + window.value());
    if (begins) result.back().front() = *bos;
  }
  return result;
}

}  // namespace cairn
