#include "cairn/kernels/block_picks.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <utility>

#include "cairn/base/check.h"
#include "cairn/kernels/attention_tile.h"
#include "cairn/kernels/flush_subnormals.h"

namespace cairn {
namespace {

// Tokens that share a tile of keys.
constexpr int64_t kTokensPerItem = 4;
// Scores have room for so many blocks from the start and grow by doubling.
constexpr int64_t kBlocksReserved = 256;
constexpr float kNoKey = -std::numeric_limits<float>::infinity();

// The `count` best of `size` scores, ascending.
void PickBest(const float* scores, int64_t size, int64_t count, int32_t* picks) {
  int64_t held = 0;
  for (int64_t i = 0; i < size && count > 0; ++i) {
    if (held == count && !(scores[i] > scores[picks[held - 1]])) continue;
    int64_t at = held < count ? held++ : held - 1;
    for (; at > 0 && scores[i] > scores[picks[at - 1]]; --at) picks[at] = picks[at - 1];
    picks[at] = static_cast<int32_t>(i);
  }
  std::sort(picks, picks + held);
}

}  // namespace

// One call of PickBlocks.
class BlockPicksRun {
 public:
  BlockPicksRun(const BlockPicksShape& shape, BlockPicksScratch& scratch, int threads)
      : shape_(shape),
        scratch_(scratch),
        threads_(threads),
        read_in_place_(shape.codec == DType::kF32 || shape.codec == DType::kF16) {}

  void Run(const BlockPicksSpan& span, ThreadPool& pool) {
    CAIRN_DCHECK(span.first_position >= shape_.FirstSparse());
    Reserve((span.first_position + span.tokens) / shape_.block + 1);
    auto item = [&](int64_t index, int thread) {
      const int64_t first = index * kTokensPerItem;
      RunItem(span, first, std::min(kTokensPerItem, span.tokens - first), WorkspaceOf(thread));
    };
    pool.ParallelFor((span.tokens + kTokensPerItem - 1) / kTokensPerItem, item);
  }

 private:
  // Per-thread memory: scores of a tile, the largest one of each block, a tile's keys as floats.
  struct Workspace {
    float* scores;
    float* largest;
    float* keys;
    float* row;
  };

  int64_t RowsMax() const { return kTokensPerItem * shape_.heads; }

  void Reserve(int64_t blocks) {
    stride_ = static_cast<int64_t>(
        std::bit_ceil(static_cast<uint64_t>(std::max(blocks, kBlocksReserved))));
    if (scratch_.per_thread_.size() < static_cast<size_t>(threads_)) {
      scratch_.per_thread_.resize(static_cast<size_t>(threads_));
    }
    const int64_t floats = RowsMax() * (kTileKeys + stride_) + (kTileKeys + 1) * RoundedWidth();
    for (AlignedBuffer& buffer : scratch_.per_thread_) {
      buffer.Reserve(static_cast<size_t>(floats) * sizeof(float));
    }
  }

  int64_t RoundedWidth() const { return (shape_.width + kTileRows - 1) / kTileRows * kTileRows; }

  Workspace WorkspaceOf(int thread) {
    float* next = scratch_.per_thread_[static_cast<size_t>(thread)].As<float>();
    const auto take = [&next](int64_t count) { return std::exchange(next, next + count); };
    Workspace w;
    w.scores = take(RowsMax() * kTileKeys);
    w.largest = take(RowsMax() * stride_);
    w.keys = take(kTileKeys * RoundedWidth());
    w.row = next;
    return w;
  }

  // Positions of the query at `position` that need a score.
  int64_t ScoredEnd(int64_t position) const {
    if (shape_.local == 0) return position + 1;
    return (position / shape_.block + 1 - shape_.local) * shape_.block;
  }

  TilePointers TileAt(const BlockPicksSpan& span, int64_t base, int64_t end,
                      const Workspace& w) const {
    TilePointers tile;
    tile.end =
        static_cast<int>((std::min(end - base, int64_t{kTileKeys}) + kTileRows - 1) / kTileRows);
    for (int g = 0; g < tile.end; ++g) {
      const int64_t block = base / kTileRows + g - span.first_block;
      CAIRN_DCHECK(block >= 0 && block < static_cast<int64_t>(span.blocks.size()));
      const std::byte* stored = span.blocks[static_cast<size_t>(block)] + span.offset;
      tile.groups[static_cast<size_t>(g)] =
          read_in_place_ ? stored : Decoded(stored, w.keys + g * kTileRows * shape_.width, w.row);
    }
    return tile;
  }

  const std::byte* Decoded(const std::byte* stored, float* keys, float* row) const {
    for (int r = 0; r < kTileRows; ++r) {
      LoadRowTransposed(shape_.codec, stored, 1, shape_.width, r, row);
      for (int64_t c = 0; c < shape_.width; ++c) keys[c * kTileRows + r] = row[c];
    }
    return reinterpret_cast<const std::byte*>(keys);
  }

  void RunItem(const BlockPicksSpan& span, int64_t first, int64_t count, const Workspace& w) {
    const FlushSubnormals mode;
    const int64_t rows = count * shape_.heads;
    const float* queries = span.queries + first * shape_.heads * shape_.width;
    std::fill_n(w.largest, rows * stride_, kNoKey);
    const int64_t last_end = ScoredEnd(span.first_position + first + count - 1);
    for (int64_t base = 0; base < last_end; base += kTileKeys) {
      TileScores(read_in_place_ ? shape_.codec : DType::kF32, TileAt(span, base, last_end, w),
                 queries, rows, shape_.width, w.scores);
      for (int64_t r = 0; r < rows; ++r) {
        const int64_t end = ScoredEnd(span.first_position + first + r / shape_.heads);
        KeepLargest(w.scores + r * kTileKeys, base, std::min(end, base + kTileKeys),
                    w.largest + r * stride_);
      }
    }
    for (int64_t r = 0; r < rows; ++r) {
      Pick(span.first_position + first + r / shape_.heads, w.largest + r * stride_,
           span.picks + (first * shape_.heads + r) * shape_.picks);
    }
  }

  // Of the positions [base, end), whose scores are given.
  void KeepLargest(const float* scores, int64_t base, int64_t end, float* largest) const {
    for (int64_t p = base; p < end;) {
      const int64_t block = p / shape_.block;
      const int64_t block_end = std::min(end, (block + 1) * shape_.block);
      float best = largest[block];
      for (; p < block_end; ++p) best = std::max(best, scores[p - base]);
      largest[block] = best;
    }
  }

  void Pick(int64_t position, const float* largest, int32_t* picks) const {
    const int64_t own = position / shape_.block;
    const int64_t scored = own + 1 - shape_.local;
    const int64_t chosen = shape_.picks - shape_.local;
    PickBest(largest, scored, chosen, picks);
    for (int64_t i = 0; i < shape_.local; ++i) {
      picks[chosen + i] = static_cast<int32_t>(scored + i);
    }
  }

  const BlockPicksShape& shape_;
  BlockPicksScratch& scratch_;
  const int threads_;
  const bool read_in_place_;  // else tiles become floats first
  int64_t stride_ = 0;        // from one row's blocks to the next one's
};

void PickBlocks(const BlockPicksShape& shape, std::span<const BlockPicksSpan> spans,
                BlockPicksScratch& scratch, ThreadPool& pool) {
  BlockPicksRun run(shape, scratch, pool.threads());
  for (const BlockPicksSpan& span : spans) run.Run(span, pool);
}

}  // namespace cairn
