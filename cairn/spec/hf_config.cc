#include "cairn/spec/hf_config.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "cairn/spec/quoted.h"

namespace cairn {
namespace {

using Json = nlohmann::json;

// Python's json writes non-finite numbers bare. As strings they parse, and a reader that wants a
// number reports them.
constexpr std::string_view kNonFinite[] = {"-Infinity", "Infinity", "NaN"};

// One pass over the text before the parser: bounds the nesting, quotes non-finite numbers.
Result<std::string> Prepare(std::string_view json, std::string_view where) {
  std::string out;
  out.reserve(json.size() + 16);
  int depth = 0;
  bool in_string = false;
  for (size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (in_string) {
      out += c;
      if (c == '\\' && i + 1 < json.size()) {
        out += json[++i];
      } else if (c == '"') {
        in_string = false;
      }
      continue;
    }
    if (c == '"') in_string = true;
    if (c == '{' || c == '[') ++depth;
    if (c == '}' || c == ']') --depth;
    if (depth > HfConfig::kMaxDepth) {
      return Fail(ErrorCode::kInvalidArgument, "{}: nested deeper than {} levels", where,
                  HfConfig::kMaxDepth);
    }
    std::string_view word;
    for (const std::string_view candidate : kNonFinite) {
      if (json.substr(i).starts_with(candidate)) word = candidate;
    }
    if (word.empty()) {
      out += c;
    } else {
      out += '"';
      out += word;
      out += '"';
      i += word.size() - 1;
    }
  }
  return out;
}

// Why a text isn't JSON, in the parser's words. It keeps nothing but the first error: this is the
// way to hear of it that needs no exceptions, which not every target of this code has.
class SyntaxError final : public nlohmann::json_sax<Json> {
 public:
  static std::string In(const std::string& text) {
    SyntaxError error;
    Json::sax_parse(text, &error);
    return error.message_;
  }

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(int64_t) override { return true; }
  bool number_unsigned(uint64_t) override { return true; }
  bool number_float(double, const std::string&) override { return true; }
  bool string(std::string&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool start_object(size_t) override { return true; }
  bool key(std::string&) override { return true; }
  bool end_object() override { return true; }
  bool start_array(size_t) override { return true; }
  bool end_array() override { return true; }
  bool parse_error(size_t, const std::string&, const Json::exception& error) override {
    message_ = error.what();
    // "[json.exception.parse_error.101] parse error at line 1, column 8: ..."
    if (const size_t name = message_.find("] "); name != std::string::npos) {
      message_.erase(0, name + 2);
    }
    return false;
  }

 private:
  std::string message_;
};

constexpr size_t kShownProblem = 160;

std::string Describe(const Json& value) {
  if (value.is_array()) return fmt::format("a list of {}", value.size());
  if (value.is_object()) return "an object";
  if (value.is_string()) return Quoted(value.get_ref<const std::string&>());
  return value.dump();
}

std::string RangeText(IntRange range) {
  if (range.min == range.max) return fmt::format("{}", range.min);
  return fmt::format("an integer from {} to {}", range.min, range.max);
}

std::optional<int64_t> IntInRange(const Json& value, IntRange range) {
  int64_t number = 0;
  if (value.is_boolean()) {
    number = value.get<bool>() ? 1 : 0;
  } else if (value.is_number_unsigned()) {
    const auto large = value.get<uint64_t>();
    if (large > static_cast<uint64_t>(INT64_MAX)) return std::nullopt;
    number = static_cast<int64_t>(large);
  } else if (value.is_number_integer()) {
    number = value.get<int64_t>();
  } else {
    return std::nullopt;
  }
  if (number < range.min || number > range.max) return std::nullopt;
  return number;
}

}  // namespace

struct HfConfig::Node {
  Json object;

