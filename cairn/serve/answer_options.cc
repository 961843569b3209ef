#include "cairn/serve/answer_options.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

namespace cairn {
namespace {

constexpr size_t kMaxNameBytes = 1024;
constexpr size_t kMaxStops = 32;
constexpr size_t kMaxStopBytes = 1024;
constexpr size_t kMaxBiases = 4096;
constexpr double kMaxBias = 100;
constexpr double kLeastTopP = 1e-9;  // 0 means the likeliest token alone
constexpr int64_t kMaxPriority = 1'000'000;

// What OpenAI's clients may send that changes the answer, and nothing here does.
void RefuseUnsupported(ApiFields& fields) {
  for (const char* name : {"frequency_penalty", "presence_penalty"}) {
    if (fields.Number(name, -2, 2).value_or(0) != 0) {
      fields.Refuse(name, "isn't supported; repeat_penalty is");
    }
  }
  if (fields.Integer("min_tokens", 0, INT32_MAX).value_or(0) > 0) {
    fields.Refuse("min_tokens", "isn't supported");
  }
  for (const char* name : {"audio", "prediction", "web_search_options", "functions",
                           "function_call", "grammar", "guided_regex", "guided_choice"}) {
    if (fields.Any(name) != nullptr) fields.Refuse(name, "isn't supported");
  }
}

std::optional<TokenId> TokenFrom(std::string_view text, int64_t vocabulary) {
  int32_t id = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), id);
  if (problem != std::errc() || end != text.data() + text.size()) return std::nullopt;
  if (id < 0 || id >= vocabulary) return std::nullopt;
  return TokenId(id);
}

void AddBias(ApiFields& fields, std::optional<TokenId> token, const JsonNode& value,
             AnswerOptions& to) {
  if (!token) return fields.Refuse("logit_bias", "a key is no token id of this model");
  // llama-server's false: never this token.
  if (const bool* flag = value.Bool(); flag != nullptr && !*flag) {
    to.logit_bias.emplace_back(*token, -std::numeric_limits<float>::infinity());
    return;
  }
  const std::optional<double> bias = value.Number();
  if (!bias || std::abs(*bias) > kMaxBias) {
    return fields.Refuse("logit_bias", "a value isn't a number within -100 and 100");
  }
  // OpenAI: -100 is a ban.
  const bool bans = *bias == -kMaxBias;
  to.logit_bias.emplace_back(
      *token, bans ? -std::numeric_limits<float>::infinity() : static_cast<float>(*bias));
}

// {"42": -100}, or llama-server's [[42, -1.5], [43, false]].
void ReadLogitBias(ApiFields& fields, int64_t vocabulary, AnswerOptions& to) {
  const JsonNode* found = fields.Any("logit_bias");
  if (found == nullptr) return;
  if (const JsonNode::Members* members = found->Object()) {
    if (members->size() > kMaxBiases) return fields.Refuse("logit_bias", "has too many tokens");
    for (const auto& [key, value] : *members) {
      AddBias(fields, TokenFrom(key, vocabulary), value, to);
    }
  } else if (const JsonNode::Items* items = found->Array()) {
    if (items->size() > kMaxBiases) return fields.Refuse("logit_bias", "has too many tokens");
    for (const JsonNode& item : *items) {
      const JsonNode::Items* pair = item.Array();
      const auto id = pair != nullptr && pair->size() == 2 ? pair->front().Integer() : std::nullopt;
      if (!id) return fields.Refuse("logit_bias", "an item isn't [token id, number]");
      const bool known = *id >= 0 && *id < vocabulary;
      AddBias(fields, known ? std::optional(TokenId(static_cast<int32_t>(*id))) : std::nullopt,
              pair->back(), to);
    }
  } else {
    return fields.Refuse("logit_bias", "must be an object of token ids and numbers");
  }
  std::ranges::sort(to.logit_bias, {}, [](const auto& entry) { return entry.first; });
  const auto same = [](const auto& a, const auto& b) { return a.first == b.first; };
  if (std::ranges::adjacent_find(to.logit_bias, same) != to.logit_bias.end()) {
    fields.Refuse("logit_bias", "names a token twice");
  }
}

void ReadFormat(ApiFields& fields, AnswerOptions& to) {
  const JsonNode* found = fields.Object("response_format");
  if (found == nullptr) return;
  const std::string path = fields.PathOf("response_format");
  ApiFields format(*found, path);
  format.Require("type");
  const std::optional<std::string> type =
      format.Choice("type", {"text", "json_object", "json_schema"});
  to.format.param = path;
  const JsonNode* schema = nullptr;
  if (type == "json_object") {
    to.format.kind = AnswerFormat::Kind::kJsonObject;
    schema = format.Object("schema");  // llama-server's
  } else if (type == "json_schema") {
    format.Require("json_schema");
    if (const JsonNode* wrapped = format.Object("json_schema")) {
      ApiFields inner(*wrapped, path + ".json_schema");
      inner.Require("schema");
      schema = inner.Object("schema");
      to.format.param = inner.PathOf("schema");
      format.Adopt(inner);
    }
  }
  if (schema != nullptr) {
    to.format.kind = AnswerFormat::Kind::kJsonSchema;
    to.format.schema_json = schema->Dump();
  }
  fields.Adopt(format);
}

