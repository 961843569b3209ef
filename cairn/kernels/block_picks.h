// Which blocks of keys a query reads, chosen by short keys of their own (MiniMax M3).
//
// A block's score is the largest q . key of its positions up to the query's; the last blocks up to
// the query's own are always picked, then those of the largest scores, the lower block among
// equals. Each head of the index picks for itself. A token's picks depend on its query and the keys
// up to its position alone: no cut of the batch and no number of threads changes them. Thread
// safety: one call at a time on one Scratch and one pool.
#ifndef CAIRN_KERNELS_BLOCK_PICKS_H_
#define CAIRN_KERNELS_BLOCK_PICKS_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "cairn/base/aligned_buffer.h"
#include "cairn/base/dtype.h"
#include "cairn/base/thread_pool.h"

namespace cairn {

struct BlockPicksShape {
  int64_t heads = 0;
  int64_t width = 0;  // of a key, and of a head's query
  int64_t block = 0;  // positions
  int64_t picks = 0;  // blocks
  int64_t local = 0;  // of these, up to the query's own, whatever their score
  DType codec = DType::kF16;

  // Queries before it read all blocks up to their own.
  int64_t FirstSparse() const { return picks * block; }
};

// Consecutive tokens of one sequence. The key of position p lies in block p / 16 of the table, in a
// transposed tile [width][16] at byte `offset`.
struct BlockPicksSpan {
  std::span<std::byte* const> blocks;
  int64_t first_block = 0;
  int64_t offset = 0;
  int64_t first_position = 0;
  int64_t tokens = 0;
  const float* queries = nullptr;  // [tokens][heads * width]
  int32_t* picks = nullptr;        // [tokens][heads][shape.picks], ascending
};

// Memory of PickBlocks, kept between calls: grows to the largest call, then allocates nothing.
class BlockPicksScratch {
 private:
  friend class BlockPicksRun;
  std::vector<AlignedBuffer> per_thread_;
};

// The work is one short key a position, and the choice; what is read afterwards doesn't grow with
// the context. REQUIRES: first_position >= shape.FirstSparse(), local <= picks, 1 <= picks.
void PickBlocks(const BlockPicksShape& shape, std::span<const BlockPicksSpan> spans,
                BlockPicksScratch& scratch, ThreadPool& pool);

}  // namespace cairn

#endif  // CAIRN_KERNELS_BLOCK_PICKS_H_
