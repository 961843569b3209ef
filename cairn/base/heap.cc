#include "cairn/base/heap.h"

#include <cstdlib>
#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace cairn {

void ReturnFreedMemory() {
#ifdef __GLIBC__
  // Below a store's chunk of 1 MiB, above what a step's logits take in most models. Setting either
  // ends that glibc raises both.
  constexpr int kLarge = 512 << 10;
  mallopt(M_MMAP_THRESHOLD, kLarge);
  mallopt(M_TRIM_THRESHOLD, kLarge);
#endif
}

}  // namespace cairn
