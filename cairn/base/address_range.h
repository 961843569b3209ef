// AddressRange: zeroed memory that takes address space when reserved, and RAM only where touched.
//
// Made for pools whose largest size is known and rarely reached: addresses never change, growing
// needs no copy, and pages that are given back read as zeros again. Movable, not copyable.
// Thread-compatible.
#ifndef CAIRN_BASE_ADDRESS_RANGE_H_
#define CAIRN_BASE_ADDRESS_RANGE_H_

#include <cstddef>
#include <cstdint>
#include <utility>

#include "cairn/base/ids.h"
#include "cairn/base/status.h"

namespace cairn {

class AddressRange {
 public:
  // Of a page, the unit in which memory is committed and given back.
  static int64_t PageBytes();

  // Error: the system has no such range to give.
  static Result<AddressRange> Reserve(Bytes bytes);

  AddressRange() = default;
  ~AddressRange();
  AddressRange(AddressRange&& other) noexcept { swap(other); }
  AddressRange& operator=(AddressRange&& other) noexcept {
    swap(other);
    return *this;
  }

  std::byte* data() const { return data_; }

  // Gives back the RAM of pages [first, end); they read as zeros from now on.
  void GiveBackPages(int64_t first, int64_t end);

 private:
  void swap(AddressRange& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
  }

  std::byte* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace cairn

#endif  // CAIRN_BASE_ADDRESS_RANGE_H_
