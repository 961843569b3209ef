#include "cairn/base/aligned_buffer.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>

namespace cairn {

void AlignedBuffer::PreferHugePages() {
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto first = (reinterpret_cast<uintptr_t>(data()) + page - 1) / page * page;
  const auto end = (reinterpret_cast<uintptr_t>(data()) + size()) / page * page;
  if (first < end) madvise(reinterpret_cast<void*>(first), end - first, MADV_HUGEPAGE);
}

}  // namespace cairn
