#include "cairn/serve/api_completion.h"

#include <algorithm>
#include <utility>

#include "cairn/serve/api_fields.h"

namespace cairn {
namespace {

constexpr size_t kMaxPrompts = 1024;
constexpr size_t kMaxTokens = size_t{1} << 24;
constexpr size_t kMaxTextBytes = size_t{1} << 30;  // the body's own limit comes first
constexpr int64_t kMaxLogprobs = 20;
// OpenAI's default for this endpoint.
constexpr int64_t kDefaultMaxTokens = 16;

bool IsTokenList(const JsonNode::Items& items) {
  return !items.empty() && std::ranges::all_of(items, [](const JsonNode& item) {
    return item.Integer().has_value();
  });
}

std::vector<TokenId> TokensOf(const JsonNode::Items& items, const std::string& path,
                              int64_t vocabulary, ApiFields& problems) {
  std::vector<TokenId> tokens;
  tokens.reserve(items.size());
  for (const JsonNode& item : items) {
    const int64_t id = item.Integer().value_or(-1);
    if (id < 0 || id >= vocabulary) {
      problems.Refuse(path, fmt::format("{} is no token id of this model", item.Dump()));
      return tokens;
    }
    tokens.emplace_back(static_cast<int32_t>(id));
  }
  return tokens;
}

}  // namespace

std::vector<CompletionPrompt> ReadPrompts(ApiFields& fields, std::string_view name,
                                          const PromptLimits& limits) {
  std::vector<CompletionPrompt> prompts;
  fields.Require(name);
  const JsonNode* found = fields.Any(name);
  if (found == nullptr) return prompts;
  if (const std::string* text = found->String()) {
    prompts.emplace_back(*text);
    return prompts;
  }
  const JsonNode::Items* items = found->Array();
  if (items == nullptr) {
    fields.Refuse(name, "must be a text, token ids, or an array of these");
    return prompts;
  }
  if (IsTokenList(*items)) {
    prompts.emplace_back(TokensOf(*items, std::string(name), limits.vocabulary, fields));
    return prompts;
  }
  if (items->empty() || items->size() > limits.most) {
    fields.Refuse(name, fmt::format("must hold 1 to {} {}s", limits.most, name));
    return prompts;
  }
  for (size_t i = 0; i < items->size() && fields.ok(); ++i) {
    const JsonNode& item = items->at(i);
    const std::string path = PathOfItem(name, i);
    if (const std::string* text = item.String()) {
      prompts.emplace_back(*text);
    } else if (item.Array() != nullptr && IsTokenList(*item.Array())) {
      prompts.emplace_back(TokensOf(*item.Array(), path, limits.vocabulary, fields));
    } else {
      fields.Refuse(path, "must be a text or token ids");
    }
  }
  return prompts;
}

ApiResult<CompletionRequest> ParseCompletionRequest(const JsonNode& body,
                                                    const AnswerDefaults& defaults) {
  ApiFields fields(body, "");
  CompletionRequest to;
  to.prompts =
      ReadPrompts(fields, "prompt", {.vocabulary = defaults.vocabulary, .most = kMaxPrompts});
  to.options = ReadOpenAiOptions(fields, defaults);
  to.options.max_tokens = fields.Integer("max_tokens", 0, INT32_MAX).value_or(kDefaultMaxTokens);
  if (const auto count = fields.Integer("logprobs", 0, kMaxLogprobs)) {
    to.options.wants_logprobs = true;
    to.options.top_logprobs = static_cast<int32_t>(*count);
  }
  to.echo = fields.Bool("echo").value_or(false);
  if (to.echo && to.options.wants_logprobs) {
    fields.Refuse("echo", "isn't supported together with logprobs");
  }
  if (fields.Any("suffix") != nullptr) fields.Refuse("suffix", "isn't supported");
  const auto best_of = fields.Integer("best_of", 1, defaults.max_answers);
  if (best_of && *best_of != to.options.answers) {
    fields.Refuse("best_of", "isn't supported unless it equals n");
  }
  const auto answers = static_cast<int64_t>(to.prompts.size()) * to.options.answers;
  if (answers > defaults.max_answers) {
    fields.Refuse(
        "n", fmt::format("{} answers; one request may ask for {}", answers, defaults.max_answers));
  }
  if (!fields.ok()) return std::unexpected(*fields.problem());
  return to;
}

ApiResult<TokenizeRequest> ParseTokenizeRequest(const JsonNode& body) {
  ApiFields fields(body, "");
  TokenizeRequest to;
  fields.Require("content");
  to.content = fields.String("content", kMaxTextBytes).value_or("");
  to.add_special = fields.Bool("add_special").value_or(false);
  to.parse_special = fields.Bool("parse_special").value_or(true);
  to.with_pieces = fields.Bool("with_pieces").value_or(false);
  if (!fields.ok()) return std::unexpected(*fields.problem());
  return to;
}

ApiResult<std::vector<TokenId>> ParseDetokenizeRequest(const JsonNode& body, int64_t vocabulary) {
  ApiFields fields(body, "");
  fields.Require("tokens");
  const JsonNode::Items* items = fields.Array("tokens", kMaxTokens);
  std::vector<TokenId> tokens;
  if (items != nullptr) tokens = TokensOf(*items, "tokens", vocabulary, fields);
  if (!fields.ok()) return std::unexpected(*fields.problem());
  return tokens;
}

}  // namespace cairn
