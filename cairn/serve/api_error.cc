#include "cairn/serve/api_error.h"

#include <nlohmann/json.hpp>
#include <utility>

namespace cairn {
namespace {

using Json = nlohmann::ordered_json;

struct Row {
  int status;
  const char* openai;
  const char* anthropic;
};

// By ApiErrorType.
constexpr Row kRows[] = {
    {400, "invalid_request_error", "invalid_request_error"},
    {400, "exceed_context_size_error", "invalid_request_error"},
    {400, "exceed_state_budget_error", "invalid_request_error"},
    {401, "authentication_error", "authentication_error"},
    {404, "not_found_error", "not_found_error"},
    {405, "invalid_request_error", "invalid_request_error"},
    {408, "invalid_request_error", "invalid_request_error"},
    {409, "conflict_error", "invalid_request_error"},
    {413, "invalid_request_error", "request_too_large"},
    {429, "rate_limit_error", "rate_limit_error"},
    {431, "invalid_request_error", "invalid_request_error"},
    {499, "invalid_request_error", "invalid_request_error"},
    {500, "server_error", "api_error"},
    {501, "not_supported_error", "invalid_request_error"},
    {503, "unavailable_error", "overloaded_error"},
};

const Row& RowOf(const ApiError& error) { return kRows[static_cast<size_t>(error.type)]; }

// Messages may quote a request; they must stay JSON whatever it held.
std::string DumpLossy(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

int ApiError::status() const { return RowOf(*this).status; }

std::unexpected<ApiError> RefuseField(std::string param, std::string why) {
  ApiError error;
  error.message = param + ": " + why;
  error.param = std::move(param);
  return std::unexpected(std::move(error));
}

ApiError ErrorOf(const Error& error) {
  ApiError out;
  out.message = error.message;
  switch (error.code) {
    case ErrorCode::kInvalidArgument:
    case ErrorCode::kNotFound:
    case ErrorCode::kUnsupported:
      out.type = ApiErrorType::kInvalidRequest;
      break;
    case ErrorCode::kExhausted:
    case ErrorCode::kCancelled:  // whoever would do it is stopping
      out.type = ApiErrorType::kUnavailable;
      break;
    case ErrorCode::kCorrupt:
    case ErrorCode::kIo:
      out.type = ApiErrorType::kServer;
      break;
  }
  return out;
}

ApiError ContextError(int64_t prompt_tokens, int64_t context_tokens) {
  ApiError error;
  error.type = ApiErrorType::kContextSize;
  error.message = fmt::format(
      "the prompt has {} tokens; this model's maximum context length is {} tokens, and an answer "
      "needs at least one of them",
      prompt_tokens, context_tokens);
  error.prompt_tokens = prompt_tokens;
  error.context_tokens = context_tokens;
  return error;
}

std::string OpenAiErrorJson(const ApiError& error) {
  const Row& row = RowOf(error);
  Json inner = {{"code", row.status}, {"message", error.message}, {"type", row.openai}};
  inner["param"] = error.param.empty() ? Json() : Json(error.param);
  if (error.type == ApiErrorType::kContextSize) {
    inner["n_prompt_tokens"] = error.prompt_tokens;
    inner["n_ctx"] = error.context_tokens;
  }
  if (error.type == ApiErrorType::kStateBudget) inner["missing_bytes"] = error.missing_bytes;
  return DumpLossy({{"error", std::move(inner)}});
}

std::string AnthropicErrorJson(const ApiError& error) {
  return DumpLossy({{"type", "error"},
                    {"error", {{"type", RowOf(error).anthropic}, {"message", error.message}}}});
}

}  // namespace cairn