void ReadStreaming(ApiFields& fields, AnswerOptions& to) {
  to.stream = fields.Bool("stream").value_or(false);
  const JsonNode* found = fields.Object("stream_options");
  if (found == nullptr) return;
  if (!to.stream) return fields.Refuse("stream_options", "needs \"stream\": true");
  ApiFields options(*found, fields.PathOf("stream_options"));
  to.stream_usage = options.Bool("include_usage").value_or(false);
  fields.Adopt(options);
}

}  // namespace

std::vector<std::string> ReadStops(ApiFields& fields, std::string_view name) {
  const JsonNode* found = fields.Any(name);
  if (found == nullptr) return {};
  std::vector<std::string> stops;
  if (const std::string* one = found->String()) {
    stops.push_back(*one);
  } else if (const JsonNode::Items* items = fields.Array(name, kMaxStops)) {
    for (const JsonNode& item : *items) {
      const std::string* text = item.String();
      if (text == nullptr) {
        fields.Refuse(name, fmt::format("must hold strings, not {}", item.KindName()));
        return {};
      }
      stops.push_back(*text);
    }
  }
  for (const std::string& stop : stops) {
    if (stop.empty()) fields.Refuse(name, "an empty text would stop every answer");
    if (stop.size() > kMaxStopBytes) {
      fields.Refuse(name, fmt::format("a text has more than {} bytes", kMaxStopBytes));
    }
  }
  return stops;
}

SamplingOptions ReadSampling(ApiFields& fields, const AnswerDefaults& defaults) {
  SamplingOptions to = defaults.sampling;
  to.temperature = fields.Number("temperature", 0, 100).value_or(to.temperature);
  to.top_k = fields.Integer("top_k", -1, INT32_MAX).value_or(to.top_k);
  to.top_k = std::max<int64_t>(to.top_k, 0);  // -1: all, as others write it
  to.top_p = std::max(fields.Number("top_p", 0, 1).value_or(to.top_p), kLeastTopP);
  to.min_p = fields.Number("min_p", 0, 1).value_or(to.min_p);
  // llama-server's name, then vLLM's.
  for (const char* name : {"repeat_penalty", "repetition_penalty"}) {
    to.repetition_penalty = fields.Number(name, 0.01, 100).value_or(to.repetition_penalty);
  }
  to.repetition_window =
      fields.Integer("repeat_last_n", -1, INT32_MAX).value_or(to.repetition_window);
  to.seed = defaults.seed;
  const std::optional<int64_t> seed = fields.Integer("seed", INT64_MIN, INT64_MAX);
  if (seed && *seed != -1) to.seed = static_cast<uint64_t>(*seed);  // -1: a fresh one
  return to;
}

std::optional<PolicySettings> ReadTokenPolicy(ApiFields& fields, const AnswerDefaults& defaults) {
  const std::optional<std::string> named = fields.String("token_policy", kMaxNameBytes);
  if (!named) return defaults.policy;
  if (*named == "none") return std::nullopt;
  Result<PolicySettings> policy = PolicySettings::Parse(*named);
  if (policy) return *policy;
  fields.Refuse("token_policy", policy.error().message);
  return std::nullopt;
}

AnswerOptions ReadOpenAiOptions(ApiFields& fields, const AnswerDefaults& defaults) {
  AnswerOptions to;
  to.model = fields.String("model", kMaxNameBytes).value_or("");
  to.sampling = ReadSampling(fields, defaults);
  to.answers = static_cast<int32_t>(fields.Integer("n", 1, defaults.max_answers).value_or(1));
  to.stops = ReadStops(fields, "stop");
  ReadLogitBias(fields, defaults.vocabulary, to);
  ReadStreaming(fields, to);
  to.ignore_end = fields.Bool("ignore_eos").value_or(false);
  to.cache_salt = fields.String("cache_salt", kMaxNameBytes).value_or("");
  fields.String("prompt_cache_key", kMaxNameBytes);  // hints for servers with several caches
  fields.String("user", kMaxNameBytes);
  to.priority =
      static_cast<int32_t>(fields.Integer("priority", -kMaxPriority, kMaxPriority).value_or(0));
  to.policy = ReadTokenPolicy(fields, defaults);
  ReadFormat(fields, to);
  RefuseUnsupported(fields);
  return to;
}

}  // namespace cairn
