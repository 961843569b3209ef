#include "cairn/serve/api_fields.h"

#include <algorithm>

#include "cairn/text/utf8.h"

namespace cairn {
namespace {

constexpr size_t kShownBytes = 60;

std::string Shown(std::string_view text) { return ForMessage(text.substr(0, kShownBytes)); }

}  // namespace

std::string PathOfItem(std::string_view path, size_t index) {
  return fmt::format("{}[{}]", path, index);
}

ApiFields::ApiFields(const JsonNode& node, std::string path) : node_(node), path_(std::move(path)) {
  if (node.Object() != nullptr) return;
  problem_ = RefuseField(path_.empty() ? "body" : path_,
                         fmt::format("must be an object, not {}", node.KindName()))
                 .error();
}

std::string ApiFields::PathOf(std::string_view name) const {
  return path_.empty() ? std::string(name) : fmt::format("{}.{}", path_, name);
}

const JsonNode* ApiFields::Any(std::string_view name) const {
  const JsonNode* found = node_.Find(name);
  return found == nullptr || found->IsNull() ? nullptr : found;
}

void ApiFields::Refuse(std::string_view name, std::string why) {
  if (!problem_) problem_ = RefuseField(PathOf(name), std::move(why)).error();
}

void ApiFields::Require(std::string_view name) {
  if (Any(name) == nullptr) Refuse(name, "is missing");
}

void ApiFields::Adopt(const ApiFields& inner) {
  if (!problem_) problem_ = inner.problem_;
}

std::optional<int64_t> ApiFields::Integer(std::string_view name, int64_t least, int64_t most) {
  const JsonNode* found = Any(name);
  if (found == nullptr) return std::nullopt;
  const std::optional<int64_t> value = found->Integer();
  if (!value) {
    Refuse(name, fmt::format("must be a whole number, not {}", found->KindName()));
    return std::nullopt;
  }
  if (*value >= least && *value <= most) return value;
  Refuse(name, fmt::format("{} isn't within {} and {}", *value, least, most));
  return std::nullopt;
}

std::optional<double> ApiFields::Number(std::string_view name, double least, double most) {
  const JsonNode* found = Any(name);
  if (found == nullptr) return std::nullopt;
  const std::optional<double> value = found->Number();
  if (!value) {
    Refuse(name, fmt::format("must be a number, not {}", found->KindName()));
    return std::nullopt;
  }
  if (*value >= least && *value <= most) return value;
  Refuse(name, fmt::format("{} isn't within {} and {}", *value, least, most));
  return std::nullopt;
}

std::optional<bool> ApiFields::Bool(std::string_view name) {
  const JsonNode* found = Any(name);
  if (found == nullptr) return std::nullopt;
  if (const bool* value = found->Bool()) return *value;
  Refuse(name, fmt::format("must be true or false, not {}", found->KindName()));
  return std::nullopt;
}

std::optional<std::string> ApiFields::String(std::string_view name, size_t most_bytes) {
  const JsonNode* found = Any(name);
  if (found == nullptr) return std::nullopt;
  const std::string* value = found->String();
  if (value == nullptr) {
    Refuse(name, fmt::format("must be a string, not {}", found->KindName()));
    return std::nullopt;
  }
  if (value->size() <= most_bytes) return *value;
  Refuse(name, fmt::format("has {} bytes; at most {} can be", value->size(), most_bytes));
  return std::nullopt;
}

std::optional<std::string> ApiFields::Choice(std::string_view name,
                                             std::initializer_list<std::string_view> choices) {
  std::optional<std::string> value = String(name, size_t{1} << 20);
  if (!value || std::ranges::find(choices, *value) != choices.end()) return value;
  std::string known;
  for (const std::string_view choice : choices) {
    known += fmt::format("{}\"{}\"", known.empty() ? "" : ", ", choice);
  }
  Refuse(name, fmt::format("\"{}\" is none of {}", Shown(*value), known));
  return std::nullopt;
}

const JsonNode::Items* ApiFields::Array(std::string_view name, size_t most) {
  const JsonNode* found = Any(name);
  if (found == nullptr) return nullptr;
  const JsonNode::Items* items = found->Array();
  if (items == nullptr) {
    Refuse(name, fmt::format("must be an array, not {}", found->KindName()));
    return nullptr;
  }
  if (items->size() <= most) return items;
  Refuse(name, fmt::format("has {} items; at most {} can be", items->size(), most));
  return nullptr;
}

const JsonNode* ApiFields::Object(std::string_view name) {
  const JsonNode* found = Any(name);
  if (found == nullptr) return nullptr;
  if (found->Object() != nullptr) return found;
  Refuse(name, fmt::format("must be an object, not {}", found->KindName()));
  return nullptr;
}

}  // namespace cairn
