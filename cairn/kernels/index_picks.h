// Which rows a query reads, chosen by keys of their own (DeepSeek's sparse attention).
//
// score(p) = sum_h weight[h] * max(0, scale * query_h . key_p), heads in order; the largest scores
// are picked, the lower position among equals. A token's picks depend on its own query and on the
// keys up to its position: no cut of the batch and no number of threads changes them. Thread
// safety: one call at a time on one Scratch and one pool.
#ifndef CAIRN_KERNELS_INDEX_PICKS_H_
#define CAIRN_KERNELS_INDEX_PICKS_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "cairn/base/aligned_buffer.h"
#include "cairn/base/dtype.h"
#include "cairn/base/thread_pool.h"

namespace cairn {

struct IndexShape {
  int64_t heads = 0;
  int64_t width = 0;      // of a key, and of a head's query
  int64_t row_width = 0;  // of a stored row, which begins with the key
  int64_t picks = 0;      // rows that a query reads at most; at least 1
  // A row stands for so many tokens: a query sees those all of whose tokens it sees.
  int64_t tokens_per_row = 1;
  float scale = 1;
  DType codec = DType::kF16;
};

// Consecutive tokens of one sequence. The key of position p lies in block p / 16 of the table, in a
// row-major tile [16][row_width] at byte `offset`.
struct IndexSpan {
  std::span<std::byte* const> blocks;
  int64_t first_block = 0;
  int64_t offset = 0;
  int64_t first_position = 0;
  int64_t tokens = 0;
  const float* queries = nullptr;  // [tokens][heads * width]
  const float* weights = nullptr;  // [tokens][heads]
  int32_t* picks = nullptr;        // [tokens][IndexShape::picks], ascending; the rest is left alone
  int32_t* counts = nullptr;       // [tokens]
};

// Memory of PickRows, kept between calls: grows to the largest call, then allocates nothing.
class IndexScratch {
 private:
  friend class IndexRun;
  std::vector<AlignedBuffer> per_thread_;
  AlignedBuffer scores_;
};

// The work is one short key a position and head, and the choice; what is read afterwards doesn't
// grow with the context.
void PickRows(const IndexShape& shape, std::span<const IndexSpan> spans, IndexScratch& scratch,
              ThreadPool& pool);

}  // namespace cairn

#endif  // CAIRN_KERNELS_INDEX_PICKS_H_