  // Null when absent or null.
  const Json* Find(std::string_view key) const {
    const auto found = object.find(key);
    return found == object.end() || found->is_null() ? nullptr : &*found;
  }
};

HfConfig::HfConfig(std::unique_ptr<Node> node, std::string where, std::string prefix)
    : node_(std::move(node)), where_(std::move(where)), prefix_(std::move(prefix)) {}
HfConfig::HfConfig(HfConfig&&) noexcept = default;
HfConfig& HfConfig::operator=(HfConfig&&) noexcept = default;
HfConfig::~HfConfig() = default;

Result<HfConfig> HfConfig::Parse(std::string_view json, std::string_view where) {
  if (json.size() > kMaxBytes) {
    return Fail(ErrorCode::kInvalidArgument, "{}: {} bytes, expected at most {} for a config.json",
                where, json.size(), kMaxBytes);
  }
  CAIRN_ASSIGN(const std::string text, Prepare(json, where));
  auto node = std::make_unique<Node>();
  node->object = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (node->object.is_discarded()) {
    return Fail(ErrorCode::kCorrupt, "{}: not JSON: {}", where,
                Quoted(SyntaxError::In(text), kShownProblem));
  }
  if (!node->object.is_object()) {
    return Fail(ErrorCode::kInvalidArgument, "{}: {}, expected a JSON object", where,
                Describe(node->object));
  }
  return HfConfig(std::move(node), std::string(where), "");
}

bool HfConfig::Has(std::string_view key) const { return node_->Find(key) != nullptr; }

bool HfConfig::IsNull(std::string_view key) const {
  const auto found = node_->object.find(key);
  return found != node_->object.end() && found->is_null();
}

std::string HfConfig::Found(std::string_view key) const {
  const Json* value = node_->Find(key);
  return value == nullptr ? "missing" : Describe(*value);
}

std::unexpected<Error> HfConfig::Missing(std::string_view key, std::string_view expected) const {
  return Fail(ErrorCode::kNotFound, "{}: {}{} is missing{}{}", where_, prefix_, key,
              expected.empty() ? "" : ", expected ", expected);
}

std::unexpected<Error> HfConfig::Wrong(std::string_view key, std::string_view expected) const {
  return Fail(ErrorCode::kInvalidArgument, "{}: {}{} is {}, expected {}", where_, prefix_, key,
              Found(key), expected);
}

std::unexpected<Error> HfConfig::Unsupported(std::string_view key,
                                             std::string_view supported) const {
  return Fail(ErrorCode::kUnsupported, "{}: {}{} {} is not supported; supported: {}", where_,
              prefix_, key, Found(key), supported);
}

Result<int64_t> HfConfig::Int(std::string_view key, IntRange range) const {
  const Json* value = node_->Find(key);
  if (value == nullptr) return Missing(key, RangeText(range));
  if (value->is_boolean()) return Wrong(key, RangeText(range));
  if (const auto number = IntInRange(*value, range)) return *number;
  return Wrong(key, RangeText(range));
}

Result<int64_t> HfConfig::IntOr(std::string_view key, IntRange range, int64_t absent) const {
  if (!Has(key)) return absent;
  return Int(key, range);
}

Result<double> HfConfig::FloatOr(std::string_view key, FloatRange range, double absent) const {
  const Json* value = node_->Find(key);
  if (value == nullptr) return absent;
  if (value->is_number()) {
    const double number = value->get<double>();
    if (number >= range.min && number <= range.max) return number;
  }
  return Wrong(key, fmt::format("a number from {} to {}", range.min, range.max));
}

Result<bool> HfConfig::BoolOr(std::string_view key, bool absent) const {
  const Json* value = node_->Find(key);
  if (value == nullptr) return absent;
  if (value->is_boolean()) return value->get<bool>();
  return Wrong(key, "true or false");
}

Result<std::string> HfConfig::String(std::string_view key) const {
  const Json* value = node_->Find(key);
  if (value == nullptr) return Missing(key, "a string");
  if (value->is_string()) return value->get<std::string>();
  return Wrong(key, "a string");
}

Result<std::string> HfConfig::StringOr(std::string_view key, std::string_view absent) const {
  if (!Has(key)) return std::string(absent);
  return String(key);
}

Result<std::vector<int64_t>> HfConfig::Ints(std::string_view key, size_t size,
                                            IntRange range) const {
  const Json* value = node_->Find(key);
  const std::string expected = fmt::format("a list of {}, each {}", size, RangeText(range));
  if (value == nullptr) return Missing(key, expected);
  if (!value->is_array() || value->size() != size) return Wrong(key, expected);
  std::vector<int64_t> numbers;
  numbers.reserve(size);
  for (const Json& entry : *value) {
    const auto number = IntInRange(entry, range);
    if (!number) {
      return Fail(ErrorCode::kInvalidArgument, "{}: {}{}[{}] is {}, expected {}", where_, prefix_,
                  key, numbers.size(), Describe(entry), RangeText(range));
    }
    numbers.push_back(*number);
  }
  return numbers;
}

Result<std::vector<std::string>> HfConfig::Strings(std::string_view key, size_t size) const {
  const Json* value = node_->Find(key);
  const std::string expected = fmt::format("a list of {} strings", size);
  if (value == nullptr) return Missing(key, expected);
  if (!value->is_array() || value->size() != size) return Wrong(key, expected);
  std::vector<std::string> strings;
  strings.reserve(size);
  for (const Json& entry : *value) {
    if (!entry.is_string()) {
      return Fail(ErrorCode::kInvalidArgument, "{}: {}{}[{}] is {}, expected a string", where_,
                  prefix_, key, strings.size(), Describe(entry));
    }
    strings.push_back(entry.get<std::string>());
  }
  return strings;
}

// Infinity is no JSON: it is bare, a string by now, or an object that stands for it.
Result<std::array<double, 2>> HfConfig::Bounds(std::string_view key, FloatRange range,
                                               std::array<double, 2> absent) const {
  const Json* value = node_->Find(key);
  if (value == nullptr) return absent;
  const auto number = [](const Json& entry) {
    if (entry.is_number()) return entry.get<double>();
    const Json* name = &entry;
    if (entry.is_object() && entry.contains("__float__")) name = &entry["__float__"];
    const bool infinite = name->is_string() && name->get_ref<const std::string&>() == "Infinity";
    return infinite ? std::numeric_limits<double>::infinity() : std::nan("");
  };
  std::array<double, 2> bounds = {std::nan(""), std::nan("")};
  if (value->is_array() && value->size() == 2) bounds = {number((*value)[0]), number((*value)[1])};
  const auto valid = [&](double x) {
    return (x >= range.min && x <= range.max) || x == std::numeric_limits<double>::infinity();
  };
  if (valid(bounds[0]) && valid(bounds[1]) && bounds[0] <= bounds[1]) return bounds;
  return Wrong(
      key, fmt::format("two ascending numbers from {} to {}, or Infinity", range.min, range.max));
}

Result<std::vector<double>> HfConfig::Floats(std::string_view key, size_t size,
                                             FloatRange range) const {
  const Json* value = node_->Find(key);
  const std::string expected =
      fmt::format("a list of {}, each a number from {} to {}", size, range.min, range.max);
  if (value == nullptr) return Missing(key, expected);
  if (!value->is_array() || value->size() != size) return Wrong(key, expected);
  std::vector<double> numbers;
  numbers.reserve(size);
  for (const Json& entry : *value) {
    const double number = entry.is_number() ? entry.get<double>() : std::nan("");
    if (!(number >= range.min && number <= range.max)) {
      return Fail(ErrorCode::kInvalidArgument,
                  "{}: {}{}[{}] is {}, expected a number from {} to {}", where_, prefix_, key,
                  numbers.size(), Describe(entry), range.min, range.max);
    }
    numbers.push_back(number);
  }
  return numbers;
}

Result<std::vector<int64_t>> HfConfig::IntsUpTo(std::string_view key, size_t max,
                                                IntRange range) const {
  const std::optional<size_t> size = ListSize(key);
  if (size && *size <= max) return Ints(key, *size, range);
  if (!Has(key)) return Missing(key);
  return Wrong(key, fmt::format("a list of at most {} integers", max));
}

std::optional<size_t> HfConfig::ListSize(std::string_view key) const {
  const Json* value = node_->Find(key);
  if (value == nullptr || !value->is_array()) return std::nullopt;
  return value->size();
}

size_t HfConfig::KeyCount() const {
  return static_cast<size_t>(
      std::ranges::count_if(node_->object, [](const Json& value) { return !value.is_null(); }));
}

bool HfConfig::IsNumber(std::string_view key) const {
  const Json* value = node_->Find(key);
  return value != nullptr && value->is_number();
}

bool HfConfig::IsString(std::string_view key) const {
  const Json* value = node_->Find(key);
  return value != nullptr && value->is_string();
}

Result<std::optional<int64_t>> HfConfig::OptionalInt(std::string_view key, IntRange range,
                                                     std::optional<int64_t> absent) const {
  if (IsNull(key)) return std::nullopt;
  if (!Has(key)) return absent;
  CAIRN_ASSIGN(const int64_t number, Int(key, range));
  return number;
}

Result<std::optional<double>> HfConfig::OptionalFloat(std::string_view key, FloatRange range,
                                                      std::optional<double> absent) const {
  if (IsNull(key)) return std::nullopt;
  if (!Has(key)) return absent;
  CAIRN_ASSIGN(const double number, FloatOr(key, range, 0));
  return number;
}

Result<std::optional<HfConfig>> HfConfig::Child(std::string_view key) const {
  const Json* value = node_->Find(key);
  if (value == nullptr) return std::nullopt;
  if (!value->is_object()) return Wrong(key, "an object");
  auto node = std::make_unique<Node>();
  node->object = *value;
  return HfConfig(std::move(node), where_, fmt::format("{}{}.", prefix_, key));
}

Result<std::vector<HfConfig>> HfConfig::Children(std::string_view key, size_t size) const {
  const Json* value = node_->Find(key);
  if (value == nullptr) return Missing(key);
  if (!value->is_array() || value->size() != size) {
    return Wrong(key, fmt::format("a list of {} objects", size));
  }
  std::vector<HfConfig> children;
  children.reserve(size);
  for (const Json& entry : *value) {
    const std::string name = fmt::format("{}{}[{}]", prefix_, key, children.size());
    if (!entry.is_object()) {
      return Fail(ErrorCode::kInvalidArgument, "{}: {} is {}, expected an object", where_, name,
                  Describe(entry));
    }
    auto node = std::make_unique<Node>();
    node->object = entry;
    children.push_back(HfConfig(std::move(node), where_, name + "."));
  }
  return children;
}

}  // namespace cairn
