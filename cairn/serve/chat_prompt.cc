#include "cairn/serve/chat_prompt.h"

namespace cairn {

ApiResult<std::string> RenderChat(const ServedModel& model, const ChatRequest& chat) {
  if (model.chat == nullptr) return RefuseField("messages", model.why_no_chat);
  RenderOptions options;
  options.add_generation_prompt = chat.add_generation_prompt;
  options.variables_json = chat.variables_json;
  Result<std::string> rendered = model.chat->RenderJson(chat.messages_json, options);
  // The template's own words: roles in an order that it doesn't take, most often.
  if (!rendered) return RefuseField("messages", rendered.error().message);
  return std::move(*rendered);
}

}  // namespace cairn
