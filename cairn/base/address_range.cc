#include "cairn/base/address_range.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "cairn/base/check.h"

namespace cairn {

int64_t AddressRange::PageBytes() {
  static const int64_t bytes = sysconf(_SC_PAGESIZE);
  return bytes;
}

Result<AddressRange> AddressRange::Reserve(Bytes bytes) {
  CAIRN_CHECK(bytes >= Bytes(0));
  AddressRange range;
  if (bytes == Bytes(0)) return range;
  range.size_ = static_cast<size_t>(bytes.value());
  // NORESERVE: the range is as large as the budget of every class, far more than will be touched.
  void* address = mmap(nullptr, range.size_, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (address == MAP_FAILED) {
    range.size_ = 0;
    return Fail(ErrorCode::kExhausted,
                "the system can't reserve {} bytes of addresses for state ({}); a smaller state "
                "budget, or a higher limit (ulimit -v, vm.overcommit_memory) would do",
                bytes.value(), std::strerror(errno));
  }
  range.data_ = static_cast<std::byte*>(address);
  // Rows of one head lie in blocks far apart; with small pages every block costs a walk of the page
  // table. Only a wish: without huge pages the range works as well.
  (void)madvise(address, range.size_, MADV_HUGEPAGE);
  return range;
}

AddressRange::~AddressRange() {
  if (data_ != nullptr) CAIRN_CHECK(munmap(data_, size_) == 0);
}

void AddressRange::GiveBackPages(int64_t first, int64_t end) {
  if (first >= end) return;
  const int64_t page = PageBytes();
  CAIRN_CHECK(first >= 0 && (end - 1) * page < static_cast<int64_t>(size_));
  CAIRN_CHECK(
      madvise(data_ + first * page, static_cast<size_t>((end - first) * page), MADV_DONTNEED) == 0);
}

}  // namespace cairn
