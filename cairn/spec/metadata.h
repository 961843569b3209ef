// Metadata: the typed key-value pairs of a model file, read with checks.
//
// Integers of every width are int64 (uint64 only for values above INT64_MAX), floats are double,
// arrays of bool are arrays of integers. Each reader's error is one line that names the file, the
// key, and what was expected. Thread-compatible.
#ifndef CAIRN_SPEC_METADATA_H_
#define CAIRN_SPEC_METADATA_H_

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "cairn/base/status.h"

namespace cairn {

using MetadataValue =
    std::variant<bool, int64_t, uint64_t, double, std::string, std::vector<int64_t>,
                 std::vector<double>, std::vector<std::string>>;

// "an integer", "an array of 32 strings": how errors call the value.
std::string TypeNameOf(const MetadataValue& value);

class Metadata {
 public:
  // `where` is the file's path, for errors.
  explicit Metadata(std::string where) : where_(std::move(where)) {}

  const std::string& where() const { return where_; }
  size_t size() const { return values_.size(); }
  // Sorted by key.
  const std::map<std::string, MetadataValue, std::less<>>& values() const { return values_; }

  // Replaces an earlier value of the key.
  void Set(std::string_view key, MetadataValue value);
  bool Has(std::string_view key) const { return Find(key) != nullptr; }
  const MetadataValue* Find(std::string_view key) const;

  // Says that an array of so many elements is under the key, without its elements: it is absent
  // for every reader but ArraySize.
  void SetSkippedArray(std::string_view key, uint64_t elements);
  // Of an array of any type, skipped or not; nothing where there is none.
  std::optional<uint64_t> ArraySize(std::string_view key) const;

  // An absent key is kNotFound, another type kInvalidArgument. What a span or string_view shows
  // lives as long as the value is not replaced.
  Result<int64_t> Int(std::string_view key) const;
  Result<double> Float(std::string_view key) const;  // accepts integers
  Result<bool> Bool(std::string_view key) const;
  Result<std::string_view> String(std::string_view key) const;
  Result<std::vector<int64_t>> Ints(std::string_view key) const;   // integers and bools
  Result<std::vector<double>> Floats(std::string_view key) const;  // accepts integers
  Result<std::span<const std::string>> Strings(std::string_view key) const;

  // As above, but an absent key is the default. Another type is still an error.
  Result<int64_t> IntOr(std::string_view key, int64_t absent) const;
  Result<double> FloatOr(std::string_view key, double absent) const;
  Result<bool> BoolOr(std::string_view key, bool absent) const;
  Result<std::string_view> StringOr(std::string_view key, std::string_view absent) const;

  // One number per layer: a scalar counts for each, an array must have exactly `layers` entries.
  // An absent key is `absent` for each layer, or an error without it.
  Result<std::vector<int64_t>> IntPerLayer(std::string_view key, int64_t layers,
                                           std::optional<int64_t> absent) const;

 private:
  Result<const MetadataValue*> Require(std::string_view key) const;
  std::unexpected<Error> WrongType(std::string_view key, const MetadataValue& value,
                                   std::string_view expected) const;

  std::string where_;
  std::map<std::string, MetadataValue, std::less<>> values_;
  std::map<std::string, uint64_t, std::less<>> skipped_arrays_;
};

}  // namespace cairn

#endif  // CAIRN_SPEC_METADATA_H_
