// Tokenizer::FromFolder.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "cairn/base/env.h"
#include "cairn/text/tokenizer.h"

namespace cairn {
namespace {

using Json = nlohmann::json;

constexpr size_t kMaxFileBytes = size_t{1} << 28;

// The object in a file; an empty one if there is no such file.
Result<Json> ReadObject(const std::string& path) {
  if (!FileExists(path)) return Json::object();
  CAIRN_ASSIGN(const std::string bytes, ReadFile(path, kMaxFileBytes));
  Json json = Json::parse(bytes, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) {
    return Fail(ErrorCode::kCorrupt, "{}: not a JSON object", path);
  }
  return json;
}

const Json* Find(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found == object.end() ? nullptr : &*found;
}

std::optional<bool> FindBool(const Json& object, const char* key) {
  const Json* value = Find(object, key);
  if (value == nullptr || !value->is_boolean()) return std::nullopt;
  return value->get<bool>();
}

// A token is written as its text, or as an object that has its text as "content".
std::optional<TokenId> FindToken(const Json& object, const char* key, const TokenTable& table) {
  const Json* value = Find(object, key);
  if (value != nullptr && value->is_object()) value = Find(*value, "content");
  if (value == nullptr || !value->is_string()) return std::nullopt;
  return table.FindText(value->get_ref<const std::string&>());
}

// One id or a list of ids; those outside the vocabulary are left out.
std::vector<TokenId> FindIds(const Json& object, const char* key, const TokenTable& table) {
  const Json* value = Find(object, key);
  if (value == nullptr) return {};
  std::vector<TokenId> ids;
  for (const Json& item : value->is_array() ? *value : Json::array({*value})) {
    if (!item.is_number_integer()) continue;
    const auto id = item.get<int64_t>();
    if (id >= 0 && id < table.size()) ids.push_back(TokenId(static_cast<int32_t>(id)));
  }
  return ids;
}

std::optional<TokenId> FirstOf(const std::vector<TokenId>& ids) {
  return ids.empty() ? std::nullopt : std::optional(ids.front());
}

// Makes `affix` have `id` or not, as the configuration says.
void SetMember(std::vector<TokenId>& affix, std::optional<TokenId> id, std::optional<bool> wanted) {
  if (!id || !wanted) return;
  const bool has = std::ranges::find(affix, *id) != affix.end();
  if (*wanted && !has) affix.insert(affix.begin(), *id);
  if (!*wanted && has) std::erase(affix, *id);
}

Result<std::vector<NamedTemplate>> ReadTemplates(const std::string& folder, const Json& config) {
  const std::string jinja = folder + "/chat_template.jinja";
  std::vector<NamedTemplate> templates;
  if (FileExists(jinja)) {
    CAIRN_ASSIGN(std::string source, ReadFile(jinja, kMaxFileBytes));
    templates.push_back({"default", std::move(source)});
    return templates;
  }
  const Json* value = Find(config, "chat_template");
  if (value == nullptr) return templates;
  if (value->is_string()) templates.push_back({"default", value->get<std::string>()});
  if (!value->is_array()) return templates;
  for (const Json& item : *value) {
    if (!item.is_object()) continue;
    const Json* name = Find(item, "name");
    const Json* source = Find(item, "template");
    if (name == nullptr || !name->is_string()) continue;
    if (source == nullptr || !source->is_string()) continue;
    templates.push_back({name->get<std::string>(), source->get<std::string>()});
  }
  return templates;
}

}  // namespace

Result<Tokenizer> Tokenizer::FromFolder(const std::string& folder) {
  const std::string tokenizer_json = folder + "/tokenizer.json";
  if (!FileExists(tokenizer_json)) {
    return Fail(ErrorCode::kNotFound, "{}: there is no tokenizer.json", folder);
  }
  CAIRN_ASSIGN(const std::string bytes, ReadFile(tokenizer_json, kMaxFileBytes));
  CAIRN_ASSIGN(TokenizerParts parts, TokenizerParts::FromTokenizerJson(bytes, tokenizer_json));
  CAIRN_ASSIGN(const Json config, ReadObject(folder + "/tokenizer_config.json"));
  CAIRN_ASSIGN(const Json special, ReadObject(folder + "/special_tokens_map.json"));
  CAIRN_ASSIGN(const Json generation, ReadObject(folder + "/generation_config.json"));
  CAIRN_ASSIGN(const Json model, ReadObject(folder + "/config.json"));
  const TokenTable& table = parts.table;
  for (const Json* source : {&config, &special}) {
    if (!parts.bos) parts.bos = FindToken(*source, "bos_token", table);
    if (!parts.eos) parts.eos = FindToken(*source, "eos_token", table);
  }
  for (const Json* source : {&generation, &model}) {
    if (!parts.bos) parts.bos = FirstOf(FindIds(*source, "bos_token_id", table));
    if (parts.ends.empty()) parts.ends = FindIds(*source, "eos_token_id", table);
  }
  if (!parts.eos) parts.eos = FirstOf(parts.ends);
  SetMember(parts.prefix, parts.bos, FindBool(config, "add_bos_token"));
  SetMember(parts.suffix, parts.eos, FindBool(config, "add_eos_token"));
  CAIRN_ASSIGN(parts.chat_templates, ReadTemplates(folder, config));
  return Tokenizer(std::move(parts));
}

}  // namespace cairn
