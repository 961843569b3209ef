#include "cairn/weights/stored_weights.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace cairn {

Status WeightCounter::Add(const std::string& where, const std::string& type, int64_t elements,
                          std::optional<uint64_t> bytes) {
  Form& form = forms_[type];
  const uint64_t size = bytes.value_or(0);
  if (__builtin_add_overflow(elements_, elements, &elements_) ||
      __builtin_add_overflow(bytes_, size, &bytes_)) {
    return Fail(ErrorCode::kCorrupt, "{}: its tensors have more elements than can be counted",
                where);
  }
  ++form.tensors;
  form.elements += elements;
  form.bytes += static_cast<int64_t>(size);
  form.measured = form.measured && bytes.has_value();
  return {};
}

StoredWeights WeightCounter::Sum() const {
  StoredWeights sum;
  sum.parameters = ElementCount(elements_);
  sum.bytes = Bytes(bytes_);
  for (const auto& [type, form] : forms_) {
    StoredTensors stored = {.type = type,
                            .tensors = form.tensors,
                            .elements = ElementCount(form.elements),
                            .bytes = Bytes(form.bytes)};
    if (!form.measured) stored.bytes = sum.bytes = std::nullopt;
    sum.by_type.push_back(std::move(stored));
  }
  std::ranges::sort(sum.by_type, [](const StoredTensors& a, const StoredTensors& b) {
    return std::tie(b.elements, a.type) < std::tie(a.elements, b.type);
  });
  return sum;
}

}  // namespace cairn
