#include "cairn/serve/json_node.h"

#include <cmath>
#include <cstddef>
#include <nlohmann/json.hpp>

#include "cairn/text/utf8.h"

namespace cairn {
namespace {

constexpr double kWholeMost = 9007199254740992.0;  // 2^53: below it a double is exact
constexpr size_t kShownBytes = 40;

// Receives nlohmann's events; a false answer ends the parse.
class Builder {
 public:
  explicit Builder(const JsonLimits& limits) : limits_(limits) {}

  bool null() { return Add(JsonNode()); }
  bool boolean(bool value) { return Add(JsonNode(value)); }
  bool number_integer(int64_t value) { return Add(JsonNode(value)); }
  bool number_unsigned(uint64_t value) {
    if (value <= INT64_MAX) return Add(JsonNode(static_cast<int64_t>(value)));
    return Add(JsonNode(static_cast<double>(value)));
  }
  bool number_float(double value, const std::string& /*text*/) {
    if (!std::isfinite(value)) return Refuse("a number is too large");
    return Add(JsonNode(value));
  }
  bool string(std::string& value) { return Add(JsonNode(std::move(value))); }
  bool binary(std::vector<uint8_t>& /*value*/) { return Refuse("binary values aren't JSON"); }
  bool start_object(size_t /*size*/) { return Open(JsonNode(JsonNode::Members())); }
  bool start_array(size_t /*size*/) { return Open(JsonNode(JsonNode::Items())); }
  bool key(std::string& name) {
    open_.back()->Object()->emplace_back(std::move(name), JsonNode());
    return true;
  }
  bool end_object() { return Close(); }
  bool end_array() { return Close(); }
  bool parse_error(size_t position, const std::string& last, const std::exception& /*error*/) {
    problem_ = fmt::format("not JSON at byte {}: {}", position,
                           ForMessage(std::string_view(last).substr(0, kShownBytes)));
    return false;
  }

  JsonNode& root() { return root_; }
  const std::string& problem() const { return problem_; }

 private:
  bool Refuse(std::string why) {
    problem_ = std::move(why);
    return false;
  }

  JsonNode* Place(JsonNode node) {
    if (open_.empty()) {
      root_ = std::move(node);
      return &root_;
    }
    JsonNode& parent = *open_.back();
    if (JsonNode::Members* members = parent.Object()) {
      members->back().second = std::move(node);
      return &members->back().second;
    }
    return &parent.Array()->emplace_back(std::move(node));
  }

  bool Add(JsonNode node) {
    if (++values_ > limits_.values) {
      return Refuse(fmt::format("more than {} values", limits_.values));
    }
    Place(std::move(node));
    return true;
  }

  bool Open(JsonNode node) {
    if (++values_ > limits_.values) {
      return Refuse(fmt::format("more than {} values", limits_.values));
    }
    if (static_cast<int64_t>(open_.size()) >= limits_.depth) {
      return Refuse(fmt::format("nested more than {} deep", limits_.depth));
    }
    // An open node's siblings come behind it only once it is closed, so it doesn't move.
    open_.push_back(Place(std::move(node)));
    return true;
  }

  bool Close() {
    open_.pop_back();
    return true;
  }

  const JsonLimits limits_;
  JsonNode root_;
  std::vector<JsonNode*> open_;
  int64_t values_ = 0;
  std::string problem_;
};

void DumpTo(const JsonNode& node, std::string& out) {
  if (const JsonNode::Members* members = node.Object()) {
    char separator = '{';
    for (const auto& [name, value] : *members) {
      out += separator;
      out += JsonQuoted(name);
      out += ':';
      DumpTo(value, out);
      separator = ',';
    }
    out += members->empty() ? "{}" : "}";
  } else if (const JsonNode::Items* items = node.Array()) {
    char separator = '[';
    for (const JsonNode& item : *items) {
      out += separator;
      DumpTo(item, out);
      separator = ',';
    }
    out += items->empty() ? "[]" : "]";
  } else if (const std::string* text = node.String()) {
    out += JsonQuoted(*text);
  } else if (const bool* value = node.Bool()) {
    out += *value ? "true" : "false";
  } else if (const std::optional<int64_t> integer = node.Integer()) {
    out += std::to_string(*integer);
  } else if (const std::optional<double> number = node.Number()) {
    out += nlohmann::json(*number).dump();
  } else {
    out += "null";
  }
}

}  // namespace

Result<JsonNode> JsonNode::Parse(std::string_view text, const JsonLimits& limits) {
  // The parser takes a zero byte for the end and would leave what follows unread.
  if (const size_t zero = text.find('\0'); zero != std::string_view::npos) {
    return Fail(ErrorCode::kInvalidArgument, "not JSON at byte {}: a zero byte", zero + 1);
  }
  Builder builder(limits);
  const bool parsed = nlohmann::json::sax_parse(text, &builder);
  if (!parsed) return Fail(ErrorCode::kInvalidArgument, "{}", builder.problem());
  return std::move(builder.root());
}

std::optional<int64_t> JsonNode::Integer() const {
  if (const auto* integer = std::get_if<int64_t>(&value_)) return *integer;
  const auto* number = std::get_if<double>(&value_);
  if (number == nullptr || std::abs(*number) >= kWholeMost) return std::nullopt;
  if (std::trunc(*number) != *number) return std::nullopt;
  return static_cast<int64_t>(*number);
}

std::optional<double> JsonNode::Number() const {
  if (const auto* integer = std::get_if<int64_t>(&value_)) return static_cast<double>(*integer);
  if (const auto* number = std::get_if<double>(&value_)) return *number;
  return std::nullopt;
}

const JsonNode* JsonNode::Find(std::string_view name) const {
  const Members* members = Object();
  if (members == nullptr) return nullptr;
  for (auto member = members->rbegin(); member != members->rend(); ++member) {
    if (member->first == name) return &member->second;
  }
  return nullptr;
}

std::string_view JsonNode::KindName() const {
  constexpr std::string_view kNames[] = {"null",     "a boolean", "a whole number", "a number",
                                         "a string", "an array",  "an object"};
  return kNames[value_.index()];
}

std::string JsonNode::Dump() const {
  std::string out;
  DumpTo(*this, out);
  return out;
}

std::string JsonQuoted(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace cairn
