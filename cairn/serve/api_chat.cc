#include "cairn/serve/api_chat.h"

#include <algorithm>
#include <utility>

#include "cairn/serve/api_fields.h"
#include "cairn/serve/chat_messages.h"

namespace cairn {
namespace {

constexpr size_t kMaxTools = 1024;
constexpr size_t kMaxToolNameBytes = 256;
constexpr int32_t kMaxTopLogprobs = 20;

bool IsToolName(std::string_view name) {
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.';
  };
  return !name.empty() && std::ranges::all_of(name, fits);
}

ChatTool ReadTool(const JsonNode& node, const std::string& path, ApiFields& problems) {
  ApiFields fields(node, path);
  ChatTool tool;
  fields.Require("type");
  fields.Choice("type", {"function"});
  fields.Require("function");
  if (const JsonNode* function = fields.Object("function")) {
    ApiFields inner(*function, path + ".function");
    inner.Require("name");
    tool.name = inner.String("name", kMaxToolNameBytes).value_or("");
    if (inner.ok() && !IsToolName(tool.name)) {
      inner.Refuse("name", "may have letters, digits, '_', '-' and '.' only");
    }
    if (const JsonNode* schema = inner.Object("parameters")) tool.parameters_json = schema->Dump();
    fields.Adopt(inner);
  }
  problems.Adopt(fields);
  return tool;
}

void ReadToolChoice(ApiFields& fields, ChatRequest& to) {
  const JsonNode* found = fields.Any("tool_choice");
  if (found == nullptr) return;
  if (found->Object() == nullptr) {
    const auto choice = fields.Choice("tool_choice", {"auto", "none", "required"});
    if (choice == "none") to.tool_choice.kind = ToolChoice::Kind::kNone;
    if (choice == "required") to.tool_choice.kind = ToolChoice::Kind::kRequired;
  } else {
    ApiFields choice(*found, fields.PathOf("tool_choice"));
    choice.Require("function");
    if (const JsonNode* function = choice.Object("function")) {
      ApiFields inner(*function, choice.PathOf("function"));
      inner.Require("name");
      to.tool_choice.kind = ToolChoice::Kind::kNamed;
      to.tool_choice.name = inner.String("name", kMaxToolNameBytes).value_or("");
      if (inner.ok() &&
          std::ranges::find(to.tools, to.tool_choice.name, &ChatTool::name) == to.tools.end()) {
        inner.Refuse("name", "is none of the tools");
      }
      choice.Adopt(inner);
    }
    fields.Adopt(choice);
  }
  if (to.tool_choice.kind == ToolChoice::Kind::kRequired && to.tools.empty()) {
    fields.Refuse("tool_choice", "needs tools");
  }
}

// Tools, and what the template gets of them and of chat_template_kwargs.
void ReadTemplateFields(ApiFields& fields, ChatRequest& to) {
  JsonNode::Members variables;
  if (const JsonNode* found = fields.Object("chat_template_kwargs")) variables = *found->Object();
  const JsonNode::Items* tools = fields.Array("tools", kMaxTools);
  for (size_t i = 0; tools != nullptr && i < tools->size() && fields.ok(); ++i) {
    to.tools.push_back(ReadTool(tools->at(i), PathOfItem(fields.PathOf("tools"), i), fields));
  }
  ReadToolChoice(fields, to);
  const bool shows_tools = !to.tools.empty() && to.tool_choice.kind != ToolChoice::Kind::kNone;
  if (shows_tools) variables.emplace_back("tools", *tools);
  to.variables_json = JsonNode(std::move(variables)).Dump();
  to.parallel_tool_calls = fields.Bool("parallel_tool_calls").value_or(true);
  to.add_generation_prompt = fields.Bool("add_generation_prompt").value_or(true);
}

void ReadLogprobs(ApiFields& fields, AnswerOptions& to) {
  to.wants_logprobs = fields.Bool("logprobs").value_or(false);
  const auto top = fields.Integer("top_logprobs", 0, kMaxTopLogprobs);
  to.top_logprobs = static_cast<int32_t>(top.value_or(0));
  if (to.top_logprobs > 0 && !to.wants_logprobs) {
    fields.Refuse("top_logprobs", "needs \"logprobs\": true");
  }
}

// Text is what there is.
void CheckModalities(ApiFields& fields) {
  const JsonNode::Items* modalities = fields.Array("modalities", 16);
  for (size_t i = 0; modalities != nullptr && i < modalities->size(); ++i) {
    const std::string* name = modalities->at(i).String();
    if (name == nullptr || *name != "text") {
      fields.Refuse("modalities", "only \"text\" is supported");
    }
  }
}

}  // namespace

ApiResult<ChatRequest> ParseChatRequest(const JsonNode& body, const AnswerDefaults& defaults) {
  ApiFields fields(body, "");
  ChatRequest to;
  to.messages_json = JsonNode(ReadChatMessages(fields)).Dump();
  to.options = ReadOpenAiOptions(fields, defaults);
  // The newer name counts.
  const auto old_limit = fields.Integer("max_tokens", 0, INT32_MAX);
  const auto limit = fields.Integer("max_completion_tokens", 0, INT32_MAX);
  to.options.max_tokens = limit ? limit : old_limit;
  ReadLogprobs(fields, to.options);
  ReadTemplateFields(fields, to);
  CheckModalities(fields);
  if (!to.tools.empty() && to.options.format.kind != AnswerFormat::Kind::kText) {
    fields.Refuse("response_format", "isn't supported together with tools");
  }
  if (!fields.ok()) return std::unexpected(*fields.problem());
  return to;
}

ApiResult<ChatRequest> ParseTemplateRequest(const JsonNode& body) {
  ApiFields fields(body, "");
  ChatRequest to;
  to.messages_json = JsonNode(ReadChatMessages(fields)).Dump();
  ReadTemplateFields(fields, to);
  if (!fields.ok()) return std::unexpected(*fields.problem());
  return to;
}

}  // namespace cairn
