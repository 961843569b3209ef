// ContextText: what a context stands for: tokens, and if they are a chat, its messages.
//
// Tokens that are there stay as they are, however they came about; what is added is tokenized by
// itself. A chat that goes on is rendered as a whole: where that begins with the context's tokens,
// or at least with its text, the context's tokens are kept; else the template writes what is there
// otherwise, and the whole is tokenized anew. Either way a prompt has the tokens that it would have
// if it were given in one piece, or those of the context and then those of the rest.
// Plain data and pure functions; thread-safe.
#ifndef CAIRN_SERVE_CONTEXT_TEXT_H_
#define CAIRN_SERVE_CONTEXT_TEXT_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cairn/base/ids.h"
#include "cairn/serve/api_chat.h"
#include "cairn/serve/api_error.h"
#include "cairn/serve/json_node.h"
#include "cairn/serve/served_model.h"
#include "cairn/serve/tool_calls.h"

namespace cairn {

struct ContextText {
  std::vector<TokenId> tokens = {};
  std::string cache_salt = {};
  bool is_chat = false;
  // Of a chat:
  std::string messages_json = {};  // an array, as templates get it
  std::string tools_json = {};     // as the request had it; empty: none
  std::string kwargs_json = {};    // chat_template_kwargs, likewise
  std::string text = {};           // what the tokens stand for
  int64_t messages = 0;
  // Where it ended before, by rising tokens.
  struct Mark {
    int64_t messages = 0;
    int64_t tokens = 0;
    size_t text_bytes = 0;
  };
  std::vector<Mark> marks = {};

  int64_t size() const { return static_cast<int64_t>(tokens.size()); }
  // Of memory, about.
  int64_t Bytes() const;
};

// How many tokens both begin with.
int64_t CommonTokens(std::span<const TokenId> a, std::span<const TokenId> b);

// Of a body with one of "messages" (with "tools" and "chat_template_kwargs"), "text" and "tokens".
ApiResult<ContextText> MakeContextText(const ServedModel& model, const JsonNode& body);
// `base` and then what such a body has.
ApiResult<ContextText> AppendToContext(const ServedModel& model, const ContextText& base,
                                       const JsonNode& body);
// To the body's "tokens" or "messages", a count.
ApiResult<ContextText> RewindContext(const ServedModel& model, const ContextText& base,
                                     const JsonNode& body);

// A chat request's body with the context's messages before its own and the context's tools where
// it names none.
ApiResult<JsonNode> WholeChatBody(const ContextText& base, const JsonNode& body);
// What the context is once `chat`, made of such a body, has been rendered.
ApiResult<ContextText> ContinueChat(const ServedModel& model, const ContextText& base,
                                    const JsonNode& whole_body, const ChatRequest& chat);
// What it is with tokens behind it: not a chat any more.
ContextText ContinueTokens(const ContextText& base, std::span<const TokenId> added);

struct GivenAnswer {
  std::vector<TokenId> tokens = {};
  std::string text = {};             // what the client got
  bool shows_special = false;        // it has the texts of special tokens
  std::vector<ToolCall> calls = {};  // of a chat
  ToolCallReader::Form form = ToolCallReader::Form::kNone;
};
// `prompt` and its answer. Tokens of the answer that reach beyond its text, into a stop string, are
// left out, and what they had of the text is tokenized by itself.
ContextText AddAnswer(const ServedModel& model, ContextText prompt, const GivenAnswer& answer);

}  // namespace cairn

#endif  // CAIRN_SERVE_CONTEXT_TEXT_H_
