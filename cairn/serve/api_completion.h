// /v1/completions, and the small endpoints about text: /tokenize, /detokenize.
//
// Pure functions; thread-safe.
#ifndef CAIRN_SERVE_API_COMPLETION_H_
#define CAIRN_SERVE_API_COMPLETION_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "cairn/base/ids.h"
#include "cairn/serve/answer_options.h"
#include "cairn/serve/api_error.h"
#include "cairn/serve/json_node.h"

namespace cairn {

// A text, or a text as token ids.
using CompletionPrompt = std::variant<std::string, std::vector<TokenId>>;

struct PromptLimits {
  int64_t vocabulary = 0;
  size_t most = 0;  // prompts
};
// At least one, or a problem of the fields.
std::vector<CompletionPrompt> ReadPrompts(ApiFields& fields, std::string_view name,
                                          const PromptLimits& limits);

struct CompletionRequest {
  AnswerOptions options;
  std::vector<CompletionPrompt> prompts;  // at least one
  bool echo = false;                      // the prompt's text in front of the answer's
};
ApiResult<CompletionRequest> ParseCompletionRequest(const JsonNode& body,
                                                    const AnswerDefaults& defaults);

struct TokenizeRequest {
  std::string content;
  bool add_special = false;
  bool parse_special = true;
  bool with_pieces = false;
};
ApiResult<TokenizeRequest> ParseTokenizeRequest(const JsonNode& body);

ApiResult<std::vector<TokenId>> ParseDetokenizeRequest(const JsonNode& body, int64_t vocabulary);

}  // namespace cairn

#endif  // CAIRN_SERVE_API_COMPLETION_H_
