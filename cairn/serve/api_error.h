// ApiError: what a client is told when its request can't be answered.
//
// Plain data and pure rendering in the shapes of OpenAI (with llama-server's members) and of
// Anthropic. Thread-safe.
#ifndef CAIRN_SERVE_API_ERROR_H_
#define CAIRN_SERVE_API_ERROR_H_

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>

#include "cairn/base/status.h"

namespace cairn {

// The names that clients check; each has one HTTP status.
enum class ApiErrorType : uint8_t {
  kInvalidRequest,  // 400
  kContextSize,     // 400
  kStateBudget,     // 400
  kAuthentication,  // 401
  kNotFound,        // 404
  kMethod,          // 405
  kTimeout,         // 408
  kConflict,        // 409: another request is changing the same
  kTooLarge,        // 413
  kRateLimit,       // 429
  kHeaderTooLarge,  // 431
  kLeft,            // 499: nobody reads it
  kServer,          // 500
  kNotSupported,    // 501
  kUnavailable,     // 503
};

struct ApiError {
  ApiErrorType type = ApiErrorType::kInvalidRequest;
  std::string message = {};
  std::string param = {};  // the field, as in "messages[2].role"; empty: none
  // Of kContextSize.
  int64_t prompt_tokens = 0;
  int64_t context_tokens = 0;
  int64_t missing_bytes = 0;  // of kStateBudget

  int status() const;
};

template <class T>
using ApiResult = std::expected<T, ApiError>;

// Returns the ApiError of `expression` to the caller, or declares its value.
#define CAIRN_API_ASSIGN(declaration, expression) \
  CAIRN_ASSIGN_NAMED(CAIRN_CONCAT(cairn_api_, __LINE__), declaration, expression)

// "max_tokens: ..." as a request's fault.
std::unexpected<ApiError> RefuseField(std::string param, std::string why);
// An error of the library below: bad input is the request's fault, exhaustion is temporary.
ApiError ErrorOf(const Error& error);
// The prompt leaves no room for an answer.
ApiError ContextError(int64_t prompt_tokens, int64_t context_tokens);

// {"error": {"code", "message", "type", "param", ...}}
std::string OpenAiErrorJson(const ApiError& error);
// {"type": "error", "error": {"type", "message"}}
std::string AnthropicErrorJson(const ApiError& error);

}  // namespace cairn

#endif  // CAIRN_SERVE_API_ERROR_H_
