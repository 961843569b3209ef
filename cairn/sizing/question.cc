#include "cairn/sizing/question.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "cairn/base/check.h"
#include "cairn/spec/hf_config.h"
#include "cairn/spec/quoted.h"

namespace cairn {
namespace {

// Whether a number makes sense is the estimator's to say, for all who ask.
constexpr IntRange kAnyInt64{std::numeric_limits<int64_t>::min(),
                             std::numeric_limits<int64_t>::max()};
constexpr IntRange kAnyInt{std::numeric_limits<int>::min(), std::numeric_limits<int>::max()};
constexpr FloatRange kAnyFloat{std::numeric_limits<double>::lowest(),
                               std::numeric_limits<double>::max()};
constexpr size_t kMaxListed = 4096;

Status ReadCodecs(const HfConfig& json, StateCodecs& codecs) {
  const auto read = [&](std::string_view key, StateForm& form) -> Status {
    for (const std::string_view spelling : {key, std::string_view("kv-dtype")}) {
      if (!json.Has(spelling)) continue;
      CAIRN_ASSIGN(const std::string name, json.String(spelling));
      CAIRN_ASSIGN(form, SizedFormFromName(spelling, name));
      CAIRN_TRY(CheckForm(spelling, form, key == "cache-type-k"));
      break;
    }
    return {};
  };
  CAIRN_TRY(read("cache-type-k", codecs.keys));
  CAIRN_TRY(read("cache-type-v", codecs.values));
  CAIRN_ASSIGN(const std::string convolutions, json.StringOr("convolution-dtype", ""));
  if (!convolutions.empty()) {
    CAIRN_ASSIGN(codecs.convolutions, SizedCodecFromName("convolution-dtype", convolutions));
  }
  CAIRN_ASSIGN(const std::string recurrent,
               json.StringOr("recurrent-dtype", InfoOf(codecs.recurrent).name));
  CAIRN_ASSIGN(codecs.recurrent, SizedCodecFromName("recurrent-dtype", recurrent));
  return {};
}

Status ReadQuestion(const HfConfig& json, SizingQuestion& question) {
  CAIRN_TRY(ReadCodecs(json, question.codecs));
  CAIRN_ASSIGN(question.batch, json.IntOr("batch", kAnyInt64, question.batch));
  if (json.Has("context")) {
    CAIRN_ASSIGN(const auto contexts, json.IntsUpTo("context", kMaxListed, kAnyInt64));
    for (const int64_t tokens : contexts) question.tokens.emplace_back(tokens);
  }
  if (const auto groups = json.ListSize("requests")) {
    CAIRN_ASSIGN(const auto listed, json.Children("requests", std::min(*groups, kMaxListed)));
    for (const HfConfig& group : listed) {
      CAIRN_ASSIGN(const int64_t count, group.Int("count", kAnyInt64));
      CAIRN_ASSIGN(const int64_t tokens, group.Int("tokens", kAnyInt64));
      question.requests.push_back({.count = count, .tokens = TokenCount(tokens)});
    }
  }
  CAIRN_ASSIGN(const int64_t shared, json.IntOr("shared-prefix", kAnyInt64, 0));
  question.shared_prefix = TokenCount(shared);
  return {};
}

Status ReadParallelism(const HfConfig& json, Parallelism& parallel) {
  const std::pair<std::string_view, int*> sizes[] = {{"tp", &parallel.tp},
                                                     {"pp", &parallel.pp},
                                                     {"dp", &parallel.dp},
                                                     {"ep", &parallel.ep},
                                                     {"dcp", &parallel.dcp}};
  for (const auto& [key, size] : sizes) {
    CAIRN_ASSIGN(const int64_t read, json.IntOr(key, kAnyInt, 1));
    *size = static_cast<int>(read);
  }
  if (json.Has("pp-layers")) {
    CAIRN_ASSIGN(const auto layers, json.IntsUpTo("pp-layers", kMaxListed, kAnyInt));
    for (const int64_t count : layers) parallel.stage_layers.push_back(static_cast<int>(count));
  }
  return {};
}

Status ReadCards(const HfConfig& json, SizeRequest& request) {
  CAIRN_ASSIGN(request.weights_dtype, json.StringOr("weights-dtype", ""));
  CAIRN_ASSIGN(request.gpu, json.StringOr("gpu", ""));
  CAIRN_ASSIGN(request.link, json.StringOr("link", ""));
  const std::pair<std::string_view, double*> floats[] = {
      {"memory-fraction", &request.memory_fraction},
      {"memory", &request.memory_gib},
      {"bandwidth", &request.bandwidth_gbs},
      {"tflops", &request.tflops}};
  for (const auto& [key, number] : floats) {
    CAIRN_ASSIGN(*number, json.FloatOr(key, kAnyFloat, *number));
  }
  const std::pair<std::string_view, int64_t*> integers[] = {
      {"chunk", &request.chunk_tokens}, {"prompt", &request.prompt}, {"cached", &request.cached}};
  for (const auto& [key, number] : integers) {
    CAIRN_ASSIGN(*number, json.IntOr(key, kAnyInt64, *number));
  }
  CAIRN_ASSIGN(request.share_overhead, json.BoolOr("overhead-share", false));
  CAIRN_ASSIGN(request.fleet, json.BoolOr("fleet", false));
  CAIRN_ASSIGN(request.draft_layers, json.BoolOr("draft", false));
  CAIRN_ASSIGN(request.profile, json.StringOr("profile", ""));
  if (const auto settings = json.ListSize("set")) {
    CAIRN_ASSIGN(request.profile_settings, json.Strings("set", *settings));
  }
  return {};
}

// HfConfig answers for keys one asks for; this looks for others.
Status CheckMembers(std::string_view text) {
  const auto known = nlohmann::json::parse(SizeRequestJson(SizeRequest()));
  const auto json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  for (const auto& [key, value] : json.items()) {
    if (key == "kv-dtype" || known.contains(key)) continue;
    return Fail(ErrorCode::kInvalidArgument, "the question: there is no {} to ask about",
                Quoted(key));
  }
  return {};
}

}  // namespace

std::span<const DType> SizedCodecs() {
  static constexpr std::array kCodecs = {DType::kF32, DType::kF16,  DType::kBF16, DType::kF8E4M3,
                                         DType::kI8,  DType::kQ8_0, DType::kQ5_1, DType::kQ5_0,
                                         DType::kLM5, DType::kQ4_1, DType::kQ4_0, DType::kIQ4_NL,
                                         DType::kLM4, DType::kLM3,  DType::kLM2};
  return kCodecs;
}

Result<DType> SizedCodecFromName(std::string_view flag, std::string_view name) {
  if (name == "fp8" || name == "fp8_e4m3" || name == "fp8_e5m2") return DType::kF8E4M3;
  if (name == "int8") return DType::kI8;
  const std::optional<DType> dtype = DTypeFromName(name);
  if (dtype && std::ranges::find(SizedCodecs(), *dtype) != SizedCodecs().end()) return *dtype;
  return Fail(ErrorCode::kInvalidArgument,
              "{} {}: no such state type; f32, f16, bf16, fp8, int8, q8_0, q5_1, q5_0, q4_1, "
              "q4_0, iq4_nl, lm5, lm4, lm3 and lm2 are",
              flag, name);
}

Result<StateForm> SizedFormFromName(std::string_view flag, std::string name) {
  CAIRN_ASSIGN(StateForm form, TakeSuffixes(flag, name));
  CAIRN_ASSIGN(form.codec, SizedCodecFromName(flag, name));
  return form;
}

Result<SizeRequest> SizeRequestFromJson(std::string_view text) {
  CAIRN_ASSIGN(const HfConfig json, HfConfig::Parse(text, "the question"));
  CAIRN_TRY(CheckMembers(text));
  SizeRequest request;
  CAIRN_TRY(ReadQuestion(json, request.question));
  CAIRN_TRY(ReadParallelism(json, request.parallel));
  CAIRN_TRY(ReadCards(json, request));
  return request;
}

std::string SizeRequestJson(const SizeRequest& request) {
  using Json = nlohmann::ordered_json;
  // A field that comes later must stop the compiler here: it has to be written and read.
  const auto& [question, parallel, draft_layers, weights_dtype, gpu, memory_fraction, memory_gib,
               bandwidth_gbs, tflops, link, chunk_tokens, prompt, cached, share_overhead, fleet,
               profile, profile_settings] = request;
  const auto& [codecs, batch, contexts, requests, shared_prefix, row_ranks] = question;
  const auto& [keys, values, layer_forms, convolutions, recurrent] = codecs;
  CAIRN_CHECK(layer_forms.empty());  // nobody asks so
  const auto& [tp, pp, dp, ep, dcp, stage_layers] = parallel;
  Json json = {{"context", Json::array()},
               {"batch", batch},
               {"requests", Json::array()},
               {"shared-prefix", shared_prefix.value()},
               {"cache-type-k", NameOf(keys)},
               {"cache-type-v", NameOf(values)},
               {"convolution-dtype", convolutions ? InfoOf(*convolutions).name : ""},
               {"recurrent-dtype", InfoOf(recurrent).name},
               {"tp", tp},
               {"pp", pp},
               {"dp", dp},
               {"ep", ep},
               {"dcp", dcp},
               {"pp-layers", stage_layers},
               {"weights-dtype", weights_dtype},
               {"gpu", gpu},
               {"memory-fraction", memory_fraction},
               {"memory", memory_gib},
               {"bandwidth", bandwidth_gbs},
               {"tflops", tflops},
               {"link", link},
               {"chunk", chunk_tokens},
               {"prompt", prompt},
               {"cached", cached},
               {"overhead-share", share_overhead},
               {"fleet", fleet},
               {"draft", draft_layers},
               {"profile", profile},
               {"set", profile_settings}};
  CAIRN_CHECK(row_ranks == 1);  // AnswerSizeRequest's own
  for (const TokenCount tokens : contexts) json["context"].push_back(tokens.value());
  for (const RequestGroup& group : requests) {
    json["requests"].push_back({{"count", group.count}, {"tokens", group.tokens.value()}});
  }
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace cairn
