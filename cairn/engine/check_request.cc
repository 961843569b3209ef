#include "cairn/engine/check_request.h"

#include <cmath>

namespace cairn {
namespace {

Status CheckTokens(const GenerationRequest& request, int64_t vocabulary, TokenCount context) {
  const auto inside = [vocabulary](TokenId token) {
    return token.value() >= 0 && token.value() < vocabulary;
  };
  if (request.prompt.empty()) {
    return Fail(ErrorCode::kInvalidArgument, "the prompt is empty: it must have a token or more");
  }
  for (const TokenId token : request.prompt) {
    if (inside(token)) continue;
    return Fail(ErrorCode::kInvalidArgument, "token id {} is outside the vocabulary of {}",
                token.value(), vocabulary);
  }
  if (request.prompt.size() >= static_cast<size_t>(context.value())) {
    return Fail(ErrorCode::kInvalidArgument,
                "a prompt of {} tokens leaves no room for an answer: the context is {} tokens",
                request.prompt.size(), context.value());
  }
  for (size_t i = 0; i < request.logit_bias.size(); ++i) {
    const auto& [token, bias] = request.logit_bias[i];
    if (!inside(token) || std::isnan(bias)) {
      return Fail(ErrorCode::kInvalidArgument,
                  "logit bias {} of token id {} can't be: ids are in [0, {}), biases are numbers",
                  bias, token.value(), vocabulary);
    }
    if (i > 0 && request.logit_bias[i - 1].first >= token) {
      return Fail(ErrorCode::kInvalidArgument,
                  "logit biases must come by rising token id; {} comes after {}", token.value(),
                  request.logit_bias[i - 1].first.value());
    }
  }
  return {};
}

}  // namespace

Status CheckRequest(const GenerationRequest& request, const ModelSpec& spec, TokenCount context) {
  CAIRN_TRY(CheckTokens(request, spec.vocabulary, context));
  CAIRN_TRY(CheckSamplingOptions(request.sampling));
  if (request.max_tokens < 0) {
    return Fail(ErrorCode::kInvalidArgument, "max_tokens {} is out of range: it must be 0 or more",
                request.max_tokens);
  }
  if (request.answers < 1 || request.answers > kMaxAnswers) {
    return Fail(ErrorCode::kInvalidArgument, "{} answers are out of range: it must be in [1, {}]",
                request.answers, kMaxAnswers);
  }
  if (request.top_logprobs < 0 || request.top_logprobs > spec.vocabulary) {
    return Fail(ErrorCode::kInvalidArgument,
                "top_logprobs {} is out of range: it must be in [0, {}]", request.top_logprobs,
                spec.vocabulary);
  }
  if (request.embedding && (request.max_tokens != 0 || request.answers != 1)) {
    return Fail(ErrorCode::kInvalidArgument,
                "an embedding is one answer of no tokens; {} of {} are asked for", request.answers,
                request.max_tokens);
  }
  if (request.embedding && request.policy) {
    return Fail(ErrorCode::kInvalidArgument,
                "an embedding reads all tokens; token policy {} can't hold for it",
                request.policy->Name());
  }
  return {};
}

}  // namespace cairn
