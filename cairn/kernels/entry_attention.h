// Softmax attention of many heads over two kinds of rows, which are key and value at once: those of
// the latest positions, and entries that stand for several earlier tokens each (DeepSeek V4).
//
// A token's rows are walked in order, the window first, then its entries, in tiles that are counted
// from the first of them: what a token gets depends on its own rows alone, whatever else is in the
// batch. A head's sink is a score that joins the softmax and has no value. Thread safety: one call
// at a time on one Scratch and one pool.
#ifndef CAIRN_KERNELS_ENTRY_ATTENTION_H_
#define CAIRN_KERNELS_ENTRY_ATTENTION_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "cairn/base/aligned_buffer.h"
#include "cairn/base/dtype.h"
#include "cairn/base/thread_pool.h"

namespace cairn {

struct EntryAttentionShape {
  int64_t heads = 0;
  int64_t width = 0;  // of a row, a query and an output
  float scale = 1;
  int64_t window = 0;            // positions that a query sees, its own with them; 0: all
  int64_t tokens_per_entry = 0;  // 0: there are no entries
  const float* sinks = nullptr;  // [heads]
  DType codec = DType::kF16;
};

// Rows in blocks: row r lies in block r / 16, in a row-major tile [16][width] at byte `offset`.
struct RowBlocks {
  std::span<std::byte* const> blocks;
  int64_t first_block = 0;
  int64_t offset = 0;
};

// Consecutive tokens of one sequence.
struct EntryAttentionSpan {
  RowBlocks window;   // a row for each position
  RowBlocks entries;  // a row for each entry; a query sees those whose tokens it sees all
  int64_t first_position = 0;
  int64_t tokens = 0;
  const float* queries = nullptr;  // [tokens][heads * width]
  float* out = nullptr;            // [tokens][heads * width]
  // [tokens][picks_stride] entries, ascending, of which token t reads the first pick_counts[t];
  // null: all that it sees.
  const int32_t* picks = nullptr;
  int64_t picks_stride = 0;
  const int32_t* pick_counts = nullptr;
};

// Memory of EntryAttention, kept between calls: grows to the largest call, then allocates nothing.
class EntryAttentionScratch {
 private:
  friend class EntryAttentionRun;
  std::vector<AlignedBuffer> per_thread_;
};

void EntryAttention(const EntryAttentionShape& shape, std::span<const EntryAttentionSpan> spans,
                    EntryAttentionScratch& scratch, ThreadPool& pool);

}  // namespace cairn

#endif  // CAIRN_KERNELS_ENTRY_ATTENTION_H_
