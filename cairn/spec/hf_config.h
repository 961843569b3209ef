// HfConfig: a Hugging Face config.json, read with types and bounds.
//
// An explicit null means absent. Bare Infinity and NaN, which Python writes, are accepted where
// nobody reads them. Size and nesting are bounded. Each reader's error is one line that names the
// file, the key, the value found and what would be right. Immutable; thread-safe.
#ifndef CAIRN_SPEC_HF_CONFIG_H_
#define CAIRN_SPEC_HF_CONFIG_H_

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cairn/base/status.h"

namespace cairn {

// Both ends are allowed.
struct IntRange {
  int64_t min = 0;
  int64_t max = 0;
};
struct FloatRange {
  double min = 0;
  double max = 0;
};

class HfConfig {
 public:
  static constexpr size_t kMaxBytes = size_t{16} << 20;
  static constexpr int kMaxDepth = 32;

  // `where` is the file's path, for errors.
  static Result<HfConfig> Parse(std::string_view json, std::string_view where);

  HfConfig(HfConfig&&) noexcept;
  HfConfig& operator=(HfConfig&&) noexcept;
  ~HfConfig();

  // Present and not null.
  bool Has(std::string_view key) const;
  // Present and null: Python's None, where that differs from a class default.
  bool IsNull(std::string_view key) const;

  Result<int64_t> Int(std::string_view key, IntRange range) const;
  Result<int64_t> IntOr(std::string_view key, IntRange range, int64_t absent) const;
  Result<double> FloatOr(std::string_view key, FloatRange range, double absent) const;
  Result<bool> BoolOr(std::string_view key, bool absent) const;
  Result<std::string> String(std::string_view key) const;
  Result<std::string> StringOr(std::string_view key, std::string_view absent) const;
  // Lists of exactly `size` entries. Numbers may be bools.
  Result<std::vector<int64_t>> Ints(std::string_view key, size_t size, IntRange range) const;
  Result<std::vector<std::string>> Strings(std::string_view key, size_t size) const;
  Result<std::vector<double>> Floats(std::string_view key, size_t size, FloatRange range) const;
  // A list of two numbers, each in the range or Infinity, in the order of their size.
  Result<std::array<double, 2>> Bounds(std::string_view key, FloatRange range,
                                       std::array<double, 2> absent) const;
  // A list of 0 to `max` entries, each in the range.
  Result<std::vector<int64_t>> IntsUpTo(std::string_view key, size_t max, IntRange range) const;
  // How many entries the list under `key` has; nothing if it is no list.
  std::optional<size_t> ListSize(std::string_view key) const;
  // Keys of this object that aren't null.
  size_t KeyCount() const;
  bool IsNumber(std::string_view key) const;
  bool IsString(std::string_view key) const;

  // Null is nothing; an absent key is `absent`.
  Result<std::optional<int64_t>> OptionalInt(std::string_view key, IntRange range,
                                             std::optional<int64_t> absent) const;
  Result<std::optional<double>> OptionalFloat(std::string_view key, FloatRange range,
                                              std::optional<double> absent) const;

  // A copy of the object under `key`; nothing if it is absent.
  Result<std::optional<HfConfig>> Child(std::string_view key) const;
  // Copies of the objects in the list of exactly `size` under `key`.
  Result<std::vector<HfConfig>> Children(std::string_view key, size_t size) const;

  // "file: key is 0, expected a number from 1 to 512"
  std::unexpected<Error> Wrong(std::string_view key, std::string_view expected) const;
  // The same with kUnsupported: well-formed, but nothing here can do it.
  std::unexpected<Error> Unsupported(std::string_view key, std::string_view supported) const;

  // "file: key is missing"
  std::unexpected<Error> Missing(std::string_view key, std::string_view expected = "") const;

  const std::string& where() const { return where_; }

 private:
  struct Node;
  HfConfig(std::unique_ptr<Node> node, std::string where, std::string prefix);
  std::string Found(std::string_view key) const;

  std::unique_ptr<Node> node_;
  std::string where_;   // "models/x/config.json"
  std::string prefix_;  // "text_config.": what stands before each key of this object
};

}  // namespace cairn

#endif  // CAIRN_SPEC_HF_CONFIG_H_
