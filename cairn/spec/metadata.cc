#include "cairn/spec/metadata.h"

#include <utility>

#include "cairn/spec/limits.h"

namespace cairn {
namespace {

struct TypeNamer {
  std::string operator()(bool) const { return "a bool"; }
  std::string operator()(int64_t) const { return "an integer"; }
  std::string operator()(uint64_t) const { return "an integer above 2^63 - 1"; }
  std::string operator()(double) const { return "a float"; }
  std::string operator()(const std::string&) const { return "a string"; }
  std::string operator()(const std::vector<int64_t>& array) const {
    return fmt::format("an array of {} integers", array.size());
  }
  std::string operator()(const std::vector<double>& array) const {
    return fmt::format("an array of {} floats", array.size());
  }
  std::string operator()(const std::vector<std::string>& array) const {
    return fmt::format("an array of {} strings", array.size());
  }
};

struct ArraySizer {
  template <class T>
  std::optional<uint64_t> operator()(const T& /*scalar*/) const {
    return std::nullopt;
  }
  template <class T>
  std::optional<uint64_t> operator()(const std::vector<T>& array) const {
    return array.size();
  }
};

}  // namespace

std::string TypeNameOf(const MetadataValue& value) { return std::visit(TypeNamer(), value); }

void Metadata::Set(std::string_view key, MetadataValue value) {
  values_.insert_or_assign(std::string(key), std::move(value));
}

const MetadataValue* Metadata::Find(std::string_view key) const {
  const auto found = values_.find(key);
  return found == values_.end() ? nullptr : &found->second;
}

void Metadata::SetSkippedArray(std::string_view key, uint64_t elements) {
  skipped_arrays_.insert_or_assign(std::string(key), elements);
}

std::optional<uint64_t> Metadata::ArraySize(std::string_view key) const {
  if (const MetadataValue* value = Find(key)) return std::visit(ArraySizer(), *value);
  const auto skipped = skipped_arrays_.find(key);
  if (skipped == skipped_arrays_.end()) return std::nullopt;
  return skipped->second;
}

Result<const MetadataValue*> Metadata::Require(std::string_view key) const {
  const MetadataValue* value = Find(key);
  if (value == nullptr) return Fail(ErrorCode::kNotFound, "{}: key {} is missing", where_, key);
  return value;
}

std::unexpected<Error> Metadata::WrongType(std::string_view key, const MetadataValue& value,
                                           std::string_view expected) const {
  return Fail(ErrorCode::kInvalidArgument, "{}: key {} is {}, expected {}", where_, key,
              TypeNameOf(value), expected);
}

Result<int64_t> Metadata::Int(std::string_view key) const {
  CAIRN_ASSIGN(const MetadataValue* value, Require(key));
  if (const auto* integer = std::get_if<int64_t>(value)) return *integer;
  return WrongType(key, *value, "an integer");
}

Result<double> Metadata::Float(std::string_view key) const {
  CAIRN_ASSIGN(const MetadataValue* value, Require(key));
  if (const auto* number = std::get_if<double>(value)) return *number;
  if (const auto* integer = std::get_if<int64_t>(value)) return static_cast<double>(*integer);
  if (const auto* large = std::get_if<uint64_t>(value)) return static_cast<double>(*large);
  return WrongType(key, *value, "a number");
}

Result<bool> Metadata::Bool(std::string_view key) const {
  CAIRN_ASSIGN(const MetadataValue* value, Require(key));
  if (const auto* boolean = std::get_if<bool>(value)) return *boolean;
  return WrongType(key, *value, "a bool");
}

Result<std::string_view> Metadata::String(std::string_view key) const {
  CAIRN_ASSIGN(const MetadataValue* value, Require(key));
  if (const auto* text = std::get_if<std::string>(value)) return std::string_view(*text);
  return WrongType(key, *value, "a string");
}

Result<std::vector<int64_t>> Metadata::Ints(std::string_view key) const {
  CAIRN_ASSIGN(const MetadataValue* value, Require(key));
  if (const auto* array = std::get_if<std::vector<int64_t>>(value)) return *array;
  return WrongType(key, *value, "an array of integers");
}

Result<std::vector<double>> Metadata::Floats(std::string_view key) const {
  CAIRN_ASSIGN(const MetadataValue* value, Require(key));
  if (const auto* array = std::get_if<std::vector<double>>(value)) return *array;
  if (const auto* integers = std::get_if<std::vector<int64_t>>(value)) {
    return std::vector<double>(integers->begin(), integers->end());
  }
  return WrongType(key, *value, "an array of numbers");
}

Result<std::span<const std::string>> Metadata::Strings(std::string_view key) const {
  CAIRN_ASSIGN(const MetadataValue* value, Require(key));
  if (const auto* array = std::get_if<std::vector<std::string>>(value)) {
    return std::span<const std::string>(*array);
  }
  return WrongType(key, *value, "an array of strings");
}

Result<int64_t> Metadata::IntOr(std::string_view key, int64_t absent) const {
  if (!Has(key)) return absent;
  return Int(key);
}

Result<double> Metadata::FloatOr(std::string_view key, double absent) const {
  if (!Has(key)) return absent;
  return Float(key);
}

Result<bool> Metadata::BoolOr(std::string_view key, bool absent) const {
  if (!Has(key)) return absent;
  return Bool(key);
}

Result<std::string_view> Metadata::StringOr(std::string_view key, std::string_view absent) const {
  if (!Has(key)) return absent;
  return String(key);
}

Result<std::vector<int64_t>> Metadata::IntPerLayer(std::string_view key, int64_t layers,
                                                   std::optional<int64_t> absent) const {
  if (layers < 0 || layers > kMaxLayers) {
    return Fail(ErrorCode::kInvalidArgument, "{}: {} layers, expected 0 to {}", where_, layers,
                kMaxLayers);
  }
  const auto count = static_cast<size_t>(layers);
  if (absent && !Has(key)) return std::vector<int64_t>(count, *absent);
  CAIRN_ASSIGN(const MetadataValue* value, Require(key));
  if (const auto* integer = std::get_if<int64_t>(value)) {
    return std::vector<int64_t>(count, *integer);
  }
  const auto* array = std::get_if<std::vector<int64_t>>(value);
  if (array != nullptr && array->size() == count) return *array;
  return WrongType(key, *value,
                   fmt::format("an integer or an array of {} integers, one per layer", layers));
}

}  // namespace cairn
