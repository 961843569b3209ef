#include "cairn/kernels/index_picks.h"

#include <algorithm>
#include <array>
#include <bit>
#include <functional>
#include <numeric>
#include <utility>

#include "cairn/base/check.h"
#include "cairn/kernels/attention_tile.h"
#include "cairn/kernels/flush_subnormals.h"
#include "cairn/kernels/row_attention_tile.h"

namespace cairn {
namespace {

// Tokens whose scores are held at once, and that share a tile's way into floats.
constexpr int64_t kTokensAtOnce = 16;
constexpr int64_t kTokensPerItem = 4;
// Positions of one index of the parallel loop.
constexpr int64_t kPositionsPerItem = 1024;
// Scores have room for so many positions from the start and grow by doubling.
constexpr int64_t kPositionsReserved = 4096;
constexpr int64_t kLaneFloats = 16;

int64_t RoundUp(int64_t value, int64_t unit) { return (value + unit - 1) / unit * unit; }
int64_t Parts(int64_t total, int64_t part) { return (total + part - 1) / part; }

// Scores in the order of their bits, zeros alike, so that any number has its place; then the lower
// position first.
uint64_t OrderOf(float score, int64_t position) {
  const auto bits = std::bit_cast<uint32_t>(score + 0.0f);
  const uint32_t ordered = (bits >> 31) != 0 ? ~bits : bits | 0x80000000u;
  return (uint64_t{ordered} << 32) | ~static_cast<uint32_t>(position);
}

// The `count` best of `size` scores, ascending by position. `order` has room for `size`.
void PickBest(const float* scores, int64_t size, int64_t count, uint64_t* order, int32_t* picks) {
  for (int64_t p = 0; p < size; ++p) order[p] = OrderOf(scores[p], p);
  std::nth_element(order, order + count - 1, order + size, std::greater<>());
  for (int64_t i = 0; i < count; ++i)
    picks[i] = static_cast<int32_t>(~static_cast<uint32_t>(order[i]));
  std::sort(picks, picks + count);
}

}  // namespace

// One call of PickRows.
class IndexRun {
 public:
  IndexRun(const IndexShape& shape, IndexScratch& scratch, int threads)
      : shape_(shape),
        scratch_(scratch),
        threads_(threads),
        row_floats_(RoundUp(shape.row_width, kLaneFloats)) {}

  // Tokens that see no more rows than are picked read all of them.
  void Run(const IndexSpan& span, ThreadPool& pool) {
    const int64_t first_chosen = (shape_.picks + 1) * shape_.tokens_per_row - 1;
    const int64_t all = std::clamp<int64_t>(first_chosen - span.first_position, 0, span.tokens);
    for (int64_t t = 0; t < all; ++t) {
      const int64_t seen = Seen(span, t);
      span.counts[t] = static_cast<int32_t>(seen);
      std::iota(span.picks + t * shape_.picks, span.picks + t * shape_.picks + seen, 0);
    }
    if (all < span.tokens) Reserve(Seen(span, span.tokens - 1));
    for (int64_t t = all; t < span.tokens; t += kTokensAtOnce) {
      RunGroup(span, t, std::min(kTokensAtOnce, span.tokens - t), pool);
    }
  }

 private:
  // Per-thread memory: scaled queries, a tile's keys as floats, scores of every head, an order.
  struct Workspace {
    float* queries;
    float* keys;
    float* scores;
    uint64_t* order;
  };

  // How many rows token `token` sees.
  int64_t Seen(const IndexSpan& span, int64_t token) const {
    return (span.first_position + token + 1) / shape_.tokens_per_row;
  }
  int64_t QueryRows() const { return kTokensPerItem * shape_.heads; }

  void Reserve(int64_t positions) {
    const auto room = static_cast<int64_t>(
        std::bit_ceil(static_cast<uint64_t>(std::max(positions, kPositionsReserved))));
    stride_ = room;
    scratch_.scores_.Reserve(static_cast<size_t>(kTokensAtOnce * room) * sizeof(float));
    if (scratch_.per_thread_.size() < static_cast<size_t>(threads_)) {
      scratch_.per_thread_.resize(static_cast<size_t>(threads_));
    }
    const int64_t floats =
        QueryRows() * (row_floats_ + kTileKeys) + kTileKeys * row_floats_ + 2 * room;
    for (AlignedBuffer& buffer : scratch_.per_thread_) {
      buffer.Reserve(static_cast<size_t>(floats) * sizeof(float));
    }
  }

