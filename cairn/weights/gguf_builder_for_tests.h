// GgufBuilder: makes GGUF files in memory for tests, right ones and wrong ones.
#ifndef CAIRN_WEIGHTS_GGUF_BUILDER_FOR_TESTS_H_
#define CAIRN_WEIGHTS_GGUF_BUILDER_FOR_TESTS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cairn {

// The value's bytes as the file has them.
template <class T>
std::string Raw(T value) {
  return {reinterpret_cast<const char*>(&value), sizeof(T)};
}
inline std::string RawText(std::string_view text) {
  return Raw<uint64_t>(text.size()) + std::string(text);
}

class GgufBuilder {
 public:
  // Numbers of value types.
  static constexpr uint32_t kU8 = 0, kI8 = 1, kU16 = 2, kI16 = 3, kU32 = 4, kI32 = 5, kF32 = 6,
                            kBool = 7, kString = 8, kArray = 9, kU64 = 10, kI64 = 11, kF64 = 12;

  uint32_t version = 3;
  uint64_t alignment = 32;                // of the data; put the key in with Pair
  std::optional<uint64_t> claimed_pairs;  // instead of the true numbers
  std::optional<uint64_t> claimed_tensors;

  GgufBuilder& Pair(std::string_view key, uint32_t type, const std::string& raw) {
    pairs_ += RawText(key) + Raw(type) + raw;
    ++pair_count_;
    return *this;
  }
  GgufBuilder& Array(std::string_view key, uint32_t type, uint64_t count, const std::string& raw) {
    return Pair(key, kArray, Raw(type) + Raw(count) + raw);
  }

  // `dimensions` as in the file: innermost first. Without `offset`, behind the earlier tensors.
  GgufBuilder& Tensor(std::string_view name, const std::vector<uint64_t>& dimensions,
                      uint32_t ggml_type, const std::string& bytes,
                      std::optional<uint64_t> offset = std::nullopt) {
    tensors_ += RawText(name) + Raw(static_cast<uint32_t>(dimensions.size()));
    for (const uint64_t size : dimensions) tensors_ += Raw(size);
    tensors_ += Raw(ggml_type) + Raw(offset.value_or(data_.size()));
    ++tensor_count_;
    data_ += bytes;
    Pad(data_);
    return *this;
  }

  std::string Build() const {
    std::string file = "GGUF" + Raw(version) + Raw(claimed_tensors.value_or(tensor_count_)) +
                       Raw(claimed_pairs.value_or(pair_count_)) + pairs_ + tensors_;
    if (tensor_count_ > 0) Pad(file);
    return file + data_;
  }

 private:
  void Pad(std::string& bytes) const {
    while (bytes.size() % alignment != 0) bytes += '\0';
  }

  std::string pairs_;
  std::string tensors_;
  std::string data_;
  uint64_t pair_count_ = 0;
  uint64_t tensor_count_ = 0;
};

}  // namespace cairn

#endif  // CAIRN_WEIGHTS_GGUF_BUILDER_FOR_TESTS_H_
