#include "cairn/serve/api_messages.h"

#include <algorithm>
#include <utility>

#include "cairn/serve/api_fields.h"
#include "cairn/serve/chat_messages.h"

namespace cairn {
namespace {

constexpr size_t kMaxMessages = 65'536;
constexpr size_t kMaxBlocks = 65'536;
constexpr size_t kMaxTools = 1024;
constexpr size_t kMaxNameBytes = 1024;
constexpr size_t kMaxTextBytes = size_t{1} << 30;  // the body's own limit comes first

void CheckCacheControl(ApiFields& fields) {
  const JsonNode* found = fields.Object("cache_control");
  if (found == nullptr) return;
  ApiFields control(*found, fields.PathOf("cache_control"));
  control.Require("type");
  control.Choice("type", {"ephemeral"});
  control.Choice("ttl", {"5m", "1h"});
  fields.Adopt(control);
}

// A text, or blocks of nothing but text; joined.
std::string ReadPlainBlocks(ApiFields& fields, std::string_view name) {
  const JsonNode* found = fields.Any(name);
  if (found == nullptr) return "";
  if (const std::string* text = found->String()) return *text;
  std::string joined;
  const JsonNode::Items* blocks = fields.Array(name, kMaxBlocks);
  for (size_t i = 0; blocks != nullptr && i < blocks->size() && fields.ok(); ++i) {
    ApiFields block(blocks->at(i), PathOfItem(fields.PathOf(name), i));
    block.Require("type");
    block.Choice("type", {"text"});
    block.Require("text");
    joined += block.String("text", kMaxTextBytes).value_or("");
    CheckCacheControl(block);
    fields.Adopt(block);
  }
  return joined;
}

// What the blocks of one message come to.
struct Gathered {
  std::string text;
  std::string thinking;
  JsonNode::Items tool_calls;
  JsonNode::Items tool_messages;  // results come as messages of their own
};

JsonNode ToolCallOf(ApiFields& block) {
  block.Require("name");
  block.Require("input");
  JsonNode::Members function;
  function.emplace_back("name", block.String("name", kMaxNameBytes).value_or(""));
  const JsonNode* input = block.Object("input");
  function.emplace_back("arguments", input == nullptr ? JsonNode() : *input);
  JsonNode::Members call;
  call.emplace_back("id", block.String("id", kMaxNameBytes).value_or(""));
  call.emplace_back("type", JsonNode(std::string("function")));
  call.emplace_back("function", JsonNode(std::move(function)));
  return JsonNode(std::move(call));
}

JsonNode ToolMessageOf(ApiFields& block) {
  block.Require("tool_use_id");
  JsonNode message = PlainMessage("tool", ReadPlainBlocks(block, "content"));
  message.Object()->emplace_back("tool_call_id",
                                 block.String("tool_use_id", kMaxNameBytes).value_or(""));
  block.Bool("is_error");
  return message;
}

void ReadBlock(ApiFields& block, bool from_assistant, Gathered& to) {
  block.Require("type");
  const std::string type = block.String("type", kMaxNameBytes).value_or("");
  CheckCacheControl(block);
  if (type == "text") {
    block.Require("text");
    to.text += block.String("text", kMaxTextBytes).value_or("");
  } else if (type == "tool_use" && from_assistant) {
    to.tool_calls.push_back(ToolCallOf(block));
  } else if (type == "tool_result" && !from_assistant) {
    to.tool_messages.push_back(ToolMessageOf(block));
  } else if (type == "thinking" && from_assistant) {
    to.thinking += block.String("thinking", kMaxTextBytes).value_or("");
  } else {
    block.Refuse("type", "isn't supported in this role's messages");
  }
}

void ReadOneMessage(const JsonNode& node, const std::string& path, ApiFields& problems,
                    JsonNode::Items& to) {
  ApiFields message(node, path);
  message.Require("role");
  const std::string role = message.Choice("role", {"user", "assistant"}).value_or("");
  message.Require("content");
  Gathered gathered;
  const JsonNode* content = message.Any("content");
  if (content != nullptr && content->String() != nullptr) {
    gathered.text = *content->String();
  } else if (const JsonNode::Items* blocks = message.Array("content", kMaxBlocks)) {
    for (size_t i = 0; i < blocks->size() && message.ok(); ++i) {
      ApiFields block(blocks->at(i), PathOfItem(message.PathOf("content"), i));
      ReadBlock(block, role == "assistant", gathered);
      message.Adopt(block);
    }
  }
  const bool says_something = !gathered.text.empty() || gathered.tool_messages.empty();
  std::ranges::move(gathered.tool_messages, std::back_inserter(to));
  if (says_something) {
    JsonNode plain = PlainMessage(role, std::move(gathered.text));
    if (!gathered.tool_calls.empty()) {
      plain.Object()->emplace_back("tool_calls", JsonNode(std::move(gathered.tool_calls)));
    }
    if (!gathered.thinking.empty()) {
      plain.Object()->emplace_back("reasoning_content", JsonNode(std::move(gathered.thinking)));
    }
    to.push_back(std::move(plain));
  }
  problems.Adopt(message);
}

std::string ReadMessages(ApiFields& fields) {
  JsonNode::Items messages;
  if (fields.Any("system") != nullptr) {
    messages.push_back(PlainMessage("system", ReadPlainBlocks(fields, "system")));
  }
  fields.Require("messages");
  const JsonNode::Items* found = fields.Array("messages", kMaxMessages);
  if (found != nullptr && found->empty()) fields.Refuse("messages", "at least one is needed");
  for (size_t i = 0; found != nullptr && i < found->size() && fields.ok(); ++i) {
    ReadOneMessage(found->at(i), PathOfItem("messages", i), fields, messages);
  }
  return JsonNode(std::move(messages)).Dump();
}

// A tool in OpenAI's form, which is what templates know.
JsonNode ReadTool(ApiFields& tool, ChatTool& to) {
  tool.Choice("type", {"custom"});
  tool.Require("name");
  tool.Require("input_schema");
  to.name = tool.String("name", kMaxNameBytes).value_or("");
  JsonNode::Members function;
  function.emplace_back("name", JsonNode(to.name));
  if (auto text = tool.String("description", kMaxTextBytes)) {
    function.emplace_back("description", JsonNode(std::move(*text)));
  }
  if (const JsonNode* schema = tool.Object("input_schema")) {
    to.parameters_json = schema->Dump();
    function.emplace_back("parameters", *schema);
  }
  CheckCacheControl(tool);
  JsonNode::Members outer;
  outer.emplace_back("type", JsonNode(std::string("function")));
  outer.emplace_back("function", JsonNode(std::move(function)));
  return JsonNode(std::move(outer));
}

void ReadToolChoice(ApiFields& fields, ChatRequest& to) {
  const JsonNode* found = fields.Object("tool_choice");
  if (found == nullptr) return;
  ApiFields choice(*found, "tool_choice");
  choice.Require("type");
  const auto type = choice.Choice("type", {"auto", "any", "tool", "none"});
  to.parallel_tool_calls = !choice.Bool("disable_parallel_tool_use").value_or(false);
  if (type == "none") to.tool_choice.kind = ToolChoice::Kind::kNone;
  if (type == "any") to.tool_choice.kind = ToolChoice::Kind::kRequired;
  if (type == "tool") {
    choice.Require("name");
    to.tool_choice.kind = ToolChoice::Kind::kNamed;
    to.tool_choice.name = choice.String("name", kMaxNameBytes).value_or("");
    if (std::ranges::find(to.tools, to.tool_choice.name, &ChatTool::name) == to.tools.end()) {
      choice.Refuse("name", "is none of the tools");
    }
  }
  fields.Adopt(choice);
  if (type == "any" && to.tools.empty()) fields.Refuse("tool_choice", "needs tools");
}

void ReadTools(ApiFields& fields, ChatRequest& to) {
  JsonNode::Items shown;
  const JsonNode::Items* tools = fields.Array("tools", kMaxTools);
  for (size_t i = 0; tools != nullptr && i < tools->size() && fields.ok(); ++i) {
    ApiFields tool(tools->at(i), PathOfItem("tools", i));
    shown.push_back(ReadTool(tool, to.tools.emplace_back()));
    fields.Adopt(tool);
  }
  ReadToolChoice(fields, to);
  JsonNode::Members variables;
  if (!shown.empty() && to.tool_choice.kind != ToolChoice::Kind::kNone) {
    variables.emplace_back("tools", JsonNode(std::move(shown)));
  }
  to.variables_json = JsonNode(std::move(variables)).Dump();
}

void ReadAnswerFields(ApiFields& fields, const AnswerDefaults& defaults, AnswerOptions& to) {
  to.model = fields.String("model", kMaxNameBytes).value_or("");
  to.sampling = ReadSampling(fields, defaults);
  fields.Require("max_tokens");
  to.max_tokens = fields.Integer("max_tokens", 0, INT32_MAX);
  to.stops = ReadStops(fields, "stop_sequences");
  to.stream = fields.Bool("stream").value_or(false);
  to.cache_salt = fields.String("cache_salt", kMaxNameBytes).value_or("");
  to.policy = ReadTokenPolicy(fields, defaults);
  if (const JsonNode* found = fields.Object("metadata")) {
    ApiFields metadata(*found, "metadata");
    metadata.String("user_id", kMaxNameBytes);
    fields.Adopt(metadata);
  }
  if (const JsonNode* found = fields.Object("thinking")) {
    ApiFields thinking(*found, "thinking");
    thinking.Require("type");
    if (thinking.String("type", kMaxNameBytes).value_or("") != "disabled") {
      thinking.Refuse("type", "only \"disabled\" is supported");
    }
    fields.Adopt(thinking);
  }
  for (const char* name : {"mcp_servers", "container", "context_management", "output_format"}) {
    if (fields.Any(name) != nullptr) fields.Refuse(name, "isn't supported");
  }
}

}  // namespace

ApiResult<ChatRequest> ParseMessagesRequest(const JsonNode& body, const AnswerDefaults& defaults) {
  ApiFields fields(body, "");
  ChatRequest to;
  to.messages_json = ReadMessages(fields);
  ReadTools(fields, to);
  ReadAnswerFields(fields, defaults, to.options);
  if (!fields.ok()) return std::unexpected(*fields.problem());
  return to;
}

ApiResult<ChatRequest> ParseCountRequest(const JsonNode& body) {
  ApiFields fields(body, "");
  ChatRequest to;
  to.messages_json = ReadMessages(fields);
  ReadTools(fields, to);
  if (!fields.ok()) return std::unexpected(*fields.problem());
  return to;
}

}  // namespace cairn
