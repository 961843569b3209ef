// ToolCallReader: the calls of tools in a model's answer, as it comes.
//
// Two forms: calls between <tool_call> and </tool_call> among other text (Hermes, Qwen and others),
// or the whole answer as one call, where a grammar has forced it. A call is {"name": ...,
// "arguments": {...}}; what isn't one stays the text that it is. What may become a mark is held
// back. One object per answer; thread-compatible.
#ifndef CAIRN_SERVE_TOOL_CALLS_H_
#define CAIRN_SERVE_TOOL_CALLS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cairn/serve/api_chat.h"

namespace cairn {

struct ToolCall {
  std::string id;
  std::string name;
  std::string arguments_json;
};

inline constexpr std::string_view kToolCallEnd = "</tool_call>";

class ToolCallReader {
 public:
  enum class Form : uint8_t { kNone, kMarked, kWhole };
  struct Piece {
    std::string text;
    std::vector<ToolCall> calls;
  };

  explicit ToolCallReader(Form form) : form_(form) {}

  Piece Push(std::string_view text);
  // The rest, at the end; a call whose end mark is missing counts if it is whole.
  Piece Flush();

 private:
  void ReadOutside(Piece& to);
  bool ReadInside(Piece& to);
  void AddText(std::string_view text, Piece& to) const;

  Form form_;
  std::string pending_;
  bool inside_ = false;
  bool has_called_ = false;
};

// What an answer that must be a call follows: one of the tools, or the one that is named.
std::string SchemaOfCall(const std::vector<ChatTool>& tools, const ToolChoice& choice);

}  // namespace cairn

#endif  // CAIRN_SERVE_TOOL_CALLS_H_
