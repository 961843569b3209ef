#include "cairn/weights/gguf_metadata.h"

#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "cairn/spec/quoted.h"
#include "cairn/weights/gguf.h"

namespace cairn {
namespace {

// The numbers of value types in the file.
enum class GgufType : uint32_t {
  kU8,
  kI8,
  kU16,
  kI16,
  kU32,
  kI32,
  kF32,
  kBool,
  kString,
  kArray,
  kU64,
  kI64,
  kF64,
};

// No description has lists so long: those of layers have at most 512 entries.
constexpr uint64_t kMaxDescribingElements = 1 << 16;

class MetadataReader {
 public:
  MetadataReader(ByteReader& reader, GgufKeep keep, Metadata& metadata)
      : reader_(reader), keep_(keep), metadata_(metadata) {}

  std::string_view key() const { return key_; }

  Status ReadPair() {
    CAIRN_TRY(ReadKey());
    uint32_t type = 0;
    if (!reader_.Read(type)) return Truncated();
    CAIRN_ASSIGN(std::optional<MetadataValue> value, ReadValue(static_cast<GgufType>(type)));
    if (value) metadata_.Set(key_, *std::move(value));
    return {};
  }

 private:
  std::unexpected<Error> Truncated() const {
    return Fail(ErrorCode::kCorrupt, "{}: the file ends inside key {}", metadata_.where(),
                Quoted(key_));
  }

  Status ReadKey() {
    uint64_t size = 0;
    key_ = {};
    if (!reader_.Read(size)) {
      return Fail(ErrorCode::kCorrupt, "{}: the file ends after {} keys", metadata_.where(),
                  metadata_.size());
    }
    if (size == 0 || size > kMaxGgufNameBytes) {
      return Fail(ErrorCode::kCorrupt, "{}: key {} has a name of {} bytes, expected 1 to {}",
                  metadata_.where(), metadata_.size(), size, kMaxGgufNameBytes);
    }
    if (!reader_.ReadText(size, key_)) return Truncated();
    if (metadata_.Has(key_) || metadata_.ArraySize(key_)) {
      return Fail(ErrorCode::kCorrupt, "{}: key {} is there twice", metadata_.where(),
                  Quoted(key_));
    }
    return {};
  }

  // Nothing for a value that isn't kept.
  Result<std::optional<MetadataValue>> ReadValue(GgufType type) {
    switch (type) {
      case GgufType::kU8:
        return Scalar<uint8_t>();
      case GgufType::kI8:
        return Scalar<int8_t>();
      case GgufType::kU16:
        return Scalar<uint16_t>();
      case GgufType::kI16:
        return Scalar<int16_t>();
      case GgufType::kU32:
        return Scalar<uint32_t>();
      case GgufType::kI32:
        return Scalar<int32_t>();
      case GgufType::kF32:
        return Scalar<float>();
      case GgufType::kBool:
        return Bool();
      case GgufType::kString:
        return String();
      case GgufType::kArray:
        return Array();
      case GgufType::kU64:
        return Scalar<uint64_t>();
      case GgufType::kI64:
        return Scalar<int64_t>();
      case GgufType::kF64:
        return Scalar<double>();
    }
    return UnknownType(type);
  }

  Result<std::optional<MetadataValue>> Array() {
    uint32_t type = 0;
    uint64_t count = 0;
    if (!reader_.Read(type) || !reader_.Read(count)) return Truncated();
    if (keep_ == GgufKeep::kDescription && (IsVocabulary() || count > kMaxDescribingElements)) {
      return SkipArray(static_cast<GgufType>(type), count);
    }
    switch (static_cast<GgufType>(type)) {
      case GgufType::kU8:
      case GgufType::kBool:
        return Numbers<uint8_t, int64_t>(count);
      case GgufType::kI8:
        return Numbers<int8_t, int64_t>(count);
      case GgufType::kU16:
        return Numbers<uint16_t, int64_t>(count);
      case GgufType::kI16:
        return Numbers<int16_t, int64_t>(count);
      case GgufType::kU32:
        return Numbers<uint32_t, int64_t>(count);
      case GgufType::kI32:
        return Numbers<int32_t, int64_t>(count);
      case GgufType::kU64:
        return Numbers<uint64_t, int64_t>(count);
      case GgufType::kI64:
        return Numbers<int64_t, int64_t>(count);
      case GgufType::kF32:
        return Numbers<float, double>(count);
      case GgufType::kF64:
        return Numbers<double, double>(count);
      case GgufType::kString:
        return Strings(count);
      case GgufType::kArray:
        return NestedArray();
    }
    return UnknownType(static_cast<GgufType>(type));
  }

  std::unexpected<Error> NestedArray() const {
    return Fail(ErrorCode::kUnsupported, "{}: key {} is an array of arrays, which is not supported",
                metadata_.where(), Quoted(key_));
  }

  bool IsVocabulary() const { return key_.starts_with("tokenizer."); }

  // At most UINT64_MAX.
  static uint64_t Product(uint64_t count, uint64_t size) {
    return count > UINT64_MAX / size ? UINT64_MAX : count * size;
  }

  // 0 for types of no fixed size.
  static size_t SizeOf(GgufType type) {
    switch (type) {
      case GgufType::kU8:
      case GgufType::kI8:
      case GgufType::kBool:
        return 1;
      case GgufType::kU16:
      case GgufType::kI16:
        return 2;
      case GgufType::kU32:
      case GgufType::kI32:
      case GgufType::kF32:
        return 4;
      case GgufType::kU64:
      case GgufType::kI64:
      case GgufType::kF64:
        return 8;
      case GgufType::kString:
      case GgufType::kArray:
        return 0;
    }
    return 0;
  }

