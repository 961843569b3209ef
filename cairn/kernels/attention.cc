#include "cairn/kernels/attention.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "cairn/base/check.h"
#include "cairn/base/work_log.h"
#include "cairn/kernels/attention_bf16.h"
#include "cairn/kernels/attention_decode.h"
#include "cairn/kernels/attention_plan.h"
#include "cairn/kernels/attention_quantized.h"
#include "cairn/kernels/attention_tile.h"
#include "cairn/kernels/flush_subnormals.h"
#include "cairn/kernels/hadamard.h"
#include "cairn/kernels/key_standard.h"
#include "cairn/kernels/lloyd_max.h"

namespace cairn {
namespace {

// Scratch memory has room for so many segments of one token from the start and grows by doubling:
// steps of a growing sequence allocate nothing, or hardly ever.
constexpr int64_t kSegmentsReserved = 64;

// Of one MeanTerm.
constexpr int64_t kTermFloats = sizeof(MeanTerm) / sizeof(float);
static_assert(sizeof(MeanTerm) % sizeof(float) == 0);

int64_t RoundUp(int64_t value, int64_t unit) { return (value + unit - 1) / unit * unit; }

void NoteAttention(const AttentionShape& shape, std::span<const AttentionSpan> spans,
                   WorkDone& done) {
  int64_t pairs = 0;  // of a query and a key that it sees
  for (const AttentionSpan& span : spans) {
    for (int64_t p = span.first_position; p < span.first_position + span.tokens; ++p) {
      pairs += p + 1 - shape.FirstVisible(p);
    }
  }
  for (OperationCounts* counts : {&done.operations, &done.executed}) {
    (*counts)[KeyArithmetic(shape.key_codec)] += 2 * pairs * shape.heads * shape.key_width;
    (*counts)[ValueArithmetic(shape.value_codec)] += 2 * pairs * shape.heads * shape.value_width;
  }
}

}  // namespace

// One call of Attention: plans items, runs them, merges partials.
class AttentionRun {
 public:
  AttentionRun(const AttentionShape& shape, std::span<const AttentionSpan> spans,
               int64_t query_stride, int64_t out_stride, AttentionScratch& scratch, int threads)
      : shape_(shape),
        spans_(spans),
        query_stride_(query_stride),
        out_stride_(out_stride),
        scratch_(scratch),
        threads_(threads),
        group_(shape.heads / shape.kv_heads),
        out_width_(RoundUp(shape.value_width, kTileRows)),
        partial_floats_(out_width_ + kTileRows),
        key_arithmetic_(KeyArithmetic(shape.key_codec)),
        value_arithmetic_(ValueArithmetic(shape.value_codec)),
        decoded_keys_(key_arithmetic_ == Arithmetic::kBf16 && IsDecodedAsBf16(shape.key_codec)),
        decoded_values_(IsDecodedAsBf16(shape.value_codec)) {
    rows_max_ = TokensPerItem(shape) * group_;
  }

  void Run(ThreadPool& pool) {
    ReservePartials(PlanItems(shape_, spans_, threads_, scratch_.items_, scratch_.merges_));
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
  using Item = AttentionItem;
  using Merge = AttentionMerge;

  // Per-thread memory: scaled queries, the same in bf16 pairs or as integers, tiles decoded to
  // bf16, scores, output of the open segment and in total.
  struct Workspace {
    float* queries;
    uint32_t* pairs;
    QuantizedQueries integers;
    QuantizedQueries exact_integers;  // for keys in the exact form
    MeanTerm* terms;                  // of standardised keys, as all below it
    uint32_t* term_words;
    float* term_scores;
    std::byte* keys;
    std::byte* values;
    float* scores;
    float* segment_out;
    float* total_out;
    RowSoftmax* segment;
    RowSoftmax* total;
  };

  void ReservePartials(int64_t rows) {
    if (threads_ == 1) return;
    rows = std::max(rows, shape_.heads * kSegmentsReserved);
    const auto rounded = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(rows)));
    scratch_.partials_.Reserve(static_cast<size_t>(rounded * partial_floats_) * sizeof(float));
    scratch_.items_.reserve(static_cast<size_t>(shape_.kv_heads * kSegmentsReserved));
    scratch_.merges_.reserve(static_cast<size_t>(shape_.kv_heads));
  }

  int IntegerForms() const { return shape_.exact.keys ? 2 : 1; }

