#include "cairn/kernels/row_attention.h"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "cairn/base/check.h"
#include "cairn/base/work_log.h"
#include "cairn/kernels/attention.h"
#include "cairn/kernels/attention_tile.h"
#include "cairn/kernels/flush_subnormals.h"
#include "cairn/kernels/row_attention_tile.h"

namespace cairn {
namespace {

// Query rows computed together: enough to pay for a tile's way into floats, few enough for the
// cache.
constexpr int64_t kRowsPerItem = 32;
// As in attention.cc: steps of a growing sequence allocate nothing, or hardly ever.
constexpr int64_t kSegmentsReserved = 64;
constexpr int64_t kLaneFloats = 16;

int64_t RoundUp(int64_t value, int64_t unit) { return (value + unit - 1) / unit * unit; }

// How many rows token `token` of the span reads.
int64_t RowsRead(const RowAttentionSpan& span, int64_t token) {
  return span.picks == nullptr ? span.first_position + token + 1 : span.pick_counts[token];
}

void NoteWork(const RowAttentionShape& shape, std::span<const RowAttentionSpan> spans,
              WorkDone& done) {
  int64_t pairs = 0;
  for (const RowAttentionSpan& span : spans) {
    for (int64_t t = 0; t < span.tokens; ++t) pairs += RowsRead(span, t);
  }
  for (OperationCounts* counts : {&done.operations, &done.executed}) {
    (*counts)[Arithmetic::kF32] += 2 * pairs * shape.heads * (shape.width + shape.value_width);
  }
}

}  // namespace

// One call of RowAttention: plans items, runs them, merges partials.
class RowAttentionRun {
 public:
  RowAttentionRun(const RowAttentionShape& shape, std::span<const RowAttentionSpan> spans,
                  RowAttentionScratch& scratch, int threads)
      : shape_(shape),
        spans_(spans),
        scratch_(scratch),
        threads_(threads),
        heads_per_item_(std::min(shape.heads, kRowsPerItem)),
        tokens_per_item_(kRowsPerItem / heads_per_item_),
        row_floats_(RoundUp(shape.width, kLaneFloats)),
        out_floats_(RoundUp(shape.value_width, kLaneFloats)),
        partial_floats_(out_floats_ + kLaneFloats) {}

  void Run(ThreadPool& pool) {
    Plan();
    ReserveThreads();
    auto body = [this](int64_t item, int thread) {
      RunItem(scratch_.items_[static_cast<size_t>(item)], thread);
    };
    pool.ParallelFor(static_cast<int64_t>(scratch_.items_.size()), body);
    if (scratch_.merges_.empty()) return;
    auto merge = [this](int64_t index, int thread) {
      RunMerge(scratch_.merges_[static_cast<size_t>(index)], thread);
    };
    pool.ParallelFor(static_cast<int64_t>(scratch_.merges_.size()), merge);
  }

 private:
  using Item = RowAttentionScratch::Item;
  using Merge = RowAttentionScratch::Merge;

  // Per-thread memory: scaled queries, a tile's rows as floats, scores, output of the open segment
  // and in total.
  struct Workspace {
    float* queries;
    float* rows;
    float* scores;
    float* segment_out;
    float* total_out;
    RowSoftmax* segment;
    RowSoftmax* total;
  };

  int64_t HeadsOf(const Item& item) const {
    return std::min(heads_per_item_, shape_.heads - item.first_head);
  }
  int64_t RowsOf(const Item& item) const { return item.tokens * HeadsOf(item); }
  const RowAttentionSpan& SpanOf(const Item& item) const {
    return spans_[static_cast<size_t>(item.span)];
  }
  // The most rows that a token of the item reads.
  static int64_t EndOf(const RowAttentionSpan& span, const Item& item) {
    int64_t end = 0;
    for (int64_t t = 0; t < item.tokens; ++t) {
      end = std::max(end, RowsRead(span, item.first_token + t));
    }
    return end;
  }

  void Plan() {
    scratch_.items_.clear();
    scratch_.merges_.clear();
    int64_t partial_rows = 0;
    for (size_t s = 0; s < spans_.size(); ++s) {
      const RowAttentionSpan& span = spans_[s];
      // Tokens with rows of their own share none.
      const int64_t step = span.picks == nullptr ? tokens_per_item_ : 1;
      for (int64_t h = 0; h < shape_.heads; h += heads_per_item_) {
        for (int64_t t = 0; t < span.tokens; t += step) {
          Item item = {static_cast<int32_t>(s),
                       static_cast<int32_t>(h),
                       t,
                       std::min(step, span.tokens - t),
                       -1,
                       0};
          const bool few = span.tokens <= step && threads_ > 1;
          if (few)
            PlanSegments(item, partial_rows);
          else
            scratch_.items_.push_back(item);
        }
      }
    }
    ReservePartials(partial_rows);
  }

