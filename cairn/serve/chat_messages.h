// Messages of OpenAI's form, checked and turned into those that chat templates know.
//
// Pure functions; thread-safe.
#ifndef CAIRN_SERVE_CHAT_MESSAGES_H_
#define CAIRN_SERVE_CHAT_MESSAGES_H_

#include <string>
#include <string_view>

#include "cairn/serve/api_fields.h"
#include "cairn/serve/json_node.h"

namespace cairn {

// A text that is given as such or as parts of which each has {"type": "text", "text": ...}; joined.
// Other parts are problems of `fields`. Nothing: absent or null.
std::optional<std::string> ReadTextParts(ApiFields& fields, std::string_view name);

// The array "messages". A member becomes an object of "role", "content" and, where they are given,
// "tool_calls", "tool_call_id", "name" and "reasoning_content".
JsonNode::Items ReadChatMessages(ApiFields& fields);

// {"role": role, "content": content}
JsonNode PlainMessage(std::string_view role, std::string content);

}  // namespace cairn

#endif  // CAIRN_SERVE_CHAT_MESSAGES_H_