  // Floats' worth of what isn't always needed.
  int64_t IntegerCodeFloats() const {
    return key_arithmetic_ == Arithmetic::kInt8 ? rows_max_ * shape_.key_width / 4 : 0;
  }
  int64_t IntegerBlockFloats() const {
    return IntegerCodeFloats() / (kStateBlock / 4) * static_cast<int64_t>(sizeof(QueryBlock) / 4);
  }
  int64_t DecodedFloats(bool decoded, int64_t width) const {
    return decoded ? DecodedTileBytes(width) / 4 : 0;
  }

  int64_t TermPairs() const {
    return shape_.standard == nullptr ? 0 : shape_.standard->pairs.count;
  }
  int64_t TermFloats() const {
    if (shape_.standard == nullptr) return 0;
    return rows_max_ * (kTermFloats + 3 * RoundUp(TermPairs(), kTileRows) + kTileKeys);
  }

  int64_t WorkspaceFloats() const {
    const int64_t query_words = shape_.key_width + Bf16PairWords(shape_.key_width);
    return rows_max_ * (query_words + kTileKeys + 2 * out_width_) +
           IntegerForms() * (IntegerCodeFloats() + IntegerBlockFloats()) +
           DecodedFloats(decoded_keys_, shape_.key_width) +
           DecodedFloats(decoded_values_, shape_.value_width) + TermFloats() +
           RoundUp(2 * rows_max_ * static_cast<int64_t>(sizeof(RowSoftmax) / sizeof(float)),
                   kTileRows);
  }

  void ReserveThreads() {
    if (scratch_.per_thread_.size() < static_cast<size_t>(threads_))
      scratch_.per_thread_.resize(static_cast<size_t>(threads_));
    for (AlignedBuffer& buffer : scratch_.per_thread_)
      buffer.Reserve(static_cast<size_t>(WorkspaceFloats()) * sizeof(float));
  }

  Workspace WorkspaceOf(int thread) {
    float* next = scratch_.per_thread_[static_cast<size_t>(thread)].As<float>();
    const auto take = [&next](int64_t count) { return std::exchange(next, next + count); };
    Workspace w;
    w.keys = reinterpret_cast<std::byte*>(take(DecodedFloats(decoded_keys_, shape_.key_width)));
    w.values =
        reinterpret_cast<std::byte*>(take(DecodedFloats(decoded_values_, shape_.value_width)));
    w.scores = take(rows_max_ * kTileKeys);
    w.segment_out = take(rows_max_ * out_width_);
    w.total_out = take(rows_max_ * out_width_);
    w.queries = take(rows_max_ * shape_.key_width);
    w.pairs = reinterpret_cast<uint32_t*>(take(rows_max_ * Bf16PairWords(shape_.key_width)));
    for (QuantizedQueries* integers : {&w.integers, &w.exact_integers}) {
      if (integers == &w.exact_integers && !shape_.exact.keys) continue;
      integers->codes = reinterpret_cast<int8_t*>(take(IntegerCodeFloats()));
      integers->blocks = reinterpret_cast<QueryBlock*>(take(IntegerBlockFloats()));
    }
    if (shape_.standard != nullptr) TakeTerms(take, w);
    w.segment = reinterpret_cast<RowSoftmax*>(next);
    w.total = w.segment + rows_max_;
    return w;
  }

  template <class Take>
  void TakeTerms(const Take& take, Workspace& w) const {
    const int64_t pairs = RoundUp(TermPairs(), kTileRows);
    w.terms = reinterpret_cast<MeanTerm*>(take(rows_max_ * kTermFloats));
    w.term_words = reinterpret_cast<uint32_t*>(take(rows_max_ * pairs));
    w.term_scores = take(rows_max_ * kTileKeys);
    for (int64_t r = 0; r < rows_max_; ++r) {
      w.terms[r].cosines = take(pairs);
      w.terms[r].sines = take(pairs);
    }
  }

  // What stored keys want of the queries of one KV head.
  void TurnQueries(int64_t kv_head, int64_t rows, const Workspace& w) const {
    if (shape_.standard == nullptr) {
      if (shape_.keys_rotated) RotateHeads(w.queries, rows, shape_.key_width);
      return;
    }
    for (int64_t r = 0; r < rows; ++r) {
      StandardizeQuery(*shape_.standard, kv_head, shape_.key_width,
                       w.queries + r * shape_.key_width, w.terms[r]);
    }
  }

  void CopyQueries(const AttentionSpan& span, const Item& item, float* to) const {
    const int64_t floats = group_ * shape_.key_width;
    for (int64_t t = 0; t < item.tokens; ++t) {
      const float* from =
          span.queries + (item.first_token + t) * query_stride_ + item.kv_head * floats;
      for (int64_t i = 0; i < floats; ++i) to[t * floats + i] = from[i] * shape_.scale;
    }
  }

