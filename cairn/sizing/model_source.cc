#include "cairn/sizing/model_source.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>
#include <variant>

#include "cairn/spec/families.h"

namespace cairn {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kMaxWordsCarried = 64;
constexpr int64_t kMaxWords = int64_t{1} << 22;
constexpr std::string_view kWords = "words";  // {"words": n}: a list of n words, left out

struct MetadataJson {
  // JSON has no number that isn't finite; a key without a value is a key that isn't there.
  Json operator()(double value) const { return std::isfinite(value) ? Json(value) : Json(nullptr); }
  Json operator()(const std::vector<std::string>& words) const {
    if (words.size() <= kMaxWordsCarried) return words;
    return {{kWords, words.size()}};
  }
  Json operator()(const auto& value) const { return value; }
};

template <class T>
MetadataValue ListOf(const Json& json) {
  std::vector<T> list;
  for (const Json& entry : json) list.push_back(entry.get<T>());
  return list;
}

std::optional<MetadataValue> ListFromJson(const Json& json) {
  const auto all = [&](auto is) { return std::ranges::all_of(json, is); };
  if (all([](const Json& entry) { return entry.is_number_integer(); })) {
    return ListOf<int64_t>(json);
  }
  if (all([](const Json& entry) { return entry.is_number(); })) return ListOf<double>(json);
  if (all([](const Json& entry) { return entry.is_string(); })) return ListOf<std::string>(json);
  return std::nullopt;
}

std::optional<MetadataValue> ValueFromJson(const Json& json) {
  if (json.is_boolean()) return json.get<bool>();
  if (json.is_number_unsigned() && json.get<uint64_t>() > uint64_t{INT64_MAX}) {
    return json.get<uint64_t>();
  }
  if (json.is_number_integer()) return json.get<int64_t>();
  if (json.is_number()) return json.get<double>();
  if (json.is_string()) return json.get<std::string>();
  if (json.is_array()) return ListFromJson(json);
  if (json.is_object() && json.size() == 1 && json.contains(kWords) &&
      json[kWords].is_number_integer()) {
    const int64_t count = std::clamp(json[kWords].get<int64_t>(), int64_t{0}, kMaxWords);
    return std::vector<std::string>(static_cast<size_t>(count));
  }
  return std::nullopt;
}

std::unexpected<Error> Malformed(std::string_view what) {
  return Fail(ErrorCode::kInvalidArgument, "the model's description: {} is missing or malformed",
              what);
}

// Absent is empty.
Status ReadString(const Json& json, std::string_view key, std::string& text) {
  if (!json.contains(key)) return {};
  if (!json[key].is_string()) return Malformed(key);
  text = json[key].get<std::string>();
  return {};
}

Status ReadStrings(const Json& json, std::string_view key, std::vector<std::string>& list) {
  if (!json.contains(key)) return {};
  if (!json[key].is_array()) return Malformed(key);
  for (const Json& entry : json[key]) {
    if (!entry.is_string()) return Malformed(key);
    list.push_back(entry.get<std::string>());
  }
  return {};
}

Result<WeightTotals> WeightsFromJson(const Json& json) {
  WeightTotals totals;
  if (!json.is_object() || !json.contains("parameters") ||
      !json["parameters"].is_number_integer()) {
    return Malformed("weights.parameters");
  }
  totals.parameters = ElementCount(json["parameters"].get<int64_t>());
  if (json.contains("bytes")) {
    if (!json["bytes"].is_number_integer()) return Malformed("weights.bytes");
    totals.bytes = Bytes(json["bytes"].get<int64_t>());
  }
  return totals;
}

}  // namespace

Result<SizedModel> SizedModelOf(const ModelSource& source) {
  SizedModel model{
      .name = source.name, .spec = {}, .weights = source.weights, .notes = source.notes};
  if (!source.gguf) {
    CAIRN_ASSIGN(model.spec, ModelSpecFromConfig(source.config, source.where));
    return model;
  }
  const auto has = [&](std::string_view name) {
    return std::ranges::find(source.tensors, name) != source.tensors.end();
  };
  CAIRN_ASSIGN(model.spec, ModelSpecFromGguf(*source.gguf, {.has = has, .rope_divisors = {}}));
  return model;
}

std::string ModelSourceJson(const ModelSource& source) {
  Json json = {{"name", source.name}, {"where", source.where}};
  if (source.gguf) {
    json["gguf"] = Json::object();
    for (const auto& [key, value] : source.gguf->values()) {
      json["gguf"][key] = std::visit(MetadataJson(), value);
    }
    json["tensors"] = source.tensors;
  } else {
    json["config"] = source.config;
  }
  if (source.weights) {
    json["weights"] = {{"parameters", source.weights->parameters.value()}};
    if (source.weights->bytes) json["weights"]["bytes"] = source.weights->bytes->value();
  }
  if (!source.notes.empty()) json["notes"] = source.notes;
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<ModelSource> ModelSourceFromJson(std::string_view text) {
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return Malformed("a JSON object");
  ModelSource source;
  CAIRN_TRY(ReadString(json, "name", source.name));
  CAIRN_TRY(ReadString(json, "where", source.where));
  CAIRN_TRY(ReadString(json, "config", source.config));
  CAIRN_TRY(ReadStrings(json, "tensors", source.tensors));
  CAIRN_TRY(ReadStrings(json, "notes", source.notes));
  if (json.contains("gguf")) {
    if (!json["gguf"].is_object()) return Malformed("gguf");
    source.gguf.emplace(source.where);
    for (const auto& [key, value] : json["gguf"].items()) {
      std::optional<MetadataValue> read = ValueFromJson(value);
      if (read) source.gguf->Set(key, std::move(*read));
    }
  }
  if (json.contains("weights")) {
    CAIRN_ASSIGN(source.weights, WeightsFromJson(json["weights"]));
  }
  return source;
}

}  // namespace cairn
