// ConfigWriter: a config.json that is put together key by key, where another kind of file says what
// such a config would.
//
// A dot in a key leads into an object: "rope_scaling.factor". Thread-compatible.
#ifndef CAIRN_SPEC_CONFIG_WRITER_H_
#define CAIRN_SPEC_CONFIG_WRITER_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace cairn {

class ConfigWriter {
 public:
  using Value = std::variant<bool, int64_t, double, std::string, std::vector<int64_t>,
                             std::vector<double>, std::vector<std::string>>;

  // Replaces an earlier value of the key.
  void Set(std::string_view key, Value value) {
    values_.insert_or_assign(std::string(key), std::move(value));
  }
  void Drop(std::string_view key) { values_.erase(std::string(key)); }
  bool Has(std::string_view key) const { return values_.contains(key); }
  // The JSON object.
  std::string Text() const;

 private:
  std::map<std::string, Value, std::less<>> values_;
};

}  // namespace cairn

#endif  // CAIRN_SPEC_CONFIG_WRITER_H_