  void PackQueries(int64_t rows, const Workspace& w) const {
    if (key_arithmetic_ == Arithmetic::kInt8) {
      QuantizeQueries(shape_.key_codec, w.queries, rows, shape_.key_width, w.integers);
    }
    if (shape_.exact.keys) {
      QuantizeQueries(shape_.exact.codec, w.queries, rows, shape_.key_width, w.exact_integers);
    }
    if (key_arithmetic_ != Arithmetic::kBf16) return;
    const int64_t words = Bf16PairWords(shape_.key_width);
    for (int64_t r = 0; r < rows; ++r) {
      PackBf16Pairs(w.queries + r * shape_.key_width, shape_.key_width, w.pairs + r * words);
    }
  }

  void Scores(const TilePointers& keys, int64_t rows, const Workspace& w) const {
    const int64_t width = shape_.key_width;
    switch (key_arithmetic_) {
      case Arithmetic::kF32:
        return TileScores(shape_.key_codec, keys, w.queries, rows, width, w.scores);
      case Arithmetic::kInt8:
        return QuantizedTileScores(shape_.key_codec, keys, w.integers, rows, width, w.scores);
      case Arithmetic::kBf16:
        return Bf16TileScores(decoded_keys_ ? DecodeKeys(keys, width, w.keys) : keys, w.pairs, rows,
                              width, w.scores);
    }
  }

  // Of rows [r, r + rows) over the keys [first, end) of a tile.
  void Values(const TilePointers& values, int first, int end, int64_t r, int64_t rows,
              const Workspace& w) const {
    const float* weights = w.scores + r * kTileKeys;
    float* out = w.segment_out + r * out_width_;
    if (value_arithmetic_ == Arithmetic::kBf16) {
      return Bf16TileValues(values, weights, first, end, rows, shape_.value_width, w.segment + r,
                            out, out_width_);
    }
    TileValues(shape_.value_codec, values, weights, first, end, rows, shape_.value_width,
               w.segment + r, out, out_width_);
  }

  void Clear(RowSoftmax* softmax, float* out, int64_t rows) const {
    std::fill(softmax, softmax + rows, RowSoftmax{kNoScore, 0, 1});
    std::fill(out, out + rows * out_width_, 0.0f);
  }

  void RunItem(const Item& item, int thread) {
    const FlushSubnormals mode;
    const AttentionSpan& span = spans_[static_cast<size_t>(item.span)];
    const Workspace w = WorkspaceOf(thread);
    CopyQueries(span, item, w.queries);
    TurnQueries(item.kv_head, item.tokens * group_, w);
    PackQueries(item.tokens * group_, w);
    const int64_t rows = item.tokens * group_;
    if (item.segment >= 0) {
      Clear(w.segment, w.segment_out, rows);
      WalkSegment(span, item, item.segment, w);
      StorePartial(item, w);
      return;
    }
    const int64_t first_position = span.first_position + item.first_token;
    const int64_t last_position = first_position + item.tokens - 1;
    Clear(w.total, w.total_out, rows);
    for (int64_t s = FirstVisible(shape_, span, item.kv_head, first_position) / kSegmentKeys;
         s <= last_position / kSegmentKeys; ++s) {
      Clear(w.segment, w.segment_out, rows);
      WalkSegment(span, item, s, w);
      for (int64_t r = 0; r < rows; ++r) {
        MergePartial(w.total[r], w.total_out + r * out_width_, w.segment[r],
                     w.segment_out + r * out_width_, shape_.value_width);
      }
    }
    WriteOut(span, item, w.total, w.total_out);
  }

  void WalkSegment(const AttentionSpan& span, const Item& item, int64_t segment,
                   const Workspace& w) {
    const int64_t first_position = span.first_position + item.first_token;
    const int64_t first_key =
        std::max(segment * kSegmentKeys, FirstVisible(shape_, span, item.kv_head, first_position));
    const int64_t end_key = std::min((segment + 1) * kSegmentKeys, first_position + item.tokens);
    for (int64_t base = first_key / kTileKeys * kTileKeys; base < end_key; base += kTileKeys) {
      WalkTile(span, item, base, std::max(first_key, base), std::min(end_key, base + kTileKeys), w);
    }
  }

