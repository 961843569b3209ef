#include "cairn/serve/chat_messages.h"

#include <utility>

namespace cairn {
namespace {

constexpr size_t kMaxMessages = 65'536;
constexpr size_t kMaxParts = 65'536;
constexpr size_t kMaxToolCalls = 1024;
constexpr size_t kMaxNameBytes = 256;
constexpr size_t kMaxTextBytes = size_t{1} << 30;  // the body's own limit comes first

JsonNode Text(std::string_view text) { return JsonNode(std::string(text)); }

// One item of "tool_calls". Templates want arguments as an object where they are one.
JsonNode ReadToolCall(const JsonNode& node, const std::string& path, ApiFields& problems) {
  ApiFields call(node, path);
  call.Choice("type", {"function"});
  call.Require("function");
  JsonNode::Members function;
  if (const JsonNode* found = call.Object("function")) {
    ApiFields inner(*found, path + ".function");
    inner.Require("name");
    function.emplace_back("name", inner.String("name", kMaxNameBytes).value_or(""));
    const JsonNode* arguments = inner.Any("arguments");
    if (arguments != nullptr && arguments->Object() != nullptr) {
      function.emplace_back("arguments", *arguments);
    } else if (const auto text = inner.String("arguments", kMaxTextBytes)) {
      Result<JsonNode> parsed = JsonNode::Parse(*text);
      const bool whole = parsed && parsed->Object() != nullptr;
      function.emplace_back("arguments", whole ? std::move(*parsed) : JsonNode(*text));
    }
    call.Adopt(inner);
  }
  JsonNode::Members members;
  if (auto id = call.String("id", kMaxNameBytes)) members.emplace_back("id", std::move(*id));
  members.emplace_back("type", Text("function"));
  members.emplace_back("function", JsonNode(std::move(function)));
  problems.Adopt(call);
  return JsonNode(std::move(members));
}

JsonNode ReadMessage(const JsonNode& node, const std::string& path, ApiFields& problems) {
  ApiFields message(node, path);
  message.Require("role");
  std::string role =
      message.Choice("role", {"system", "developer", "user", "assistant", "tool"}).value_or("");
  if (role == "developer") role = "system";  // its newer name; templates know the older one
  JsonNode::Members members;
  members.emplace_back("role", Text(role));
  std::optional<std::string> content = ReadTextParts(message, "content");
  const JsonNode::Items* calls = message.Array("tool_calls", kMaxToolCalls);
  if (!content && calls == nullptr && message.Any("reasoning_content") == nullptr) {
    message.Refuse("content", "is missing");
  }
  members.emplace_back("content", JsonNode(std::move(content).value_or("")));
  if (calls != nullptr) {
    if (role != "assistant") message.Refuse("tool_calls", "only an assistant's message has them");
    JsonNode::Items items;
    for (size_t i = 0; i < calls->size(); ++i) {
      const std::string place = PathOfItem(message.PathOf("tool_calls"), i);
      items.push_back(ReadToolCall(calls->at(i), place, message));
    }
    if (!items.empty()) members.emplace_back("tool_calls", JsonNode(std::move(items)));
  }
  for (const char* name : {"tool_call_id", "name"}) {
    if (auto text = message.String(name, kMaxNameBytes)) members.emplace_back(name, *text);
  }
  if (auto text = message.String("reasoning_content", kMaxTextBytes)) {
    members.emplace_back("reasoning_content", std::move(*text));
  }
  problems.Adopt(message);
  return JsonNode(std::move(members));
}

}  // namespace

JsonNode PlainMessage(std::string_view role, std::string content) {
  JsonNode::Members members;
  members.emplace_back("role", Text(role));
  members.emplace_back("content", JsonNode(std::move(content)));
  return JsonNode(std::move(members));
}

std::optional<std::string> ReadTextParts(ApiFields& fields, std::string_view name) {
  const JsonNode* found = fields.Any(name);
  if (found == nullptr) return std::nullopt;
  if (const std::string* text = found->String()) return *text;
  if (found->Array() == nullptr) {
    fields.Refuse(name,
                  fmt::format("must be a string or an array of parts, not {}", found->KindName()));
    return std::nullopt;
  }
  std::string joined;
  const JsonNode::Items* parts = fields.Array(name, kMaxParts);
  for (size_t i = 0; parts != nullptr && i < parts->size(); ++i) {
    ApiFields part(parts->at(i), PathOfItem(fields.PathOf(name), i));
    part.Require("type");
    const std::optional<std::string> type = part.String("type", kMaxNameBytes);
    if (type && *type != "text") part.Refuse("type", "only \"text\" is supported");
    part.Require("text");
    joined += part.String("text", kMaxTextBytes).value_or("");
    fields.Adopt(part);
    if (!fields.ok()) return std::nullopt;
  }
  return joined;
}

JsonNode::Items ReadChatMessages(ApiFields& fields) {
  fields.Require("messages");
  const JsonNode::Items* found = fields.Array("messages", kMaxMessages);
  JsonNode::Items messages;
  if (found == nullptr) return messages;
  if (found->empty()) fields.Refuse("messages", "at least one is needed");
  for (size_t i = 0; i < found->size() && fields.ok(); ++i) {
    const std::string path = PathOfItem(fields.PathOf("messages"), i);
    messages.push_back(ReadMessage(found->at(i), path, fields));
  }
  return messages;
}

}  // namespace cairn
