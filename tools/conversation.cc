#include "tools/conversation.h"

#include <nlohmann/json.hpp>

namespace cairn {

using Json = nlohmann::json;

std::string NoteOf(std::span<const ChatMessage> messages) {
  Json list = Json::array();
  for (const ChatMessage& message : messages) {
    list.push_back({{"role", message.role}, {"content", message.content}});
  }
  return list.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<std::vector<ChatMessage>> MessagesOf(const std::string& note, const std::string& where) {
  std::vector<ChatMessage> messages;
  if (note.empty()) return messages;
  const Json list = Json::parse(note, nullptr, false);
  const auto text = [](const Json& message, const char* name) {
    return message.is_object() && message.contains(name) && message[name].is_string();
  };
  for (const Json& message : list) {
    if (!list.is_array() || !text(message, "role") || !text(message, "content")) {
      return Fail(ErrorCode::kCorrupt, "{}: its note isn't a list of messages", where);
    }
    messages.push_back({message["role"], message["content"]});
  }
  return messages;
}

}  // namespace cairn
