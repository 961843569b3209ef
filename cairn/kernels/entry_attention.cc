#include "cairn/kernels/entry_attention.h"

#include <algorithm>
#include <array>
#include <utility>

#include "cairn/base/check.h"
#include "cairn/base/work_log.h"
#include "cairn/kernels/attention_tile.h"
#include "cairn/kernels/flush_subnormals.h"
#include "cairn/kernels/row_attention_tile.h"

namespace cairn {
namespace {

// Heads computed together: enough to pay for a row's way into floats. Few tokens are split finer,
// to give every thread a part; no head's numbers depend on it.
constexpr int64_t kHeadsPerItem = 32;
constexpr int64_t kFewHeadsPerItem = 8;
constexpr int64_t kLaneFloats = 16;

int64_t RoundUp(int64_t value, int64_t unit) { return (value + unit - 1) / unit * unit; }

// The rows that one token reads: positions from `first` to its own, then entries.
struct TokenRows {
  int64_t first = 0;
  int64_t positions = 0;
  int64_t entries = 0;
  const int32_t* picks = nullptr;

  int64_t count() const { return positions + entries; }
};

TokenRows RowsOfToken(const EntryAttentionShape& shape, const EntryAttentionSpan& span,
                      int64_t token) {
  const int64_t position = span.first_position + token;
  TokenRows rows;
  if (shape.window > 0) rows.first = std::max<int64_t>(0, position - shape.window + 1);
  rows.positions = position - rows.first + 1;
  if (shape.tokens_per_entry == 0) return rows;
  rows.entries = (position + 1) / shape.tokens_per_entry;
  if (span.picks == nullptr) return rows;
  rows.picks = span.picks + token * span.picks_stride;
  rows.entries = span.pick_counts[token];
  return rows;
}

const float* RowOf(const RowBlocks& rows, DType codec, int64_t row, int64_t width, float* room) {
  const int64_t block = row / kTileRows - rows.first_block;
  CAIRN_DCHECK(block >= 0 && block < static_cast<int64_t>(rows.blocks.size()));
  return RowAsFloats(codec, rows.blocks[static_cast<size_t>(block)] + rows.offset,
                     static_cast<int>(row % kTileRows), width, room);
}

void NoteWork(const EntryAttentionShape& shape, std::span<const EntryAttentionSpan> spans,
              WorkDone& done) {
  int64_t pairs = 0;
  for (const EntryAttentionSpan& span : spans) {
    for (int64_t t = 0; t < span.tokens; ++t) pairs += RowsOfToken(shape, span, t).count();
  }
  for (OperationCounts* counts : {&done.operations, &done.executed}) {
    (*counts)[Arithmetic::kF32] += 4 * pairs * shape.heads * shape.width;
  }
}

}  // namespace

class EntryAttentionRun {
 public:
  EntryAttentionRun(const EntryAttentionShape& shape, EntryAttentionScratch& scratch, int threads)
      : shape_(shape), scratch_(scratch), row_floats_(RoundUp(shape.width, kLaneFloats)) {
    constexpr auto kSoftmaxFloats = static_cast<int64_t>(sizeof(RowSoftmax) / sizeof(float));
    const int64_t floats =
        kHeadsPerItem * (2 * row_floats_ + kTileKeys + kSoftmaxFloats) + kTileKeys * row_floats_;
    if (scratch_.per_thread_.size() < static_cast<size_t>(threads)) {
      scratch_.per_thread_.resize(static_cast<size_t>(threads));
    }
    for (AlignedBuffer& buffer : scratch_.per_thread_) {
      buffer.Reserve(static_cast<size_t>(floats) * sizeof(float));
    }
  }

  void Run(const EntryAttentionSpan& span, ThreadPool& pool) const {
    const bool few = span.tokens < pool.threads();
    const int64_t heads = std::min(shape_.heads, few ? kFewHeadsPerItem : kHeadsPerItem);
    const int64_t parts = (shape_.heads + heads - 1) / heads;
    auto body = [&](int64_t item, int thread) {
      const int64_t first = item % parts * heads;
      RunItem(span, item / parts, first, std::min(heads, shape_.heads - first), thread);
    };
    pool.ParallelFor(span.tokens * parts, body);
  }

 private:
  // Heads [head, head + heads) of one token.
  void RunItem(const EntryAttentionSpan& span, int64_t token, int64_t head, int64_t heads,
               int thread) const {
    const FlushSubnormals mode;
    float* next = scratch_.per_thread_[static_cast<size_t>(thread)].As<float>();
    const auto take = [&next](int64_t count) { return std::exchange(next, next + count); };
    float* queries = take(heads * row_floats_);
    float* out = take(heads * row_floats_);
    float* scores = take(heads * kTileKeys);
    float* room = take(kTileKeys * row_floats_);
    auto* softmax = reinterpret_cast<RowSoftmax*>(next);
    const int64_t at = (token * shape_.heads + head) * shape_.width;
    for (int64_t h = 0; h < heads; ++h) {
      const float* from = span.queries + at + h * shape_.width;
      float* to = queries + h * row_floats_;
      for (int64_t c = 0; c < shape_.width; ++c) to[c] = from[c] * shape_.scale;
      softmax[h] = {kNoScore, 0, 1};
      if (shape_.sinks != nullptr) softmax[h] = {shape_.sinks[head + h], 1, 1};
    }
    std::fill_n(out, heads * row_floats_, 0.0f);
    const TokenRows rows = RowsOfToken(shape_, span, token);
    for (int64_t base = 0; base < rows.count(); base += kTileKeys) {
      const auto count = static_cast<int>(std::min<int64_t>(kTileKeys, rows.count() - base));
      std::array<const float*, kTileKeys> tile;
      for (int k = 0; k < count; ++k) {
        tile[static_cast<size_t>(k)] = RowAt(span, rows, base + k, room + k * row_floats_);
      }
      RowScores(tile.data(), count, queries, row_floats_, heads, shape_.width, scores);
      for (int64_t h = 0; h < heads; ++h) {
        TileSoftmax(scores + h * kTileKeys, 0, count, 0, false, softmax[h]);
      }
      RowValues(tile.data(), count, scores, heads, shape_.width, softmax, out, row_floats_);
    }
    for (int64_t h = 0; h < heads; ++h) {
      const float inverse = 1.0f / softmax[h].sum;
      float* to = span.out + at + h * shape_.width;
      for (int64_t c = 0; c < shape_.width; ++c) to[c] = out[h * row_floats_ + c] * inverse;
    }
  }

  const float* RowAt(const EntryAttentionSpan& span, const TokenRows& rows, int64_t index,
                     float* room) const {
    if (index < rows.positions) {
      return RowOf(span.window, shape_.codec, rows.first + index, shape_.width, room);
    }
    const int64_t entry = index - rows.positions;
    return RowOf(span.entries, shape_.codec, rows.picks == nullptr ? entry : rows.picks[entry],
                 shape_.width, room);
  }

  const EntryAttentionShape& shape_;
  EntryAttentionScratch& scratch_;
  const int64_t row_floats_;
};

void EntryAttention(const EntryAttentionShape& shape, std::span<const EntryAttentionSpan> spans,
                    EntryAttentionScratch& scratch, ThreadPool& pool) {
  const WorkScope work(pool, WorkKind::kAttention);
  if (work.done() != nullptr) NoteWork(shape, spans, *work.done());
  const EntryAttentionRun run(shape, scratch, pool.threads());
  for (const EntryAttentionSpan& span : spans) run.Run(span, pool);
}

}  // namespace cairn