  Result<std::optional<MetadataValue>> SkipArray(GgufType type, uint64_t count) {
    if (type == GgufType::kArray) return NestedArray();
    // The size is known even where the bytes end among the elements.
    metadata_.SetSkippedArray(key_, count);
    if (type == GgufType::kString) {
      for (uint64_t i = 0; i < count; ++i) {
        uint64_t size = 0;
        if (!reader_.Read(size) || !reader_.Skip(size)) {
          // Each of the others takes at least its own size's bytes.
          reader_.Has(Product(count - i, sizeof(size)));
          return Truncated();
        }
      }
    } else {
      const size_t size = SizeOf(type);
      if (size == 0) return UnknownType(type);
      if (!reader_.Skip(Product(count, size))) return Truncated();
    }
    return std::nullopt;
  }

  template <class Stored>
  Result<std::optional<MetadataValue>> Scalar() {
    Stored value = 0;
    if (!reader_.Read(value)) return Truncated();
    if constexpr (std::is_floating_point_v<Stored>) {
      return MetadataValue(static_cast<double>(value));
    } else if constexpr (std::is_same_v<Stored, uint64_t>) {
      if (!std::in_range<int64_t>(value)) return MetadataValue(value);
    }
    return MetadataValue(static_cast<int64_t>(+value));
  }

  Result<std::optional<MetadataValue>> Bool() {
    uint8_t value = 0;
    if (!reader_.Read(value)) return Truncated();
    if (value > 1) {
      return Fail(ErrorCode::kCorrupt, "{}: key {} is a bool of value {}, expected 0 or 1",
                  metadata_.where(), Quoted(key_), value);
    }
    return MetadataValue(value == 1);
  }

  Result<std::string> Text() {
    uint64_t size = 0;
    std::string_view text;
    if (!reader_.Read(size) || !reader_.ReadText(size, text)) return Truncated();
    return std::string(text);
  }

  Result<std::optional<MetadataValue>> String() {
    if (keep_ == GgufKeep::kDescription && IsVocabulary()) {
      uint64_t size = 0;
      if (!reader_.Read(size) || !reader_.Skip(size)) return Truncated();
      return std::nullopt;
    }
    CAIRN_ASSIGN(std::string text, Text());
    return MetadataValue(std::move(text));
  }

  // Before anything is allocated: that many elements, each at least `element_bytes` long, can be
  // in the rest of the file.
  Status CheckCount(uint64_t count, size_t element_bytes) {
    if (!reader_.Has(Product(count, element_bytes))) {
      return Fail(ErrorCode::kCorrupt,
                  "{}: key {} is an array of {} elements, more than the file has room for",
                  metadata_.where(), Quoted(key_), count);
    }
    elements_ += count;
    if (elements_ > kMaxGgufArrayElements) {
      return Fail(ErrorCode::kUnsupported, "{}: key {}: the arrays have more than {} elements",
                  metadata_.where(), Quoted(key_), kMaxGgufArrayElements);
    }
    return {};
  }

  template <class Stored, class Kept>
  Result<std::optional<MetadataValue>> Numbers(uint64_t count) {
    CAIRN_TRY(CheckCount(count, sizeof(Stored)));
    std::vector<Kept> numbers(static_cast<size_t>(count));
    for (Kept& number : numbers) {
      Stored value = 0;
      if (!reader_.Read(value)) return Truncated();
      if constexpr (std::is_same_v<Stored, uint64_t>) {
        if (!std::in_range<int64_t>(value)) {
          return Fail(ErrorCode::kUnsupported, "{}: key {} has the element {}, above 2^63 - 1",
                      metadata_.where(), Quoted(key_), value);
        }
      }
      number = static_cast<Kept>(+value);  // an int8 is a number, not a character
    }
    return MetadataValue(std::move(numbers));
  }

  Result<std::optional<MetadataValue>> Strings(uint64_t count) {
    CAIRN_TRY(CheckCount(count, sizeof(uint64_t)));
    std::vector<std::string> strings;
    strings.reserve(static_cast<size_t>(count));
    for (uint64_t i = 0; i < count; ++i) {
      CAIRN_ASSIGN(std::string text, Text());
      strings.push_back(std::move(text));
    }
    return MetadataValue(std::move(strings));
  }

  std::unexpected<Error> UnknownType(GgufType type) const {
    return Fail(ErrorCode::kCorrupt, "{}: key {} has the unknown value type {}, expected 0 to 12",
                metadata_.where(), Quoted(key_), static_cast<uint32_t>(type));
  }

  ByteReader& reader_;
  const GgufKeep keep_;
  Metadata& metadata_;
  std::string_view key_;   // the pair that is being read
  uint64_t elements_ = 0;  // of all arrays so far
};

}  // namespace

Status ReadGgufMetadata(ByteReader& reader, uint64_t count, GgufKeep keep, Metadata& metadata,
                        GgufMetadataEnd* end) {
  MetadataReader pairs(reader, keep, metadata);
  Status status;
  uint64_t whole = 0;
  while (whole < count && status) {
    status = pairs.ReadPair();
    if (status) ++whole;
  }
  if (end != nullptr) *end = {.whole_keys = whole, .last_key = pairs.key()};
  return status;
}

}  // namespace cairn
