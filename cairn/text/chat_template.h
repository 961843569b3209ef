// A model's own chat template: messages to the text that the model was trained on.
//
// Templates are Jinja as transformers runs it. They come with the model and are not trusted:
// rendering is bounded in time and memory, and every problem is an Error that names the line.
// Thread safety: immutable; may be used from several threads.
#ifndef CAIRN_TEXT_CHAT_TEMPLATE_H_
#define CAIRN_TEXT_CHAT_TEMPLATE_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "cairn/base/status.h"
#include "cairn/text/rust_bridge.h"
#include "cairn/text/tokenizer.h"

namespace cairn {

struct ChatMessage {
  std::string role;  // "system", "user", "assistant"
  std::string content;
};

struct RenderOptions {
  bool add_generation_prompt = true;  // end with the start of the assistant's turn
  // What the template's clock shows (strftime_now, in local time); absent: the present.
  std::optional<int64_t> now_unix_s = std::nullopt;
  // More variables for the template, as the text of a JSON object; "" for none.
  std::string_view variables_json = {};
};

class ChatTemplate {
 public:
  // The tokenizer's template of that name.
  static Result<ChatTemplate> FromTokenizer(const Tokenizer& tokenizer,
                                            std::string_view name = "default");
  // `bos` and `eos` are the texts that the template knows as bos_token and eos_token.
  static Result<ChatTemplate> Parse(std::string_view source, std::string_view bos,
                                    std::string_view eos);

  Result<std::string> Render(std::span<const ChatMessage> messages,
                             const RenderOptions& options = {}) const;
  // For messages with more in them (tool calls, parts): the text of a JSON array.
  Result<std::string> RenderJson(std::string_view messages_json,
                                 const RenderOptions& options = {}) const;

 private:
  ChatTemplate(RustTemplate chat_template, std::string bos, std::string eos)
      : template_(std::move(chat_template)), bos_(std::move(bos)), eos_(std::move(eos)) {}

  RustTemplate template_;
  std::string bos_;
  std::string eos_;
};

}  // namespace cairn

#endif  // CAIRN_TEXT_CHAT_TEMPLATE_H_
