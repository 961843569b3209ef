// ByteReader: takes little-endian values off the front of bytes that can't be trusted.
//
// Every read says false, and takes nothing, where too few bytes are left. Thread-compatible.
#ifndef CAIRN_WEIGHTS_BYTE_READER_H_
#define CAIRN_WEIGHTS_BYTE_READER_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <type_traits>

namespace cairn {

static_assert(std::endian::native == std::endian::little, "model files are little-endian");

class ByteReader {
 public:
  explicit ByteReader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  size_t offset() const { return offset_; }
  size_t remaining() const { return bytes_.size() - offset_; }
  // Of the last read that found too few bytes: how many there would have to be from the start. 0 if
  // each read found enough.
  uint64_t wanted() const { return wanted_; }

  // Whether so many are left.
  bool Has(uint64_t bytes) {
    if (bytes <= remaining()) return true;
    wanted_ = bytes > UINT64_MAX - offset_ ? UINT64_MAX : offset_ + bytes;
    return false;
  }
  bool Skip(uint64_t bytes) {
    if (!Has(bytes)) return false;
    offset_ += static_cast<size_t>(bytes);
    return true;
  }

  template <class T>
  bool Read(T& value) {
    static_assert(std::is_arithmetic_v<T>);
    if (!Has(sizeof(T))) return false;
    std::memcpy(&value, bytes_.data() + offset_, sizeof(T));
    offset_ += sizeof(T);
    return true;
  }

  // Shows the bytes where they lie.
  bool ReadText(uint64_t size, std::string_view& text) {
    if (!Has(size)) return false;
    text = {reinterpret_cast<const char*>(bytes_.data()) + offset_, static_cast<size_t>(size)};
    offset_ += static_cast<size_t>(size);
    return true;
  }

 private:
  std::span<const std::byte> bytes_;
  size_t offset_ = 0;
  uint64_t wanted_ = 0;
};

}  // namespace cairn

#endif  // CAIRN_WEIGHTS_BYTE_READER_H_
