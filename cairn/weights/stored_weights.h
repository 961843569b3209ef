// WeightCounter: adds up tensors by the form they are stored in. Thread-compatible.
#ifndef CAIRN_WEIGHTS_STORED_WEIGHTS_H_
#define CAIRN_WEIGHTS_STORED_WEIGHTS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "cairn/base/status.h"
#include "cairn/weights/describe_for_sizing.h"

namespace cairn {

class WeightCounter {
 public:
  // `where` is the path for errors; they are sums that pass 63 bits.
  Status Add(const std::string& where, const std::string& type, int64_t elements,
             std::optional<uint64_t> bytes);
  StoredWeights Sum() const;

 private:
  struct Form {
    int64_t tensors = 0;
    int64_t elements = 0;
    int64_t bytes = 0;
    bool measured = true;
  };
  std::map<std::string, Form, std::less<>> forms_;
  int64_t elements_ = 0;
  int64_t bytes_ = 0;
};

}  // namespace cairn

#endif  // CAIRN_WEIGHTS_STORED_WEIGHTS_H_
