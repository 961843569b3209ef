#include "cairn/spec/pooling.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>

namespace cairn {
namespace {

using Json = nlohmann::json;

// llama.cpp's numbers.
constexpr int64_t kGgufNone = 0;
constexpr int64_t kGgufMean = 1;
constexpr int64_t kGgufLast = 3;

constexpr std::string_view kModulePrefix = "sentence_transformers.models.";

Result<Json> ParseConfig(std::string_view json, std::string_view where) {
  Json parsed = Json::parse(json, nullptr, /*allow_exceptions=*/false);
  if (!parsed.is_discarded()) return parsed;
  return Fail(ErrorCode::kCorrupt, "{}: not JSON", where);
}

// The text under the key, or nothing.
std::string TextOf(const Json& object, const char* key) {
  if (!object.is_object()) return {};
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

bool IsTrue(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_boolean() && found->get<bool>();
}

}  // namespace

std::string_view NameOf(Pooling pooling) { return pooling == Pooling::kMean ? "mean" : "last"; }

Result<Pooling> ParsePooling(std::string_view name) {
  for (const Pooling pooling : {Pooling::kLast, Pooling::kMean}) {
    if (name == NameOf(pooling)) return pooling;
  }
  return Fail(ErrorCode::kInvalidArgument, "no pooling is called '{}'; there are last and mean",
              name);
}

Result<std::optional<Pooling>> PoolingFromGguf(const Metadata& metadata) {
  CAIRN_ASSIGN(const std::string_view architecture, metadata.StringOr("general.architecture", ""));
  const auto key = [&](std::string_view name) { return fmt::format("{}.{}", architecture, name); };
  CAIRN_ASSIGN(const bool causal, metadata.BoolOr(key("attention.causal"), true));
  if (!causal) {
    return Fail(ErrorCode::kUnsupported,
                "{}: its embeddings need attention in both directions, which isn't supported",
                metadata.where());
  }
  CAIRN_ASSIGN(const int64_t type, metadata.IntOr(key("pooling_type"), kGgufNone));
  if (type == kGgufNone) return std::nullopt;
  if (type == kGgufMean) return Pooling::kMean;
  if (type == kGgufLast) return Pooling::kLast;
  return Fail(ErrorCode::kUnsupported,
              "{}: pooling_type {} isn't supported; mean ({}) and last ({}) are", metadata.where(),
              type, kGgufMean, kGgufLast);
}

Result<Pooling> PoolingFromModules(std::string_view modules_json, std::string_view pooling_json,
                                   std::string_view where) {
  CAIRN_ASSIGN(const Json modules, ParseConfig(modules_json, where));
  if (!modules.is_array()) return Fail(ErrorCode::kCorrupt, "{}: not a list of modules", where);
  for (const Json& module : modules) {
    const std::string type = TextOf(module, "type");
    const std::string_view name =
        std::string_view(type).substr(type.starts_with(kModulePrefix) ? kModulePrefix.size() : 0);
    if (name == "Transformer" || name == "Pooling" || name == "Normalize") continue;
    return Fail(ErrorCode::kUnsupported,
                "{}: its embeddings go through a module '{}', which isn't supported", where, type);
  }
  CAIRN_ASSIGN(const Json pooling, ParseConfig(pooling_json, where));
  if (!pooling.is_object()) return Fail(ErrorCode::kCorrupt, "{}: not a pooling config", where);
  std::optional<Pooling> found;
  for (const auto& [key, value] : pooling.items()) {
    if (!key.starts_with("pooling_mode_") || !IsTrue(pooling, key.c_str())) continue;
    const bool mean = key == "pooling_mode_mean_tokens";
    if (found || (!mean && key != "pooling_mode_lasttoken")) {
      return Fail(
          ErrorCode::kUnsupported,
          "{}: {} isn't supported; pooling_mode_mean_tokens or pooling_mode_lasttoken alone "
          "are",
          where, key);
    }
    found = mean ? Pooling::kMean : Pooling::kLast;
  }
  if (!found) return Fail(ErrorCode::kUnsupported, "{}: it names no pooling_mode", where);
  return *found;
}

}  // namespace cairn
