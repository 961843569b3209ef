// Softmax attention of many heads over one row for each position, which is key and value at once:
// latent attention with its matrices absorbed, in the one arithmetic order (docs/adr/0006).
//
// Rows are walked in tiles of kTileKeys inside segments of kSegmentKeys, both at absolute borders,
// as in attention.h: neither the cut of the batch nor the number of threads changes a bit. A token
// may be given the rows that it reads, its picks: then the borders count picks, and the cost grows
// with their number alone. Thread safety: one call at a time on one Scratch and one pool.
#ifndef CAIRN_KERNELS_ROW_ATTENTION_H_
#define CAIRN_KERNELS_ROW_ATTENTION_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "cairn/base/aligned_buffer.h"
#include "cairn/base/dtype.h"
#include "cairn/base/thread_pool.h"

namespace cairn {

struct RowAttentionShape {
  int64_t heads = 0;
  int64_t width = 0;        // of a row, and of a query
  int64_t value_width = 0;  // leading channels of a row that are its value
  float scale = 1;
  DType codec = DType::kF16;
};

// Consecutive tokens of one sequence. The row of position p lies in block p / 16 of the table, in a
// row-major tile [16][width] at byte `offset`.
struct RowAttentionSpan {
  std::span<std::byte* const> blocks;
  int64_t first_block = 0;
  int64_t offset = 0;
  int64_t first_position = 0;
  int64_t tokens = 0;
  const float* queries = nullptr;  // [tokens][heads * width], one behind the other
  float* out = nullptr;            // [tokens][heads * value_width], one behind the other
  // [tokens][picks_stride] positions, ascending, of which token t reads the first pick_counts[t];
  // null: all up to its own.
  const int32_t* picks = nullptr;
  int64_t picks_stride = 0;
  const int32_t* pick_counts = nullptr;
};

// Memory of RowAttention, kept between calls: grows to the largest call, then allocates nothing.
class RowAttentionScratch {
 private:
  friend class RowAttentionRun;
  // Some heads of some tokens over one segment, or over all of them.
  struct Item {
    int32_t span;
    int32_t first_head;
    int64_t first_token;
    int64_t tokens;
    int64_t segment;  // -1: all, straight into the output
    int64_t partial;  // index of the first partial row when segment >= 0
  };
  struct Merge {
    Item item;
    int64_t segments;
  };
  std::vector<AlignedBuffer> per_thread_;
  AlignedBuffer partials_;
  std::vector<Item> items_;
  std::vector<Merge> merges_;
};

// REQUIRES: every token reads at least one row.
void RowAttention(const RowAttentionShape& shape, std::span<const RowAttentionSpan> spans,
                  RowAttentionScratch& scratch, ThreadPool& pool);

}  // namespace cairn

#endif  // CAIRN_KERNELS_ROW_ATTENTION_H_