  Workspace WorkspaceOf(int thread) {
    float* next = scratch_.per_thread_[static_cast<size_t>(thread)].As<float>();
    const auto take = [&next](int64_t count) { return std::exchange(next, next + count); };
    Workspace w;
    w.queries = take(QueryRows() * row_floats_);
    w.keys = take(kTileKeys * row_floats_);
    w.scores = take(QueryRows() * kTileKeys);
    w.order = reinterpret_cast<uint64_t*>(next);
    return w;
  }

  float* ScoresOf(int64_t slot) { return scratch_.scores_.As<float>() + slot * stride_; }

  // Scores of tokens [first, first + count), then their picks.
  void RunGroup(const IndexSpan& span, int64_t first, int64_t count, ThreadPool& pool) {
    const int64_t seen = Seen(span, first + count - 1);
    const int64_t chunks = Parts(seen, kPositionsPerItem);
    auto score = [&](int64_t index, int thread) {
      const int64_t slot = index / chunks * kTokensPerItem;
      ScoreChunk(span, first + slot, std::min(kTokensPerItem, count - slot), slot,
                 index % chunks * kPositionsPerItem, WorkspaceOf(thread));
    };
    pool.ParallelFor(Parts(count, kTokensPerItem) * chunks, score);
    auto pick = [&](int64_t slot, int thread) {
      const int64_t token = first + slot;
      PickBest(ScoresOf(slot), Seen(span, token), shape_.picks, WorkspaceOf(thread).order,
               span.picks + token * shape_.picks);
      span.counts[token] = static_cast<int32_t>(shape_.picks);
    };
    pool.ParallelFor(count, pick);
  }

  // Tokens [token, token + count) against the positions from `begin` on.
  void ScoreChunk(const IndexSpan& span, int64_t token, int64_t count, int64_t slot, int64_t begin,
                  const Workspace& w) {
    const FlushSubnormals mode;
    for (int64_t r = 0; r < count * shape_.heads; ++r) {
      const float* from = span.queries + (token * shape_.heads + r) * shape_.width;
      for (int64_t c = 0; c < shape_.width; ++c)
        w.queries[r * row_floats_ + c] = from[c] * shape_.scale;
    }
    const int64_t end = std::min(begin + kPositionsPerItem, Seen(span, token + count - 1));
    for (int64_t base = begin; base < end; base += kTileKeys) {
      const auto keys = static_cast<int>(std::min<int64_t>(kTileKeys, end - base));
      std::array<const float*, kTileKeys> rows;
      for (int k = 0; k < keys; ++k)
        rows[static_cast<size_t>(k)] = KeyAt(span, base + k, w.keys + k * row_floats_);
      RowScores(rows.data(), keys, w.queries, row_floats_, count * shape_.heads, shape_.width,
                w.scores);
      for (int64_t t = 0; t < count; ++t) {
        WeighScores(w.scores + t * shape_.heads * kTileKeys,
                    span.weights + (token + t) * shape_.heads, shape_.heads, keys,
                    ScoresOf(slot + t) + base);
      }
    }
  }

  const float* KeyAt(const IndexSpan& span, int64_t position, float* room) const {
    const int64_t block = position / kTileRows - span.first_block;
    CAIRN_DCHECK(block >= 0 && block < static_cast<int64_t>(span.blocks.size()));
    return RowAsFloats(shape_.codec, span.blocks[static_cast<size_t>(block)] + span.offset,
                       static_cast<int>(position % kTileRows), shape_.row_width, room);
  }

  const IndexShape& shape_;
  IndexScratch& scratch_;
  const int threads_;
  const int64_t row_floats_;
  int64_t stride_ = 0;  // from one token's scores to the next one's
};

void PickRows(const IndexShape& shape, std::span<const IndexSpan> spans, IndexScratch& scratch,
              ThreadPool& pool) {
  IndexRun run(shape, scratch, pool.threads());
  for (const IndexSpan& span : spans) run.Run(span, pool);
}

}  // namespace cairn
