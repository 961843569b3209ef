// Any bytes as the body of any request: a typed request that keeps its promises, or an error that
// is JSON again.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "cairn/base/check.h"
#include "cairn/serve/api_chat.h"
#include "cairn/serve/api_completion.h"
#include "cairn/serve/api_embeddings.h"
#include "cairn/serve/api_messages.h"
#include "cairn/serve/json_node.h"
#include "cairn/serve/model_for_tests.h"
#include "cairn/serve/prepare_context.h"
#include "cairn/text/utf8.h"

namespace {

using cairn::AnswerOptions;
using cairn::ApiResult;
using cairn::JsonNode;

constexpr int64_t kVocabulary = 500;

// What any body may be nested like, or turned into, before its own limits apply once more.
constexpr cairn::JsonLimits kDerived = {.depth = 80, .values = int64_t{1} << 22};

template <class T>
bool Accepted(const ApiResult<T>& result) {
  if (result) return true;
  CAIRN_CHECK(result.error().status() == 400);
  CAIRN_CHECK(!result.error().message.empty());
  CAIRN_CHECK(JsonNode::Parse(cairn::OpenAiErrorJson(result.error()), kDerived));
  CAIRN_CHECK(JsonNode::Parse(cairn::AnthropicErrorJson(result.error()), kDerived));
  return false;
}

void CheckOptions(const AnswerOptions& options) {
  CAIRN_CHECK(cairn::CheckSamplingOptions(options.sampling));
  CAIRN_CHECK(options.answers >= 1);
  for (const std::string& stop : options.stops) CAIRN_CHECK(!stop.empty());
  for (size_t i = 0; i < options.logit_bias.size(); ++i) {
    const auto& [token, bias] = options.logit_bias[i];
    CAIRN_CHECK(token.value() >= 0 && token.value() < kVocabulary && !std::isnan(bias));
    CAIRN_CHECK(i == 0 || options.logit_bias[i - 1].first < token);
  }
}

void CheckChat(const cairn::ChatRequest& chat) {
  CheckOptions(chat.options);
  const auto messages = JsonNode::Parse(chat.messages_json, kDerived);
  CAIRN_CHECK(messages && messages->Array() != nullptr && !messages->Array()->empty());
  const auto variables = JsonNode::Parse(chat.variables_json, kDerived);
  CAIRN_CHECK(variables && variables->Object() != nullptr);
}

void CheckText(const cairn::ContextText& text, int64_t context) {
  CAIRN_CHECK(!text.tokens.empty() && text.size() < context);
  const auto messages = JsonNode::Parse(text.messages_json, kDerived);
  CAIRN_CHECK(text.is_chat == (messages && messages->Array() != nullptr));
  if (text.is_chat) CAIRN_CHECK(std::ssize(*messages->Array()) == text.messages);
  for (const auto& mark : text.marks) {
    CAIRN_CHECK(mark.tokens <= text.size() && mark.text_bytes <= text.text.size());
  }
}

// The body as each request about contexts, first without one and then on what that has made.
void CheckContexts(std::string_view body) {
  static const cairn::ModelForTests model;
  const int64_t context = model.served.context;
  cairn::ContextText base{.is_chat = true,
                          .messages_json = R"([{"role":"user","content":"hi"}])",
                          .text = "u:hi;",
                          .messages = 1};
  base.tokens = *model.tokenizer->Encode(base.text);
  if (auto made = PrepareContextMake(model.served, body, {}); Accepted(made)) {
    base = std::move(made->context->text);
    CheckText(base, context);
  }
  const cairn::RequestFacts facts{.context = &base};
  if (const auto more = PrepareContextAppend(model.served, body, facts); Accepted(more)) {
    CheckText(more->context->text, context);
    CAIRN_CHECK(more->context->kept_tokens <= base.size());
  }
  if (const auto back = PrepareContextRewind(model.served, body, facts); Accepted(back)) {
    CheckText(back->context->text, context);
    const int64_t common = CommonTokens(back->context->text.tokens, base.tokens);
    CAIRN_CHECK(common == back->context->text.size());
  }
  if (const auto forks = PrepareContextFork(model.served, body, facts); Accepted(forks)) {
    CAIRN_CHECK(forks->context->count >= 1);
  }
  for (const auto prepare : {cairn::PrepareChat, cairn::PrepareCompletion}) {
    const auto answer = prepare(model.served, body, facts);
    if (!Accepted(answer) || !answer->context) continue;
    CAIRN_CHECK(!answer->jobs.empty() && answer->renderer != nullptr);
    CAIRN_CHECK(answer->context->kept_tokens <= base.size());
  }
  Accepted(cairn::ParseContextTouch(body));
  Accepted(cairn::ParseContextRelease(body));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto body = JsonNode::Parse(text);
  if (!body) return 0;
  CAIRN_CHECK(cairn::FindInvalidUtf8(text) == std::string_view::npos);
  CAIRN_CHECK(JsonNode::Parse(body->Dump())->Dump() == body->Dump());
  const cairn::AnswerDefaults defaults = {.vocabulary = kVocabulary};
  if (const auto chat = ParseChatRequest(*body, defaults); Accepted(chat)) CheckChat(*chat);
  if (const auto chat = ParseMessagesRequest(*body, defaults); Accepted(chat)) CheckChat(*chat);
  CheckContexts(text);
  Accepted(cairn::ParseCountRequest(*body));
  Accepted(cairn::ParseTemplateRequest(*body));
  Accepted(cairn::ParseTokenizeRequest(*body));
  Accepted(cairn::ParseDetokenizeRequest(*body, kVocabulary));
  constexpr int64_t kWidth = 8;
  const auto embeddings = ParseEmbeddingsRequest(*body, kVocabulary, kWidth);
  if (Accepted(embeddings)) {
    CAIRN_CHECK(!embeddings->inputs.empty());
    CAIRN_CHECK(embeddings->dimensions >= 0 && embeddings->dimensions <= kWidth);
  }
  const auto completion = ParseCompletionRequest(*body, defaults);
  if (Accepted(completion)) {
    CheckOptions(completion->options);
    const auto prompts = static_cast<int64_t>(completion->prompts.size());
    CAIRN_CHECK(prompts >= 1 && prompts * completion->options.answers <= defaults.max_answers);
  }
  return 0;
}
