// JsonNode: a JSON value out of bytes that nobody has checked.
//
// Parsing is bounded in depth and in the number of values, never recurses, and refuses whatever
// RFC 8259 doesn't allow: NaN and Infinity, invalid UTF-8, numbers that no double holds, bytes
// behind the value. Of a name that an object has twice the last value counts. A value; const use is
// thread-safe.
#ifndef CAIRN_SERVE_JSON_NODE_H_
#define CAIRN_SERVE_JSON_NODE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "cairn/base/status.h"

namespace cairn {

struct JsonLimits {
  int64_t depth = 64;
  int64_t values = int64_t{1} << 20;
};

class JsonNode {
 public:
  using Items = std::vector<JsonNode>;
  using Members = std::vector<std::pair<std::string, JsonNode>>;

  // Errors say at which byte.
  static Result<JsonNode> Parse(std::string_view text, const JsonLimits& limits = {});

  JsonNode() = default;  // null
  explicit JsonNode(bool value) : value_(value) {}
  explicit JsonNode(int64_t value) : value_(value) {}
  explicit JsonNode(double value) : value_(value) {}
  explicit JsonNode(std::string value) : value_(std::move(value)) {}
  explicit JsonNode(Items items) : value_(std::move(items)) {}
  explicit JsonNode(Members members) : value_(std::move(members)) {}

  bool IsNull() const { return std::holds_alternative<std::monostate>(value_); }
  // Null where the value is of another kind.
  const bool* Bool() const { return std::get_if<bool>(&value_); }
  const std::string* String() const { return std::get_if<std::string>(&value_); }
  const Items* Array() const { return std::get_if<Items>(&value_); }
  const Members* Object() const { return std::get_if<Members>(&value_); }
  Items* Array() { return std::get_if<Items>(&value_); }
  Members* Object() { return std::get_if<Members>(&value_); }
  // Also of a number with a point, if it is whole and below 2^53.
  std::optional<int64_t> Integer() const;
  std::optional<double> Number() const;

  // Null: not an object, or without such a member.
  const JsonNode* Find(std::string_view name) const;
  // "an object", "a string", ... for messages.
  std::string_view KindName() const;
  std::string Dump() const;

 private:
  std::variant<std::monostate, bool, int64_t, double, std::string, Items, Members> value_;
};

// Text in quotes, escaped. REQUIRES UTF-8.
std::string JsonQuoted(std::string_view text);

}  // namespace cairn

#endif  // CAIRN_SERVE_JSON_NODE_H_