  // The same scores as Scores gives, from keys in two forms.
  void MixedScores(const AttentionSpan& span, const Item& item, int64_t base, TilePointers coarse,
                   int64_t first_key, int64_t end_key, const Workspace& w) const {
    const int64_t rows = item.tokens * group_;
    const int64_t tile = item.kv_head * StateTileBytes(shape_.exact.codec, shape_.key_width);
    ForRuns(shape_, base, first_key, end_key, span.first_position + item.first_token,
            [&](const GroupRun& run) {
              if (!run.exact) {
                coarse.first = run.first;
                coarse.end = run.end;
                Scores(coarse, rows, w);
                return;
              }
              const TilePointers exact =
                  ExactPointers(shape_, span.exact, base, run, span.exact.key_offset + tile,
                                span.exact.first_key_offset + tile);
              QuantizedTileScores(shape_.exact.codec, exact, w.exact_integers, rows,
                                  shape_.key_width, w.scores);
            });
  }

  // The values of a tile, decoded from two forms.
  TilePointers MixedValues(const AttentionSpan& span, const Item& item, int64_t base,
                           TilePointers coarse, int64_t first_key, int64_t end_key,
                           const Workspace& w) const {
    TilePointers decoded;
    const int64_t tile = item.kv_head * StateTileBytes(shape_.exact.codec, shape_.value_width);
    ForRuns(shape_, base, first_key, end_key, span.first_position + item.first_token,
            [&](const GroupRun& run) {
              const int64_t first =
                  std::max<int64_t>(first_key - base, int64_t{run.first} * kTileRows);
              const int64_t end = std::min<int64_t>(end_key - base, int64_t{run.end} * kTileRows);
              TilePointers from = coarse;
              if (run.exact) {
                from = ExactPointers(shape_, span.exact, base, run, span.exact.value_offset + tile,
                                     span.exact.first_value_offset + tile);
              }
              from.first = run.first;
              from.end = run.end;
              decoded = DecodeValues(run.exact ? shape_.exact.codec : shape_.value_codec, from,
                                     static_cast<int>(first), static_cast<int>(end),
                                     shape_.value_width, w.values);
            });
    decoded.first = coarse.first;
    decoded.end = coarse.end;
    return decoded;
  }

  // Keys [first_key, end_key) of the tile at `base`: those that any row of the item may see.
  void WalkTile(const AttentionSpan& span, const Item& item, int64_t base, int64_t first_key,
                int64_t end_key, const Workspace& w) {
    const int64_t key_tile = StateTileBytes(shape_.key_codec, shape_.key_width);
    const int64_t value_tile = StateTileBytes(shape_.value_codec, shape_.value_width);
    const TilePointers keys =
        PointersOf(span, base, first_key, end_key, span.key_offset + item.kv_head * key_tile);
    TilePointers values =
        PointersOf(span, base, first_key, end_key, span.value_offset + item.kv_head * value_tile);
    if (shape_.exact.keys) {
      MixedScores(span, item, base, keys, first_key, end_key, w);
    } else {
      Scores(keys, item.tokens * group_, w);
    }
    if (shape_.standard != nullptr) {
      AddMeanScores(*shape_.standard, base / kTileKeys,
                    {w.terms, static_cast<size_t>(item.tokens * group_)}, w.term_words,
                    w.term_scores, w.scores);
    }

    bool all_equal = true;
    for (int64_t t = 0; t < item.tokens; ++t) {
      const Visible visible = VisibleIn(span, item, t, base);
      all_equal = all_equal && visible.first == first_key - base && visible.end == end_key - base;
      for (int64_t r = t * group_; r < (t + 1) * group_; ++r) {
        TileSoftmax(w.scores + r * kTileKeys, visible.first, visible.end, shape_.score_cap,
                    value_arithmetic_ == Arithmetic::kBf16, w.segment[r]);
      }
    }
    if (shape_.exact.values) {
      values = MixedValues(span, item, base, values, first_key, end_key, w);
    } else if (decoded_values_) {
      values = DecodeValues(shape_.value_codec, values, static_cast<int>(first_key - base),
                            static_cast<int>(end_key - base), shape_.value_width, w.values);
    }
    if (all_equal) {
      Values(values, static_cast<int>(first_key - base), static_cast<int>(end_key - base), 0,
             item.tokens * group_, w);
      return;
    }
    // A value that a token may not see is not even multiplied by zero: it could be infinite.
    for (int64_t t = 0; t < item.tokens; ++t) {
      const Visible visible = VisibleIn(span, item, t, base);
      Values(values, visible.first, visible.end, t * group_, group_, w);
    }
  }

