#include "cairn/text/end_of_generation.h"

#include <algorithm>
#include <optional>
#include <string_view>

namespace cairn {
namespace {

// As in llama.cpp (src/llama-vocab.cpp), and the ends of a file in a repository.
constexpr std::string_view kKnownEnds[] = {
    "<|endoftext|>",
    "<|end_of_text|>",
    "<|im_end|>",
    "<|eot_id|>",
    "<|eom_id|>",
    "<|end|>",
    "<|return|>",
    "<|call|>",
    "<|calls|>",
    "<|flush|>",
    "<end_of_turn>",
    "<turn|>",
    "<|tool_response>",
    "<end_of_utterance>",
    "<eos>",
    "</s>",
    "<EOT>",
    "_<EOT>",
    "[EOT]",
    "[EOS]",
    "[e~[",
    "<｜end▁of▁sentence｜>",
    "<|END_OF_TURN_TOKEN|>",
    "<|file_sep|>",
    "<|repo_name|>",
    "<|fim_pad|>",
};

}  // namespace

std::vector<TokenId> EndOfGenerationTokens(const TokenTable& table, std::vector<TokenId> named) {
  std::vector<TokenId> ends = std::move(named);
  bool has_return = false;
  bool has_flush = false;
  bool has_tool_response = false;
  for (int32_t i = 0; i < table.size(); ++i) {
    const TokenId id(i);
    if (!table.IsSpecial(id)) continue;
    const std::string_view text = table.Text(id);
    if (std::ranges::find(kKnownEnds, text) == std::end(kKnownEnds)) continue;
    ends.push_back(id);
    has_return |= text == "<|return|>";
    has_flush |= text == "<|flush|>";
    has_tool_response |= text == "<|tool_response>";
  }
  std::ranges::sort(ends);
  ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
  // Where a turn has several messages, <|end|> ends only a message; and where </s> is text, it
  // ends nothing.
  if (has_return || has_flush) std::erase(ends, table.FindText("<|end|>"));
  if (has_tool_response) std::erase(ends, table.FindText("</s>"));
  return ends;
}

}  // namespace cairn
