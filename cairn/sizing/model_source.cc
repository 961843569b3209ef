#include "cairn/sizing/model_source.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>
#include <variant>

#include "cairn/spec/metadata.h"

namespace cairn {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kMaxWordsCarried = 64;
constexpr std::string_view kVocabulary = "tokenizer.ggml.tokens";

struct MetadataJson {
  // JSON has no number that isn't finite; a key without a value is a key that isn't there.
  Json operator()(double value) const { return std::isfinite(value) ? Json(value) : Json(nullptr); }
  Json operator()(const auto& value) const { return value; }
};

// Texts of templates and words of vocabularies are most of a file's metadata; no size needs them.
Json JsonOf(const GgufDescription& file) {
  Json metadata = Json::object();
  for (const auto& [key, value] : file.metadata.values()) {
    const auto* words = std::get_if<std::vector<std::string>>(&value);
    if (words != nullptr && words->size() > kMaxWordsCarried) continue;
    if (key.starts_with("tokenizer.") && key != kVocabulary) continue;
    metadata[key] = std::visit(MetadataJson(), value);
  }
  Json json = {{"metadata", std::move(metadata)}, {"rows", file.rows}, {"complete", file.complete}};
  if (const auto size = file.metadata.ArraySize(kVocabulary)) json["vocabulary"] = *size;
  return json;
}

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

Result<GgufDescription> GgufFromJson(const Json& json, const std::string& where) {
  GgufDescription file = {.metadata = Metadata(where), .rows = {}, .complete = true};
  for (const char* part : {"metadata", "rows"}) {
    if (!json.is_object() || !json.contains(part) || !json[part].is_object()) {
      return Malformed(std::string("gguf.") + part);
    }
  }
  for (const auto& [key, value] : json["metadata"].items()) {
    std::optional<MetadataValue> read = ValueFromJson(value);
    if (read) file.metadata.Set(key, std::move(*read));
  }
  for (const auto& [name, rows] : json["rows"].items()) {
    if (!rows.is_number_integer()) return Malformed("gguf.rows");
    file.rows.emplace(name, rows.get<int64_t>());
  }
  if (json.contains("complete")) {
    if (!json["complete"].is_boolean()) return Malformed("gguf.complete");
    file.complete = json["complete"].get<bool>();
  }
  if (json.contains("vocabulary")) {
    if (!json["vocabulary"].is_number_unsigned()) return Malformed("gguf.vocabulary");
    if (!file.metadata.Has(kVocabulary)) {
      file.metadata.SetSkippedArray(kVocabulary, json["vocabulary"].get<uint64_t>());
    }
  }
  return file;
}

}  // namespace

Result<SizedModel> SizedModelOf(const ModelSource& source) {
  CAIRN_ASSIGN(ModelSpec spec, ModelSpecOf(source.description));
  return SizedModel{.name = source.name,
                    .spec = std::move(spec),
                    .weights = source.weights,
                    .notes = source.notes,
                    .description = source.description};
}

std::string ModelSourceJson(const ModelSource& source) {
  const ModelDescription& description = source.description;
  Json json = {{"name", source.name}, {"where", description.where}};
  if (description.config) json["config"] = *description.config;
  if (description.gguf) json["gguf"] = JsonOf(*description.gguf);
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
  CAIRN_TRY(ReadString(json, "where", source.description.where));
  if (json.contains("config")) {
    CAIRN_TRY(ReadString(json, "config", source.description.config.emplace()));
  }
  if (json.contains("gguf")) {
    CAIRN_ASSIGN(source.description.gguf, GgufFromJson(json["gguf"], source.description.where));
  }
  CAIRN_TRY(ReadStrings(json, "notes", source.notes));
  if (json.contains("weights")) {
    CAIRN_ASSIGN(source.weights, WeightsFromJson(json["weights"]));
  }
  return source;
}

}  // namespace cairn
