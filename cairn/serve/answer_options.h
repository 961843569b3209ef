// What the endpoints that generate have in common: how to answer, whatever the prompt's form.
//
// Pure parsing; which names a field has is the caller's to say, what values it may have is here.
#ifndef CAIRN_SERVE_ANSWER_OPTIONS_H_
#define CAIRN_SERVE_ANSWER_OPTIONS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cairn/base/ids.h"
#include "cairn/engine/sampler.h"
#include "cairn/policies/policy_settings.h"
#include "cairn/serve/api_fields.h"

namespace cairn {

// The server's own settings that a request may lower or fill in.
struct AnswerDefaults {
  SamplingOptions sampling = {};
  int64_t max_tokens = 0;  // 0: as many as the context holds
  int64_t vocabulary = INT32_MAX;
  int32_t max_answers = 128;                            // of one request, prompts times n
  uint64_t seed = 0;                                    // for requests that name none
  std::optional<PolicySettings> policy = std::nullopt;  // likewise
};

struct AnswerFormat {
  enum class Kind : uint8_t { kText, kJsonObject, kJsonSchema };
  Kind kind = Kind::kText;
  std::string schema_json;
  std::string param;  // the field that asked for it
};

struct AnswerOptions {
  std::string model;  // as the request named it; empty: it didn't
  SamplingOptions sampling;
  std::optional<int64_t> max_tokens;
  int32_t answers = 1;
  std::vector<std::string> stops;
  std::vector<std::pair<TokenId, float>> logit_bias;  // by rising id
  bool wants_logprobs = false;
  int32_t top_logprobs = 0;
  bool stream = false;
  bool stream_usage = false;
  bool ignore_end = false;
  std::string cache_salt;
  int32_t priority = 0;
  AnswerFormat format;
  std::optional<PolicySettings> policy;
};

// Fields of OpenAI's endpoints and those that other servers add: model, temperature, top_p, top_k,
// min_p, repeat_penalty, seed, n, stop, logit_bias, stream, stream_options, ignore_eos, cache_salt,
// prompt_cache_key, user, priority, token_policy, response_format; refuses those that nothing here
// can do.
AnswerOptions ReadOpenAiOptions(ApiFields& fields, const AnswerDefaults& defaults);

// "name": text or array of texts.
std::vector<std::string> ReadStops(ApiFields& fields, std::string_view name);
// token_policy: as `cairn run` takes it, or "none".
std::optional<PolicySettings> ReadTokenPolicy(ApiFields& fields, const AnswerDefaults& defaults);
// The sampling fields alone.
SamplingOptions ReadSampling(ApiFields& fields, const AnswerDefaults& defaults);

}  // namespace cairn

#endif  // CAIRN_SERVE_ANSWER_OPTIONS_H_
