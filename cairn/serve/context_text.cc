#include "cairn/serve/context_text.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <ranges>
#include <utility>

#include "cairn/serve/api_fields.h"
#include "cairn/serve/chat_messages.h"
#include "cairn/serve/chat_prompt.h"

namespace cairn {
namespace {

constexpr size_t kMaxNameBytes = 1024;
constexpr size_t kMaxTextBytes = size_t{1} << 30;  // the body's own limit comes first
constexpr size_t kMaxTokens = size_t{1} << 24;
// What fits into a model's context fits here; what templates leave out of messages is bounded.
constexpr int64_t kMessageBytesLeast = int64_t{64} << 10;
constexpr int64_t kMessageBytesPerToken = 64;
// Bodies may be nested deeper once arguments of tool calls were read.
constexpr JsonLimits kDerived = {.depth = 80, .values = int64_t{1} << 22};

JsonNode Parsed(const std::string& json) {
  Result<JsonNode> parsed = JsonNode::Parse(json, kDerived);
  return parsed ? std::move(*parsed) : JsonNode();
}

JsonNode::Items ItemsOf(const std::string& json) {
  JsonNode parsed = Parsed(json);
  return parsed.Array() == nullptr ? JsonNode::Items() : std::move(*parsed.Array());
}

int64_t CountOf(const std::string& json) { return static_cast<int64_t>(ItemsOf(json).size()); }

std::string DumpOf(const JsonNode& body, std::string_view name) {
  const JsonNode* found = body.Find(name);
  return found == nullptr || found->IsNull() ? std::string() : found->Dump();
}

ApiResult<std::vector<TokenId>> EncodeAlone(const ServedModel& model, std::string_view text) {
  return FromResult(model.tokenizer->Encode(text, {.add_bos = false}));
}

// What follows a text, where it stands for just that behind other tokens, too.
std::optional<std::vector<TokenId>> EncodeRest(const ServedModel& model, std::string_view rest) {
  Result<std::vector<TokenId>> tokens = model.tokenizer->Encode(rest, {.add_bos = false});
  if (!tokens) return std::nullopt;
  const DecodeOptions as_is{.skip_special = false, .at_text_start = false};
  if (model.tokenizer->Decode(*tokens, as_is) != rest) return std::nullopt;
  return std::move(*tokens);
}

ApiResult<void> CheckSize(const ServedModel& model, const ContextText& text) {
  if (text.tokens.empty()) return RefuseField("tokens", "there are none");
  if (text.size() >= model.context) {
    return std::unexpected(ContextError(text.size(), model.context));
  }
  const auto bytes = static_cast<int64_t>(text.messages_json.size() + text.tools_json.size() +
                                          text.kwargs_json.size());
  const int64_t most = kMessageBytesLeast + kMessageBytesPerToken * model.context;
  if (bytes <= most) return {};
  return RefuseField(
      "messages", fmt::format("take {} bytes with tools; a context holds at most {}", bytes, most));
}

// The body's "text" or "tokens".
ApiResult<std::vector<TokenId>> ReadTokens(const ServedModel& model, const JsonNode& body,
                                           EncodeOptions encode) {
  ApiFields fields(body, "");
  std::vector<TokenId> tokens;
  const auto text = fields.String("text", kMaxTextBytes);
  const JsonNode::Items* items = fields.Array("tokens", kMaxTokens);
  for (size_t i = 0; items != nullptr && i < items->size() && fields.ok(); ++i) {
    const int64_t id = items->at(i).Integer().value_or(-1);
    if (id < 0 || id >= model.tokenizer->vocab_size()) {
      fields.Refuse("tokens", fmt::format("{} is no token id of this model", items->at(i).Dump()));
    } else {
      tokens.emplace_back(static_cast<int32_t>(id));
    }
  }
  if (!fields.ok()) return std::unexpected(*fields.problem());
  if (text) return FromResult(model.tokenizer->Encode(*text, encode));
  return tokens;
}

ApiResult<void> CheckOneSource(const JsonNode& body) {
  ApiFields fields(body, "");
  int given = 0;
  for (const char* name : {"messages", "text", "tokens"}) given += fields.Any(name) != nullptr;
  if (given == 0) fields.Refuse("messages", "is missing; or text, or tokens");
  if (given > 1) fields.Refuse("messages", "only one of messages, text and tokens can be given");
  if (!fields.ok()) return std::unexpected(*fields.problem());
  return {};
}

// A chat without the beginning of an answer.
ApiResult<ChatRequest> ParseFinishedChat(const JsonNode& body) {
  CAIRN_API_ASSIGN(ChatRequest chat, ParseTemplateRequest(body));
  chat.add_generation_prompt = false;
  return chat;
}

}  // namespace

int64_t ContextText::Bytes() const {
  return static_cast<int64_t>(tokens.size() * sizeof(TokenId) + messages_json.size() +
                              tools_json.size() + kwargs_json.size() + text.size() +
                              marks.size() * sizeof(Mark) + cache_salt.size());
}

int64_t CommonTokens(std::span<const TokenId> a, std::span<const TokenId> b) {
  const size_t most = std::min(a.size(), b.size());
  const auto first = a.begin();
  return std::mismatch(first, first + static_cast<ptrdiff_t>(most), b.begin()).first - first;
}

ApiResult<ContextText> MakeContextText(const ServedModel& model, const JsonNode& body) {
  CAIRN_TRY(CheckOneSource(body));
  ContextText made;
  if (body.Find("messages") != nullptr && !body.Find("messages")->IsNull()) {
    CAIRN_API_ASSIGN(const ChatRequest chat, ParseFinishedChat(body));
    CAIRN_API_ASSIGN(made, ContinueChat(model, ContextText{.is_chat = true}, body, chat));
    made.marks.clear();
  } else {
    CAIRN_API_ASSIGN(made.tokens, ReadTokens(model, body, {}));
  }
  ApiFields fields(body, "");
  made.cache_salt = fields.String("cache_salt", kMaxNameBytes).value_or("");
  if (!fields.ok()) return std::unexpected(*fields.problem());
  CAIRN_TRY(CheckSize(model, made));
  return made;
}

ApiResult<ContextText> AppendToContext(const ServedModel& model, const ContextText& base,
                                       const JsonNode& body) {
  CAIRN_TRY(CheckOneSource(body));
  ContextText made;
  if (body.Find("messages") != nullptr && !body.Find("messages")->IsNull()) {
    CAIRN_API_ASSIGN(const JsonNode whole, WholeChatBody(base, body));
    CAIRN_API_ASSIGN(const ChatRequest chat, ParseFinishedChat(whole));
    CAIRN_API_ASSIGN(made, ContinueChat(model, base, whole, chat));
  } else {
    CAIRN_API_ASSIGN(const std::vector<TokenId> added, ReadTokens(model, body, {.add_bos = false}));
    if (added.empty()) return RefuseField("text", "adds no tokens");
    made = ContinueTokens(base, added);
  }
  CAIRN_TRY(CheckSize(model, made));
  return made;
}

ContextText ContinueTokens(const ContextText& base, std::span<const TokenId> added) {
  if (added.empty()) return base;
  ContextText made{.tokens = base.tokens, .cache_salt = base.cache_salt};
  made.tokens.insert(made.tokens.end(), added.begin(), added.end());
  return made;
}

// ---- Chats ----

ApiResult<JsonNode> WholeChatBody(const ContextText& base, const JsonNode& body) {
  if (!base.is_chat) {
    return RefuseField("context",
                       "it is of text, not of messages: completions and \"text\" go on from it");
  }
  const JsonNode::Members* members = body.Object();
  if (members == nullptr) return RefuseField("body", "must be an object");
  JsonNode::Items messages = ItemsOf(base.messages_json);
  JsonNode::Members whole;
  bool has_tools = false, has_kwargs = false;
  for (const auto& [name, value] : *members) {
    if (value.IsNull()) continue;
    if (name == "messages") {
      if (value.Array() == nullptr) {
        return RefuseField("messages", fmt::format("must be an array, not {}", value.KindName()));
      }
      messages.insert(messages.end(), value.Array()->begin(), value.Array()->end());
      continue;
    }
    has_tools = has_tools || name == "tools";
    has_kwargs = has_kwargs || name == "chat_template_kwargs";
    whole.emplace_back(name, value);
  }
  whole.emplace_back("messages", JsonNode(std::move(messages)));
  if (!has_tools && !base.tools_json.empty()) whole.emplace_back("tools", Parsed(base.tools_json));
  if (!has_kwargs && !base.kwargs_json.empty()) {
    whole.emplace_back("chat_template_kwargs", Parsed(base.kwargs_json));
  }
  return JsonNode(std::move(whole));
}

ApiResult<ContextText> ContinueChat(const ServedModel& model, const ContextText& base,
                                    const JsonNode& whole_body, const ChatRequest& chat) {
  ContextText made{.cache_salt = base.cache_salt, .is_chat = true};
  made.messages_json = chat.messages_json;
  made.tools_json = DumpOf(whole_body, "tools");
  made.kwargs_json = DumpOf(whole_body, "chat_template_kwargs");
  made.messages = CountOf(chat.messages_json);
  CAIRN_API_ASSIGN(made.text, RenderChat(model, chat));
  CAIRN_API_ASSIGN(made.tokens, FromResult(model.tokenizer->EncodeChat(made.text)));
  const bool same_text = made.text.starts_with(base.text);
  if (CommonTokens(made.tokens, base.tokens) < base.size() && same_text) {
    const std::string_view rest = std::string_view(made.text).substr(base.text.size());
    if (const auto added = EncodeRest(model, rest)) {
      made.tokens = base.tokens;
      made.tokens.insert(made.tokens.end(), added->begin(), added->end());
    }
  }
  // What is still so.
  const int64_t common = CommonTokens(made.tokens, base.tokens);
  const auto keeps = [&](const ContextText::Mark& mark) {
    return mark.tokens <= common &&
           made.text.compare(0, mark.text_bytes, base.text, 0, mark.text_bytes) == 0;
  };
  std::ranges::copy_if(base.marks, std::back_inserter(made.marks), keeps);
  const ContextText::Mark end{base.messages, base.size(), base.text.size()};
  if (base.size() < made.size() && keeps(end)) made.marks.push_back(end);
  return made;
}

// ---- Rewinding ----

namespace {

ContextText CutAt(const ContextText& base, const ContextText::Mark& mark) {
  ContextText made = base;
  made.tokens.resize(static_cast<size_t>(mark.tokens));
  std::erase_if(made.marks, [&](const auto& each) { return each.tokens >= mark.tokens; });
  JsonNode::Items messages = ItemsOf(base.messages_json);
  messages.resize(std::min(messages.size(), static_cast<size_t>(mark.messages)));
  made.messages = static_cast<int64_t>(messages.size());
  made.messages_json = JsonNode(std::move(messages)).Dump();
  made.text.resize(std::min(made.text.size(), mark.text_bytes));
  return made;
}

ApiResult<ContextText> RewindToTokens(const ContextText& base, int64_t tokens) {
  if (tokens == base.size()) return base;
  const auto found = std::ranges::find(base.marks, tokens, &ContextText::Mark::tokens);
  if (base.is_chat && found != base.marks.end()) return CutAt(base, *found);
  const auto first = base.tokens.begin();
  return ContextText{.tokens = {first, first + tokens}, .cache_salt = base.cache_salt};
}

ApiResult<ContextText> RewindToMessages(const ServedModel& model, const ContextText& base,
                                        int64_t messages) {
  if (messages == base.messages) return base;
  for (const ContextText::Mark& mark : std::views::reverse(base.marks)) {
    if (mark.messages == messages) return CutAt(base, mark);
  }
  JsonNode::Items items = ItemsOf(base.messages_json);
  items.resize(static_cast<size_t>(messages));
  JsonNode::Members body;
  body.emplace_back("messages", JsonNode(std::move(items)));
  if (!base.tools_json.empty()) body.emplace_back("tools", Parsed(base.tools_json));
  if (!base.kwargs_json.empty()) {
    body.emplace_back("chat_template_kwargs", Parsed(base.kwargs_json));
  }
  CAIRN_API_ASSIGN(const ChatRequest chat, ParseFinishedChat(JsonNode(std::move(body))));
  CAIRN_API_ASSIGN(const std::string text, RenderChat(model, chat));
  CAIRN_API_ASSIGN(const std::vector<TokenId> tokens,
                   FromResult(model.tokenizer->EncodeChat(text)));
  const auto size = static_cast<int64_t>(tokens.size());
  if (CommonTokens(tokens, base.tokens) < size || !base.text.starts_with(text)) {
    return RefuseField("messages",
                       fmt::format("the template writes the first {} otherwise where no more "
                                   "follow; a count of tokens would be right",
                                   messages));
  }
  return CutAt(base, {messages, size, text.size()});
}

}  // namespace

ApiResult<ContextText> RewindContext(const ServedModel& model, const ContextText& base,
                                     const JsonNode& body) {
  ApiFields fields(body, "");
  const auto tokens = fields.Integer("tokens", 1, base.size());
  const int64_t most = base.is_chat ? base.messages : 0;
  std::optional<int64_t> messages;
  if (fields.Any("messages") != nullptr && !base.is_chat) {
    fields.Refuse("messages", "the context is of text; a count of tokens would be right");
  } else {
    messages = fields.Integer("messages", 1, most);
  }
  if (fields.ok() && tokens.has_value() == messages.has_value()) {
    fields.Refuse("tokens", "is missing, or messages; one of them says where to");
  }
  if (!fields.ok()) return std::unexpected(*fields.problem());
  return tokens ? RewindToTokens(base, *tokens) : RewindToMessages(model, base, *messages);
}

// ---- Answers ----

namespace {

// Tokens whose text is as the answer's; the rest of it.
size_t TokensWithin(const ServedModel& model, const GivenAnswer& answer, std::string& rest) {
  const DecodeOptions as_given{.skip_special = !answer.shows_special, .at_text_start = false};
  const auto decode = [&](size_t count) {
    return model.tokenizer->Decode(std::span(answer.tokens).first(count), as_given);
  };
  size_t count = 0, bytes = 0;
  for (size_t i = 0; i < answer.tokens.size(); ++i) {
    const TokenId token = answer.tokens[i];
    if (answer.shows_special || !model.tokenizer->IsSpecial(token)) {
      bytes += model.tokenizer->TokenBytes(token).size();
    }
    if (bytes > answer.text.size()) break;
    count = i + 1;
  }
  std::string text = decode(count);
  // Bytes that are no characters have longer texts.
  if (!answer.text.starts_with(text)) text = decode(count = 0);
  rest = answer.text.substr(text.size());
  return count;
}

JsonNode MessageOf(const GivenAnswer& answer) {
  ToolCallReader reader(answer.form);
  std::string content = reader.Push(answer.text).text;
  content += reader.Flush().text;
  JsonNode::Members message;
  message.emplace_back("role", JsonNode(std::string("assistant")));
  message.emplace_back("content", JsonNode(std::move(content)));
  if (answer.calls.empty()) return JsonNode(std::move(message));
  JsonNode::Items calls;
  for (const ToolCall& call : answer.calls) {
    JsonNode::Members function;
    function.emplace_back("name", JsonNode(call.name));
    function.emplace_back("arguments", Parsed(call.arguments_json));
    JsonNode::Members one;
    one.emplace_back("id", JsonNode(call.id));
    one.emplace_back("type", JsonNode(std::string("function")));
    one.emplace_back("function", JsonNode(std::move(function)));
    calls.emplace_back(std::move(one));
  }
  message.emplace_back("tool_calls", JsonNode(std::move(calls)));
  return JsonNode(std::move(message));
}

}  // namespace

ContextText AddAnswer(const ServedModel& model, ContextText prompt, const GivenAnswer& answer) {
  std::string rest;
  const bool whole =
      model.tokenizer->Decode(answer.tokens, {.skip_special = !answer.shows_special,
                                              .at_text_start = false}) == answer.text;
  const size_t count = whole ? answer.tokens.size() : TokensWithin(model, answer, rest);
  const auto first = answer.tokens.begin();
  prompt.tokens.insert(prompt.tokens.end(), first, first + static_cast<ptrdiff_t>(count));
  if (!rest.empty()) {
    const ApiResult<std::vector<TokenId>> added = EncodeAlone(model, rest);
    if (added) prompt.tokens.insert(prompt.tokens.end(), added->begin(), added->end());
  }
  if (!prompt.is_chat) return prompt;
  JsonNode::Items messages = ItemsOf(prompt.messages_json);
  messages.push_back(MessageOf(answer));
  prompt.messages = static_cast<int64_t>(messages.size());
  prompt.messages_json = JsonNode(std::move(messages)).Dump();
  prompt.text += answer.text;
  return prompt;
}

}  // namespace cairn