  // Few tokens over a long context: an item for each segment.
  void PlanSegments(Item item, int64_t& partial_rows) {
    const int64_t segments = (EndOf(SpanOf(item), item) - 1) / kSegmentKeys + 1;
    if (segments == 1) {
      scratch_.items_.push_back(item);
      return;
    }
    item.partial = partial_rows;
    scratch_.merges_.push_back({item, segments});
    for (item.segment = 0; item.segment < segments; ++item.segment) {
      item.partial = partial_rows;
      scratch_.items_.push_back(item);
      partial_rows += RowsOf(item);
    }
  }

  void ReservePartials(int64_t rows) {
    if (threads_ == 1) return;
    rows = std::max(rows, shape_.heads * kSegmentsReserved);
    const auto rounded = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(rows)));
    scratch_.partials_.Reserve(static_cast<size_t>(rounded * partial_floats_) * sizeof(float));
    const int64_t parts = (shape_.heads + heads_per_item_ - 1) / heads_per_item_;
    scratch_.items_.reserve(static_cast<size_t>(parts * kSegmentsReserved));
    scratch_.merges_.reserve(static_cast<size_t>(parts));
  }

  int64_t WorkspaceFloats() const {
    constexpr auto kSoftmaxFloats = static_cast<int64_t>(sizeof(RowSoftmax) / sizeof(float));
    return kRowsPerItem * (row_floats_ + kTileKeys + 2 * out_floats_ + 2 * kSoftmaxFloats) +
           kTileKeys * row_floats_;
  }

  void ReserveThreads() {
    if (scratch_.per_thread_.size() < static_cast<size_t>(threads_)) {
      scratch_.per_thread_.resize(static_cast<size_t>(threads_));
    }
    for (AlignedBuffer& buffer : scratch_.per_thread_) {
      buffer.Reserve(static_cast<size_t>(WorkspaceFloats()) * sizeof(float));
    }
  }

  Workspace WorkspaceOf(int thread) {
    float* next = scratch_.per_thread_[static_cast<size_t>(thread)].As<float>();
    const auto take = [&next](int64_t count) { return std::exchange(next, next + count); };
    Workspace w;
    w.queries = take(kRowsPerItem * row_floats_);
    w.rows = take(kTileKeys * row_floats_);
    w.scores = take(kRowsPerItem * kTileKeys);
    w.segment_out = take(kRowsPerItem * out_floats_);
    w.total_out = take(kRowsPerItem * out_floats_);
    w.segment = reinterpret_cast<RowSoftmax*>(next);
    w.total = w.segment + kRowsPerItem;
    return w;
  }

  void CopyQueries(const RowAttentionSpan& span, const Item& item, float* to) const {
    const int64_t heads = HeadsOf(item);
    for (int64_t t = 0; t < item.tokens; ++t) {
      for (int64_t h = 0; h < heads; ++h, to += row_floats_) {
        const int64_t at = (item.first_token + t) * shape_.heads + item.first_head + h;
        const float* from = span.queries + at * shape_.width;
        for (int64_t c = 0; c < shape_.width; ++c) to[c] = from[c] * shape_.scale;
      }
    }
  }

  void Clear(RowSoftmax* softmax, float* out, int64_t rows) const {
    std::fill(softmax, softmax + rows, RowSoftmax{kNoScore, 0, 1});
    std::fill(out, out + rows * out_floats_, 0.0f);
  }

  void RunItem(const Item& item, int thread) {
    const FlushSubnormals mode;
    const RowAttentionSpan& span = SpanOf(item);
    const Workspace w = WorkspaceOf(thread);
    CopyQueries(span, item, w.queries);
    const int64_t rows = RowsOf(item);
    if (item.segment >= 0) {
      Clear(w.segment, w.segment_out, rows);
      WalkSegment(span, item, item.segment, w);
      StorePartial(item, w);
      return;
    }
    Clear(w.total, w.total_out, rows);
    for (int64_t s = 0; s <= (EndOf(span, item) - 1) / kSegmentKeys; ++s) {
      Clear(w.segment, w.segment_out, rows);
      WalkSegment(span, item, s, w);
      for (int64_t r = 0; r < rows; ++r) {
        MergePartial(w.total[r], w.total_out + r * out_floats_, w.segment[r],
                     w.segment_out + r * out_floats_, shape_.value_width);
      }
    }
    WriteOut(span, item, w.total, w.total_out);
  }

  void WalkSegment(const RowAttentionSpan& span, const Item& item, int64_t segment,
                   const Workspace& w) {
    const int64_t end = std::min((segment + 1) * kSegmentKeys, EndOf(span, item));
    for (int64_t base = segment * kSegmentKeys; base < end; base += kTileKeys) {
      WalkTile(span, item, base, static_cast<int>(std::min<int64_t>(kTileKeys, end - base)), w);
    }
  }

  // The rows [base, base + count) that the item's tokens read, as floats.
  void GatherRows(const RowAttentionSpan& span, const Item& item, int64_t base, int count,
                  const Workspace& w, const float** rows) const {
    const int32_t* picks =
        span.picks == nullptr ? nullptr : span.picks + item.first_token * span.picks_stride;
    for (int k = 0; k < count; ++k) {
      const int64_t position = picks == nullptr ? base + k : picks[base + k];
      const int64_t block = position / kTileRows - span.first_block;
      CAIRN_DCHECK(block >= 0 && block < static_cast<int64_t>(span.blocks.size()));
      const std::byte* tile = span.blocks[static_cast<size_t>(block)] + span.offset;
      rows[k] = RowAsFloats(shape_.codec, tile, static_cast<int>(position % kTileRows),
                            shape_.width, w.rows + k * row_floats_);
    }
  }

  // Rows [base, base + count): those that any token of the item reads.
  void WalkTile(const RowAttentionSpan& span, const Item& item, int64_t base, int count,
                const Workspace& w) {
    std::array<const float*, kTileKeys> rows;
    GatherRows(span, item, base, count, w, rows.data());
    RowScores(rows.data(), count, w.queries, row_floats_, RowsOf(item), shape_.width, w.scores);
    const int64_t heads = HeadsOf(item);
    bool all_equal = true;
    const auto seen = [&](int64_t t) {
      const int64_t read = RowsRead(span, item.first_token + t);
      return static_cast<int>(std::clamp<int64_t>(read - base, 0, count));
    };
    for (int64_t t = 0; t < item.tokens; ++t) {
      all_equal = all_equal && seen(t) == count;
      for (int64_t r = t * heads; r < (t + 1) * heads; ++r) {
        TileSoftmax(w.scores + r * kTileKeys, 0, seen(t), 0, false, w.segment[r]);
      }
    }
    const auto values = [&](int visible, int64_t first, int64_t some) {
      RowValues(rows.data(), visible, w.scores + first * kTileKeys, some, shape_.value_width,
                w.segment + first, w.segment_out + first * out_floats_, out_floats_);
    };
    if (all_equal) return values(count, 0, RowsOf(item));
    // A row that a token may not see is not even multiplied by zero: it could be infinite.
    for (int64_t t = 0; t < item.tokens; ++t) values(seen(t), t * heads, heads);
  }

  void StorePartial(const Item& item, const Workspace& w) {
    float* to = scratch_.partials_.As<float>() + item.partial * partial_floats_;
    for (int64_t r = 0; r < RowsOf(item); ++r, to += partial_floats_) {
      to[0] = w.segment[r].largest;
      to[1] = w.segment[r].sum;
      std::copy_n(w.segment_out + r * out_floats_, out_floats_, to + kLaneFloats);
    }
  }

  void RunMerge(const Merge& merge, int thread) {
    const FlushSubnormals mode;
    const Workspace w = WorkspaceOf(thread);
    const int64_t rows = RowsOf(merge.item);
    Clear(w.total, w.total_out, rows);
    const float* from = scratch_.partials_.As<float>() + merge.item.partial * partial_floats_;
    for (int64_t s = 0; s < merge.segments; ++s) {
      for (int64_t r = 0; r < rows; ++r, from += partial_floats_) {
        MergePartial(w.total[r], w.total_out + r * out_floats_, {from[0], from[1], 1},
                     from + kLaneFloats, shape_.value_width);
      }
    }
    WriteOut(SpanOf(merge.item), merge.item, w.total, w.total_out);
  }

  void WriteOut(const RowAttentionSpan& span, const Item& item, const RowSoftmax* softmax,
                const float* out) const {
    const int64_t heads = HeadsOf(item);
    for (int64_t r = 0; r < RowsOf(item); ++r, out += out_floats_) {
      const int64_t token = item.first_token + r / heads;
      const int64_t at = token * shape_.heads + item.first_head + r % heads;
      float* to = span.out + at * shape_.value_width;
      const float inverse = 1.0f / softmax[r].sum;
      for (int64_t c = 0; c < shape_.value_width; ++c) to[c] = out[c] * inverse;
    }
  }

  const RowAttentionShape& shape_;
  std::span<const RowAttentionSpan> spans_;
  RowAttentionScratch& scratch_;
  const int threads_;
  const int64_t heads_per_item_;
  const int64_t tokens_per_item_;
  const int64_t row_floats_;
  const int64_t out_floats_;
  const int64_t partial_floats_;
};

void RowAttention(const RowAttentionShape& shape, std::span<const RowAttentionSpan> spans,
                  RowAttentionScratch& scratch, ThreadPool& pool) {
  const WorkScope work(pool, WorkKind::kAttention);
  if (work.done() != nullptr) NoteWork(shape, spans, *work.done());
  RowAttentionRun(shape, spans, scratch, pool.threads()).Run(pool);
}

}  // namespace cairn