  struct Visible {
    int first;
    int end;
  };

  // Keys of the tile at `base` that the item's token sees; empty ranges have first == end.
  Visible VisibleIn(const AttentionSpan& span, const Item& item, int64_t token,
                    int64_t base) const {
    const int64_t position = span.first_position + item.first_token + token;
    const int64_t first = std::clamp<int64_t>(
        FirstVisible(shape_, span, item.kv_head, position) - base, 0, kTileKeys);
    const int64_t end = std::clamp<int64_t>(position + 1 - base, 0, kTileKeys);
    return {static_cast<int>(std::min(first, end)), static_cast<int>(end)};
  }

  void StorePartial(const Item& item, const Workspace& w) {
    float* to = scratch_.partials_.As<float>() + item.partial * partial_floats_;
    for (int64_t r = 0; r < item.tokens * group_; ++r, to += partial_floats_) {
      to[0] = w.segment[r].largest;
      to[1] = w.segment[r].sum;
      std::copy_n(w.segment_out + r * out_width_, out_width_, to + kTileRows);
    }
  }

  void RunMerge(const Merge& merge, int thread) {
    const FlushSubnormals mode;
    const Workspace w = WorkspaceOf(thread);
    const AttentionSpan& span = spans_[static_cast<size_t>(merge.span)];
    const int64_t rows = merge.tokens * group_;
    Clear(w.total, w.total_out, rows);
    const float* from = scratch_.partials_.As<float>() + merge.partial * partial_floats_;
    for (int64_t s = 0; s < merge.segments; ++s) {
      for (int64_t r = 0; r < rows; ++r, from += partial_floats_) {
        MergePartial(w.total[r], w.total_out + r * out_width_, {from[0], from[1], 1},
                     from + kTileRows, shape_.value_width);
      }
    }
    WriteOut(span, {merge.span, merge.kv_head, merge.first_token, merge.tokens, -1, 0}, w.total,
             w.total_out);
  }

  // What turns a head's weighted sum of values into their mean.
  float InverseSum(const RowSoftmax& softmax, int64_t head) const {
    if (shape_.sinks == nullptr) return 1.0f / softmax.sum;
    const float sink = shape_.sinks[head];
    const float largest = std::max(softmax.largest, sink);
    const float correction = std::exp(softmax.largest - largest);
    return correction / (softmax.sum * correction + std::exp(sink - largest));
  }

  void WriteOut(const AttentionSpan& span, const Item& item, const RowSoftmax* softmax,
                const float* out) const {
    for (int64_t t = 0; t < item.tokens; ++t) {
      float* to = span.out + (item.first_token + t) * out_stride_ +
                  item.kv_head * group_ * shape_.value_width;
      for (int64_t g = 0; g < group_; ++g) {
        const int64_t r = t * group_ + g;
        const float inverse = InverseSum(softmax[r], item.kv_head * group_ + g);
        for (int64_t c = 0; c < shape_.value_width; ++c)
          to[g * shape_.value_width + c] = out[r * out_width_ + c] * inverse;
      }
      if (shape_.values_rotated) RotateHeads(to, group_, shape_.value_width);
    }
  }

  const AttentionShape& shape_;
  std::span<const AttentionSpan> spans_;
  const int64_t query_stride_;
  const int64_t out_stride_;
  AttentionScratch& scratch_;
  const int threads_;
  const int64_t group_;  // query heads to a KV head
  const int64_t out_width_;
  const int64_t partial_floats_;
  const Arithmetic key_arithmetic_;
  const Arithmetic value_arithmetic_;
  const bool decoded_keys_;  // into bf16, tile by tile
  const bool decoded_values_;
  int64_t rows_max_ = 1;
};

Arithmetic KeyArithmetic(DType codec) {
  if (IsBlockCodec(codec) || IsLloydMax(codec)) return Arithmetic::kInt8;
  return ValueArithmetic(codec);
}

Arithmetic ValueArithmetic(DType codec) {
  return codec == DType::kF32 || codec == DType::kF16 ? Arithmetic::kF32 : Arithmetic::kBf16;
}

void Attention(const AttentionShape& shape, std::span<const AttentionSpan> spans,
               int64_t query_stride, int64_t out_stride, AttentionScratch& scratch,
               ThreadPool& pool) {
  const WorkScope work(pool, WorkKind::kAttention);
  if (work.done() != nullptr) NoteAttention(shape, spans, *work.done());
  AttentionRun(shape, spans, query_stride, out_stride, scratch, pool.threads()).Run(pool);
}

}  // namespace cairn
