// AlignedBuffer: bytes that start on a 64-byte border (a cache line, and the widest SIMD vector).
// Not initialised unless asked. Movable, not copyable.
#ifndef CAIRN_BASE_ALIGNED_BUFFER_H_
#define CAIRN_BASE_ALIGNED_BUFFER_H_

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <utility>

#include "cairn/base/check.h"

namespace cairn {

class AlignedBuffer {
 public:
  static constexpr size_t kAlignment = 64;

  AlignedBuffer() = default;
  explicit AlignedBuffer(size_t bytes) : size_(bytes) {
    if (bytes == 0) return;
    const size_t rounded = (bytes + kAlignment - 1) / kAlignment * kAlignment;
    data_.reset(static_cast<std::byte*>(std::aligned_alloc(kAlignment, rounded)));
    CAIRN_CHECK(data_ != nullptr);
  }

  std::byte* data() { return data_.get(); }
  const std::byte* data() const { return data_.get(); }
  size_t size() const { return size_; }

  template <class T>
  T* As() {
    return reinterpret_cast<T*>(data_.get());
  }
  template <class T>
  const T* As() const {
    return reinterpret_cast<const T*>(data_.get());
  }

  // Asks for 2 MiB pages for what lies between whole pages: large buffers that are read from end to
  // end again and again gain a fifth. Where the system has none to give, nothing is lost. Call
  // before the first write.
  void PreferHugePages();

  // Makes room for `bytes`; contents are lost when it grows.
  void Reserve(size_t bytes) {
    if (bytes > size_) *this = AlignedBuffer(bytes);
  }

 private:
  struct Free {
    void operator()(std::byte* data) const { std::free(data); }
  };
  std::unique_ptr<std::byte, Free> data_;
  size_t size_ = 0;
};

}  // namespace cairn

#endif  // CAIRN_BASE_ALIGNED_BUFFER_H_
