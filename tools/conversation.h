// The messages of a conversation as the note in a session file: a JSON array.
#ifndef CAIRN_TOOLS_CONVERSATION_H_
#define CAIRN_TOOLS_CONVERSATION_H_

#include <span>
#include <string>
#include <vector>

#include "cairn/base/status.h"
#include "cairn/text/chat_template.h"

namespace cairn {

std::string NoteOf(std::span<const ChatMessage> messages);
// An empty note is no messages. Errors: not such an array.
Result<std::vector<ChatMessage>> MessagesOf(const std::string& note, const std::string& where);

}  // namespace cairn

#endif  // CAIRN_TOOLS_CONVERSATION_H_
