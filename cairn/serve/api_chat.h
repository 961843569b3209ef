// /v1/chat/completions: the body of a request, and messages in the form that chat templates take.
//
// Pure functions; thread-safe.
#ifndef CAIRN_SERVE_API_CHAT_H_
#define CAIRN_SERVE_API_CHAT_H_

#include <string>
#include <vector>

#include "cairn/serve/answer_options.h"
#include "cairn/serve/api_error.h"
#include "cairn/serve/json_node.h"

namespace cairn {

struct ChatTool {
  std::string name;
  std::string parameters_json;  // a schema; empty: any object
};

struct ToolChoice {
  enum class Kind : uint8_t { kAuto, kNone, kRequired, kNamed };
  Kind kind = Kind::kAuto;
  std::string name;  // of kNamed
};

struct ChatRequest {
  AnswerOptions options;
  // As the template gets them: roles "system", "user", "assistant" and "tool", text parts joined,
  // arguments of tool calls as objects.
  std::string messages_json;
  std::string variables_json;  // chat_template_kwargs and tools
  bool add_generation_prompt = true;
  std::vector<ChatTool> tools;
  ToolChoice tool_choice;
  bool parallel_tool_calls = true;  // several in one answer
};

ApiResult<ChatRequest> ParseChatRequest(const JsonNode& body, const AnswerDefaults& defaults);

// The messages alone, for /apply-template.
ApiResult<ChatRequest> ParseTemplateRequest(const JsonNode& body);

}  // namespace cairn

#endif  // CAIRN_SERVE_API_CHAT_H_
