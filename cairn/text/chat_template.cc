#include "cairn/text/chat_template.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "cairn/base/env.h"
#include "cairn/text/utf8.h"

namespace cairn {
namespace {

using Json = nlohmann::ordered_json;

std::string_view TextOf(const Tokenizer& tokenizer, std::optional<TokenId> id) {
  return id ? tokenizer.TokenText(*id) : std::string_view();
}

// Token texts of a GGUF file may be anything; in JSON they must be UTF-8.
std::string AsUtf8(std::string_view bytes) {
  Utf8Stream stream;
  std::string text = stream.Push(bytes);
  return text + stream.Flush();
}

Result<Json> ParseJson(std::string_view text, std::string_view what) {
  Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) return Fail(ErrorCode::kInvalidArgument, "{}: not JSON", what);
  return json;
}

}  // namespace

Result<ChatTemplate> ChatTemplate::FromTokenizer(const Tokenizer& tokenizer,
                                                 std::string_view name) {
  const auto& templates = tokenizer.chat_templates();
  const auto found = std::ranges::find(templates, name, &NamedTemplate::name);
  if (found == templates.end()) {
    return Fail(ErrorCode::kNotFound,
                "the model has no chat template \"{}\": give it plain text, or a template of your "
                "own",
                name);
  }
  return Parse(found->source, TextOf(tokenizer, tokenizer.bos()),
               TextOf(tokenizer, tokenizer.eos()));
}

Result<ChatTemplate> ChatTemplate::Parse(std::string_view source, std::string_view bos,
                                         std::string_view eos) {
  auto parsed = RustTemplate::Parse(source);
  if (!parsed) {
    return Fail(parsed.error().code, "the chat template is wrong: {}", parsed.error().message);
  }
  return ChatTemplate(std::move(*parsed), AsUtf8(bos), AsUtf8(eos));
}

Result<std::string> ChatTemplate::Render(std::span<const ChatMessage> messages,
                                         const RenderOptions& options) const {
  Json json = Json::array();
  for (const ChatMessage& message : messages) {
    for (std::string_view text : {message.role, message.content}) {
      const size_t offset = FindInvalidUtf8(text);
      if (offset == std::string_view::npos) continue;
      return Fail(ErrorCode::kInvalidArgument, "message {} is not UTF-8 at offset {}", json.size(),
                  offset);
    }
    json.push_back({{"role", message.role}, {"content", message.content}});
  }
  return RenderJson(json.dump(), options);
}

Result<std::string> ChatTemplate::RenderJson(std::string_view messages_json,
                                             const RenderOptions& options) const {
  CAIRN_ASSIGN(Json messages, ParseJson(messages_json, "the messages"));
  if (!messages.is_array()) {
    return Fail(ErrorCode::kInvalidArgument, "the messages are not a JSON array");
  }
  Json context = Json::object();
  if (!options.variables_json.empty()) {
    CAIRN_ASSIGN(context, ParseJson(options.variables_json, "the template's variables"));
    if (!context.is_object()) {
      return Fail(ErrorCode::kInvalidArgument, "the template's variables are not a JSON object");
    }
  }
  context["messages"] = std::move(messages);
  context["add_generation_prompt"] = options.add_generation_prompt;
  context["bos_token"] = bos_;
  context["eos_token"] = eos_;
  auto text = template_.Render(context.dump(), options.now_unix_s.value_or(NowUnixSeconds()));
  if (!text) {
    return Fail(text.error().code, "the chat template: {}", text.error().message);
  }
  return text;
}

}  // namespace cairn
