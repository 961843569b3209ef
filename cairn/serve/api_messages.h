// Anthropic's /v1/messages: the body of a request, as the chat that it is.
//
// Blocks of text, tool_use, tool_result and thinking become messages of the form that chat
// templates know. cache_control is checked and needs no action: all that is read is kept. Pure
// functions; thread-safe.
#ifndef CAIRN_SERVE_API_MESSAGES_H_
#define CAIRN_SERVE_API_MESSAGES_H_

#include "cairn/serve/api_chat.h"
#include "cairn/serve/api_error.h"
#include "cairn/serve/json_node.h"

namespace cairn {

ApiResult<ChatRequest> ParseMessagesRequest(const JsonNode& body, const AnswerDefaults& defaults);

// /v1/messages/count_tokens: the same without what concerns the answer.
ApiResult<ChatRequest> ParseCountRequest(const JsonNode& body);

}  // namespace cairn

#endif  // CAIRN_SERVE_API_MESSAGES_H_
