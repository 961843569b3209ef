// A chat as text: what its model's template makes of it. Pure; thread-safe.
#ifndef CAIRN_SERVE_CHAT_PROMPT_H_
#define CAIRN_SERVE_CHAT_PROMPT_H_

#include <string>
#include <utility>

#include "cairn/serve/api_chat.h"
#include "cairn/serve/api_error.h"
#include "cairn/serve/served_model.h"

namespace cairn {

// A value of the library below, or its error as a client's.
template <class T>
ApiResult<T> FromResult(Result<T> result) {
  if (!result) return std::unexpected(ErrorOf(result.error()));
  return std::move(*result);
}

// Errors: the model has no template, or the template refuses the messages.
ApiResult<std::string> RenderChat(const ServedModel& model, const ChatRequest& chat);

}  // namespace cairn

#endif  // CAIRN_SERVE_CHAT_PROMPT_H_
