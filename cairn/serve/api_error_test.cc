#include "cairn/serve/api_error.h"

#include <doctest/doctest.h>

namespace cairn {
namespace {

TEST_CASE("a refused field is named in the message and in param") {
  const std::unexpected<ApiError> refused = RefuseField("max_tokens", "must be a whole number");
  CHECK(OpenAiErrorJson(refused.error()) ==
        R"({"error":{"code":400,"message":"max_tokens: must be a whole number",)"
        R"("type":"invalid_request_error","param":"max_tokens"}})");
  CHECK(AnthropicErrorJson(refused.error()) ==
        R"({"type":"error","error":{"type":"invalid_request_error",)"
        R"("message":"max_tokens: must be a whole number"}})");
}

TEST_CASE("a prompt that is too long is told both numbers") {
  const ApiError error = ContextError(5000, 4096);
  CHECK(error.status() == 400);
  const std::string json = OpenAiErrorJson(error);
  CHECK(json.contains(R"("type":"exceed_context_size_error")"));
  CHECK(json.contains(R"("n_prompt_tokens":5000,"n_ctx":4096)"));
}

TEST_CASE("what the budget of state could never hold is told the bytes that are missing") {
  const ApiError error{
      .type = ApiErrorType::kStateBudget, .message = "too much", .missing_bytes = 96};
  CHECK(error.status() == 400);
  const std::string json = OpenAiErrorJson(error);
  CHECK(json.contains(R"("type":"exceed_state_budget_error")"));
  CHECK(json.contains(R"("missing_bytes":96)"));
  CHECK(AnthropicErrorJson(error).contains(R"("type":"invalid_request_error")"));
}

TEST_CASE("types have the status and the names that clients check") {
  const auto shown = [](ApiErrorType type) {
    const ApiError error{.type = type, .message = "m"};
    return fmt::format("{} {}", error.status(), OpenAiErrorJson(error));
  };
  CHECK(shown(ApiErrorType::kAuthentication).starts_with("401"));
  CHECK(shown(ApiErrorType::kAuthentication).contains("authentication_error"));
  CHECK(shown(ApiErrorType::kNotSupported).starts_with("501"));
  CHECK(shown(ApiErrorType::kNotSupported).contains("not_supported_error"));
  CHECK(shown(ApiErrorType::kServer).contains(R"("type":"server_error")"));
  CHECK(shown(ApiErrorType::kUnavailable).starts_with("503"));
  CHECK(shown(ApiErrorType::kUnavailable).contains("unavailable_error"));
}

TEST_CASE("exhaustion is temporary, bad input the client's fault, the rest ours") {
  CHECK(ErrorOf({ErrorCode::kExhausted, "full"}).status() == 503);
  CHECK(ErrorOf({ErrorCode::kInvalidArgument, "bad"}).status() == 400);
  CHECK(ErrorOf({ErrorCode::kIo, "disk"}).status() == 500);
}

TEST_CASE("a message with bytes that are no UTF-8 still makes JSON") {
  CHECK(OpenAiErrorJson({.message = "\xff"}).contains("\xEF\xBF\xBD"));
}

}  // namespace
}  // namespace cairn
