// What must hold for every answer of a reader, whatever bytes it was given.
#ifndef CAIRN_WEIGHTS_WEIGHT_FILE_FOR_TESTS_H_
#define CAIRN_WEIGHTS_WEIGHT_FILE_FOR_TESTS_H_

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "cairn/base/check.h"
#include "cairn/base/status.h"
#include "cairn/weights/weight_file.h"

namespace cairn {

// One line that a terminal can show.
inline void CheckMessage(const std::string& message) {
  CAIRN_CHECK(!message.empty() && message.size() < 1000);
  CAIRN_CHECK(std::ranges::all_of(message, [](char c) { return c >= ' ' && c <= '~'; }));
}

inline void CheckTensor(const WeightFile& file, const TensorInfo& tensor,
                        std::span<const std::byte> bytes) {
  CAIRN_CHECK(file.Find(tensor.name) == &tensor);
  CAIRN_CHECK(file.Require(tensor.name).has_value() == tensor.dtype.has_value());
  if (!tensor.bytes.empty()) {
    CAIRN_CHECK(tensor.bytes.data() >= bytes.data());
    CAIRN_CHECK(&tensor.bytes.back() <= &bytes.back());
  }
  if (!tensor.dtype) return;
  int64_t elements = 1;
  for (const int64_t size : tensor.shape) elements *= size;
  CAIRN_CHECK(BytesOf(*tensor.dtype, ElementCount(elements)).value() ==
              static_cast<int64_t>(tensor.bytes.size()));
}

inline void CheckWeightFile(const Result<std::unique_ptr<WeightFile>>& file,
                            std::span<const std::byte> bytes) {
  if (!file) return CheckMessage(file.error().message);
  for (const TensorInfo& tensor : (*file)->tensors()) CheckTensor(**file, tensor, bytes);
}

}  // namespace cairn

#endif  // CAIRN_WEIGHTS_WEIGHT_FILE_FOR_TESTS_H_
