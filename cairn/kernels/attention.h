// Softmax attention of a batch over block tables, in the one arithmetic order (docs/adr/0006).
//
// Keys are walked in tiles of kTileKeys positions inside segments of kSegmentKeys positions, both
// at absolute borders; tiles are merged in order within a segment, segments in order. Which rows
// are computed together, and which thread takes which segment, changes no bit of any output. Thread
// safety: one call at a time on one Scratch and one pool.
#ifndef CAIRN_KERNELS_ATTENTION_H_
#define CAIRN_KERNELS_ATTENTION_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "cairn/base/aligned_buffer.h"
#include "cairn/base/dtype.h"
#include "cairn/base/thread_pool.h"
#include "cairn/kernels/state_rows.h"

namespace cairn {

enum class Arithmetic : uint8_t;
struct KeyStandard;

inline constexpr int64_t kSegmentKeys = 1024;

struct AttentionShape {
  int64_t heads = 0;
  int64_t kv_heads = 0;
  int64_t key_width = 0;
  int64_t value_width = 0;
  float scale = 1;
  float score_cap = 0;  // 0: none
  int64_t window = 0;   // query i sees keys j > i - window; 0: all
  int64_t chunk = 0;    // query i sees keys from floor(i / chunk) * chunk; 0: all
  // [heads]: a score of each head that joins the softmax and whose weight is dropped; null: none.
  const float* sinks = nullptr;
  DType key_codec = DType::kF16;
  DType value_codec = DType::kF16;
  // Stored rows are Hadamard-rotated (hadamard.h); queries and outputs are not.
  bool keys_rotated = false;
  bool values_rotated = false;
  // Stored keys are standardised (key_standard.h), which rotates them, too; null: they aren't.
  const KeyStandard* standard = nullptr;

  // Rows that lie in a second, more exact form as well and are read from there: those of the
  // positions below `first`, and by the query at position p those from FirstExact(p) on. Both forms
  // went through the same transform. Their codec, and those of the rows beside them, are multiplied
  // as integers (keys) and decoded to bf16 (values).
  struct Exact {
    bool keys = false;
    bool values = false;
    DType codec = DType::kQ8_0;
    int64_t first = 0;          // a multiple of kTileRows
    int64_t groups_before = 0;  // of kTileRows positions, before the query's own
  };
  Exact exact = {};

  // First position that the query at `position` sees.
  int64_t FirstVisible(int64_t position) const {
    int64_t first = 0;
    if (window > 0 && position - window + 1 > first) first = position - window + 1;
    if (chunk > 0 && position / chunk * chunk > first) first = position / chunk * chunk;
    return first;
  }
  int64_t FirstExact(int64_t position) const {
    const int64_t group = position / kTileRows - exact.groups_before;
    return group > 0 ? group * kTileRows : 0;
  }
};

// Where a span's exact rows lie, as those of AttentionSpan do. REQUIRES for queries at positions p:
// `recent` has the blocks from that of FirstExact(p) on.
struct ExactRows {
  std::span<std::byte* const> recent;
  int64_t first_recent_block = 0;
  std::span<std::byte* const> first;  // from block 0 on
  int64_t key_offset = 0;             // in a block of `recent`
  int64_t value_offset = 0;
  int64_t first_key_offset = 0;  // in a block of `first`
  int64_t first_value_offset = 0;
};

// Consecutive tokens of one sequence. Keys of position p lie in block p / 16 of the table: tiles
// [kv_head][key_width][16] at byte key_offset, values [kv_head][16][value_width] at value_offset.
struct AttentionSpan {
  std::span<std::byte* const> blocks;
  int64_t first_block = 0;
  int64_t key_offset = 0;
  int64_t value_offset = 0;
  ExactRows exact = {};
  int64_t first_position = 0;
  int64_t tokens = 0;
  // By KV head: the first position that it has a row of. Empty: 0 for all.
  std::span<const int32_t> first_rows = {};
  const float* queries = nullptr;  // [tokens][heads * key_width], `query_stride` apart
  float* out = nullptr;            // [tokens][heads * value_width], `out_stride` apart
};

// What one thread computes at once: some tokens of a span for one KV head.
struct AttentionItem {
  int32_t span;
  int32_t kv_head;
  int64_t first_token;
  int64_t tokens;
  int64_t segment;  // -1: all segments of these tokens, straight into the output
  int64_t partial;  // index of the first partial row when segment >= 0
};
// Tokens whose segments several items compute.
struct AttentionMerge {
  int32_t span;
  int32_t kv_head;
  int64_t first_token;
  int64_t tokens;
  int64_t segments;
  int64_t partial;
};

// Memory of Attention, kept between calls: grows to the largest call, then allocates nothing.
class AttentionScratch {
 private:
  friend class AttentionRun;
  std::vector<AlignedBuffer> per_thread_;
  AlignedBuffer partials_;
  std::vector<AttentionItem> items_;
  std::vector<AttentionMerge> merges_;
};

// What multiplies with rows of a codec.
Arithmetic KeyArithmetic(DType codec);
Arithmetic ValueArithmetic(DType codec);

void Attention(const AttentionShape& shape, std::span<const AttentionSpan> spans,
               int64_t query_stride, int64_t out_stride, AttentionScratch& scratch,
               ThreadPool& pool);

}  // namespace cairn

#endif  // CAIRN_KERNELS_ATTENTION_H_
