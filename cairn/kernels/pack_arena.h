// PackArena: one home for the packed matrices of a model, in the order in which they are read.
//
// Matrices that follow each other in time then follow each other in memory: reading ahead goes on
// from one into the next, and huge pages serve the small ones, too. Memory lives as long as the
// arena. Thread-compatible.
#ifndef CAIRN_KERNELS_PACK_ARENA_H_
#define CAIRN_KERNELS_PACK_ARENA_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "cairn/base/aligned_buffer.h"

namespace cairn {

class PackArena {
 public:
  PackArena() = default;
  // Aligned as AlignedBuffer is, not initialised.
  std::byte* Allocate(int64_t bytes);

 private:
  std::vector<AlignedBuffer> chunks_;
  size_t used_ = 0;  // of the last chunk
};

}  // namespace cairn

#endif  // CAIRN_KERNELS_PACK_ARENA_H_
