// DeepSeek V4's attention: one row of a token is key and value of all heads; the latest rows are
// read as they are, earlier tokens through entries of several each, all of them or those that an
// index picks. Because values are rotated with the keys, outputs are turned back.
#include <array>
#include <cmath>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "cairn/kernels/entry_attention.h"
#include "cairn/kernels/index_picks.h"
#include "cairn/kernels/ops.h"
#include "cairn/kernels/state_rows.h"
#include "cairn/models/compressor.h"
#include "cairn/models/parts.h"
#include "cairn/models/token_loop.h"

namespace cairn {
namespace {

enum Slot {
  kLatent,   // [tokens][query rank]
  kKeys,     // [tokens][width]
  kQueries,  // [tokens][heads * width]
  kAttended,
  kEntryValues,  // [tokens][channels], and so on
  kEntryGates,
  kIndexValues,
  kIndexGates,
  kIndexWeights,  // [tokens][index heads]
  kIndexQueries,  // [tokens][index heads * index width]
  kGrouped,       // [rows][groups * rank]
  kScratch,
};

// Picks by keys of their own, one for each entry.
struct Index {
  Compressor keys;
  Linear queries;  // [heads * width, query rank]
  Linear weights;  // [heads, hidden]
};

class CompressedMixer final : public Mixer {
 public:
  CompressedMixer(const LayerBuild& build, const CompressedAttentionSpec& spec)
      : spec_(spec),
        hidden_(build.model.hidden),
        rope_(build.ropes.Add(*spec.rope)),
        rows_(build.layout.PlaceOf(build.layer, "keys")),
        head_norm_(UnitNorm(spec.width, build.model.norm_epsilon)) {}

  Status Load(const LayerBuild& build);
  void Run(const Pass& pass, const float* normed, std::span<const int64_t> rows,
           float* out) override;

 private:
  // Of all tokens of the batch.
  struct Made {
    float* latent = nullptr;
    float* keys = nullptr;
    float* queries = nullptr;
    float* attended = nullptr;
    float* entry_values = nullptr;
    float* entry_gates = nullptr;
    float* index_values = nullptr;
    float* index_gates = nullptr;
    float* index_weights = nullptr;
    float* index_queries = nullptr;
  };

  Made MakeRoom(const Pass& pass) const;
  void Project(const Pass& pass, const float* normed, const Made& made) const;
  void FinishToken(const SequenceView& state, int64_t position, int64_t token,
                   const Made& made) const;
  void MakeEntries(const Pass& pass, const Compressor& compressor) const;
  void Pick(const Pass& pass, const Made& made);
  void Attend(const Pass& pass, const Made& made);
  void Output(const Pass& pass, std::span<const int64_t> rows, const Made& made, float* out) const;

  const CompressedAttentionSpec& spec_;
  const int64_t hidden_;
  const RopeTable* rope_;
  const StateLayout::RowsPlace rows_;
  const Norm head_norm_;
  Linear into_latent_;
  Norm latent_norm_;
  Linear queries_;
  Linear keys_;
  Norm key_norm_;
  std::vector<float> sinks_;
  std::vector<Linear> groups_;  // [rank, heads of the group * width] each
  Linear output_;
  std::optional<Compressor> entries_;
  std::optional<Index> index_;
  // Of the current pass; memory is kept.
  std::vector<int32_t> picks_;
  std::vector<int32_t> pick_counts_;
  std::vector<EntryAttentionSpan> spans_;
  std::vector<IndexSpan> index_spans_;
  EntryAttentionScratch attention_;
  IndexScratch index_scratch_;
};

Status CompressedMixer::Load(const LayerBuild& build) {
  const PartLoader& loader = build.loader;
  const int64_t channels = spec_.heads * spec_.width;
  CAIRN_ASSIGN(into_latent_, loader.Matrix("self_attn.wq_a", spec_.query_rank, hidden_));
  CAIRN_ASSIGN(latent_norm_, loader.NormOf("self_attn.q_norm", spec_.query_rank));
  CAIRN_ASSIGN(queries_, loader.Matrix("self_attn.wq_b", channels, spec_.query_rank));
  CAIRN_ASSIGN(keys_, loader.Matrix("self_attn.wkv", spec_.width, hidden_));
  CAIRN_ASSIGN(key_norm_, loader.NormOf("self_attn.norm", spec_.width));
  CAIRN_ASSIGN(sinks_, loader.Raw("self_attn.attn_sink", spec_.heads));
  const int64_t latent = spec_.output_groups * spec_.output_rank;
  for (int64_t g = 0; g < spec_.output_groups; ++g) {
    const RowChoice rows = {
        .total = latent, .first = g * spec_.output_rank, .count = spec_.output_rank};
    CAIRN_ASSIGN(Linear group, loader.Rows("self_attn.wo_a", rows, channels / spec_.output_groups));
    groups_.push_back(std::move(group));
  }
  CAIRN_ASSIGN(output_, loader.Matrix("self_attn.wo_b", hidden_, latent));
  if (spec_.ratio == 0) return {};
  CAIRN_ASSIGN(entries_, Compressor::Load(build, spec_, "self_attn.compressor", spec_.width,
                                          "compressed", "open_window"));
  if (!spec_.index) return {};
  Index index;
  CAIRN_ASSIGN(index.keys, Compressor::Load(build, spec_, "self_attn.indexer.compressor",
                                            spec_.index->width, "index_keys", "open_index_window"));
  const int64_t heads = spec_.index->query_heads;
  CAIRN_ASSIGN(index.queries, loader.Matrix("self_attn.indexer.wq_b", heads * spec_.index->width,
                                            spec_.query_rank));
  CAIRN_ASSIGN(index.weights, loader.Matrix("self_attn.indexer.weights_proj", heads, hidden_));
  index_ = std::move(index);
  return {};
}

CompressedMixer::Made CompressedMixer::MakeRoom(const Pass& pass) const {
  const auto room = [&](int slot, int64_t channels) {
    return pass.work->Floats(slot, pass.tokens * channels);
  };
  Made made;
  made.latent = room(kLatent, spec_.query_rank);
  made.keys = room(kKeys, spec_.width);
  made.queries = room(kQueries, spec_.heads * spec_.width);
  made.attended = room(kAttended, spec_.heads * spec_.width);
  if (entries_) {
    made.entry_values = room(kEntryValues, entries_->channels());
    made.entry_gates = room(kEntryGates, entries_->channels());
  }
  if (index_) {
    made.index_values = room(kIndexValues, index_->keys.channels());
    made.index_gates = room(kIndexGates, index_->keys.channels());
    made.index_weights = room(kIndexWeights, spec_.index->query_heads);
    made.index_queries = room(kIndexQueries, spec_.index->query_heads * spec_.index->width);
  }
  return made;
}

void CompressedMixer::Project(const Pass& pass, const float* normed, const Made& made) const {
  std::array<MatMulTask, 7> tasks;
  size_t count = 0;
  const auto add = [&](const Linear& linear, float* to) {
    tasks[count++] = linear.Into(to, kFinePrecision);
  };
  add(into_latent_, made.latent);
  add(keys_, made.keys);
  if (entries_) {
    add(entries_->values(), made.entry_values);
    add(entries_->gates(), made.entry_gates);
  }
  if (index_) {
    add(index_->keys.values(), made.index_values);
    add(index_->keys.gates(), made.index_gates);
    add(index_->weights, made.index_weights);
  }
  Activations& activations = pass.work->activations(0);
  activations.Set(normed, pass.tokens, hidden_, hidden_);
  MatMul(activations, std::span(tasks).first(count), *pass.pool);

  const int64_t rank = spec_.query_rank;
  ForTokens(*pass.pool, pass.tokens,
            [&](int64_t t) { latent_norm_.Apply(made.latent + t * rank, made.latent + t * rank); });
  Activations& latent = pass.work->activations(1);
  latent.Set(made.latent, pass.tokens, rank, rank);
  count = 0;
  add(queries_, made.queries);
  if (index_) add(index_->queries, made.index_queries);
  MatMul(latent, std::span(tasks).first(count), *pass.pool);
}

// Norms and rotation of one token, and its state.
void CompressedMixer::FinishToken(const SequenceView& state, int64_t position, int64_t token,
                                  const Made& made) const {
  float* queries = made.queries + token * spec_.heads * spec_.width;
  head_norm_.ApplyToHeads(queries, spec_.heads);
  rope_->RotateEnds(token, queries, spec_.heads, spec_.width);
  float* key = made.keys + token * spec_.width;
  key_norm_.Apply(key, key);
  rope_->RotateEnds(token, key, 1, spec_.width);
  StoreRow(rows_.rows->codec, key, 1, spec_.width, position % kRowsPerBlock,
           TileOf(rows_, state, position));
  if (entries_) {
    const int64_t at = token * entries_->channels();
    entries_->Store(state, position, made.entry_values + at, made.entry_gates + at);
  }
  if (!index_) return;
  const int64_t at = token * index_->keys.channels();
  index_->keys.Store(state, position, made.index_values + at, made.index_gates + at);
  const int64_t heads = spec_.index->query_heads;
  const int64_t width = spec_.index->width;
  rope_->RotateEnds(token, made.index_queries + token * heads * width, heads, width);
  const auto root = static_cast<float>(1 / std::sqrt(static_cast<double>(heads)));
  Scale(made.index_weights + token * heads, root, heads);
}

// Those that the batch's tokens complete.
void CompressedMixer::MakeEntries(const Pass& pass, const Compressor& compressor) const {
  const int64_t floats = compressor.ScratchFloats();
  float* scratch = pass.work->Floats(kScratch, pass.pool->threads() * floats);
  ForSpans(pass, [&](const BatchSpan& span, int64_t /*first*/) {
    const int64_t before = span.state.tokens_before.value();
    const int64_t begin = before / spec_.ratio;
    const int64_t end = (before + static_cast<int64_t>(span.tokens.size())) / spec_.ratio;
    auto make = [&](int64_t item, int thread) {
      compressor.MakeEntry(span.state, begin + item, scratch + thread * floats);
    };
    pass.pool->ParallelFor(end - begin, make);
  });
}

void CompressedMixer::Pick(const Pass& pass, const Made& made) {
  const SparseIndexSpec& index = *spec_.index;
  const StateLayout::RowsPlace& place = index_->keys.entries();
  picks_.resize(static_cast<size_t>(pass.tokens * spec_.picks));
  pick_counts_.resize(static_cast<size_t>(pass.tokens));
  index_spans_.clear();
  ForSpans(pass, [&](const BatchSpan& span, int64_t first) {
    const auto& table = span.state.tables[static_cast<size_t>(place.block_class.value())];
    IndexSpan& to = index_spans_.emplace_back();
    to.blocks = table.blocks;
    to.first_block = table.first_block;
    to.offset = place.slot->offset.value();
    to.first_position = span.state.tokens_before.value();
    to.tokens = static_cast<int64_t>(span.tokens.size());
    to.queries = made.index_queries + first * index.query_heads * index.width;
    to.weights = made.index_weights + first * index.query_heads;
    to.picks = picks_.data() + first * spec_.picks;
    to.counts = pick_counts_.data() + first;
  });
  IndexShape shape;
  shape.heads = index.query_heads;
  shape.width = index.width;
  shape.row_width = index.width;
  shape.picks = spec_.picks;
  shape.tokens_per_row = spec_.ratio;
  shape.scale = static_cast<float>(1 / std::sqrt(static_cast<double>(index.width)));
  shape.codec = place.rows->codec;
  PickRows(shape, index_spans_, index_scratch_, *pass.pool);
}

void CompressedMixer::Attend(const Pass& pass, const Made& made) {
  const auto blocks = [](const BatchSpan& span, const StateLayout::RowsPlace& place) {
    const auto& table = span.state.tables[static_cast<size_t>(place.block_class.value())];
    return RowBlocks{table.blocks, table.first_block, place.slot->offset.value()};
  };
  const int64_t stride = spec_.heads * spec_.width;
  spans_.clear();
  ForSpans(pass, [&](const BatchSpan& span, int64_t first) {
    EntryAttentionSpan& to = spans_.emplace_back();
    to.window = blocks(span, rows_);
    if (entries_) to.entries = blocks(span, entries_->entries());
    to.first_position = span.state.tokens_before.value();
    to.tokens = static_cast<int64_t>(span.tokens.size());
    to.queries = made.queries + first * stride;
    to.out = made.attended + first * stride;
    if (!index_) return;
    to.picks = picks_.data() + first * spec_.picks;
    to.picks_stride = spec_.picks;
    to.pick_counts = pick_counts_.data() + first;
  });
  EntryAttentionShape shape;
  shape.heads = spec_.heads;
  shape.width = spec_.width;
  shape.scale = static_cast<float>(1 / std::sqrt(static_cast<double>(spec_.width)));
  if (spec_.window.kind == Lifetime::Kind::kWindow) shape.window = spec_.window.tokens.value();
  shape.tokens_per_entry = spec_.ratio;
  shape.sinks = sinks_.data();
  shape.codec = rows_.rows->codec;
  EntryAttention(shape, spans_, attention_, *pass.pool);
}

void CompressedMixer::Output(const Pass& pass, std::span<const int64_t> rows, const Made& made,
                             float* out) const {
  const int64_t stride = spec_.heads * spec_.width;
  const auto count = static_cast<int64_t>(rows.size());
  ForTokens(*pass.pool, count, [&](int64_t i) {
    const int64_t token = rows[static_cast<size_t>(i)];
    rope_->RotateEndsBack(token, made.attended + token * stride, spec_.heads, spec_.width);
  });
  KeepRows(made.attended, stride, rows);
  const int64_t latent = spec_.output_groups * spec_.output_rank;
  const int64_t group_width = stride / spec_.output_groups;
  float* grouped = pass.work->Floats(kGrouped, count * latent);
  Activations& activations = pass.work->activations(0);
  for (size_t g = 0; g < groups_.size(); ++g) {
    const auto group = static_cast<int64_t>(g);
    activations.Set(made.attended + group * group_width, count, group_width, stride);
    MatMulTask task = groups_[g].Into(grouped + group * spec_.output_rank);
    task.stride = latent;
    MatMul(activations, {&task, 1}, *pass.pool);
  }
  Activations& inner = pass.work->activations(1);
  inner.Set(grouped, count, latent, latent);
  const MatMulTask task = output_.Into(out);
  MatMul(inner, {&task, 1}, *pass.pool);
}

void CompressedMixer::Run(const Pass& pass, const float* normed, std::span<const int64_t> rows,
                          float* out) {
  const Made made = MakeRoom(pass);
  Project(pass, normed, made);
  ForSpans(pass, [&](const BatchSpan& span, int64_t first) {
    ForTokens(*pass.pool, static_cast<int64_t>(span.tokens.size()), [&](int64_t i) {
      FinishToken(span.state, span.state.tokens_before.value() + i, first + i, made);
    });
  });
  if (entries_) MakeEntries(pass, *entries_);
  if (index_) MakeEntries(pass, index_->keys);
  if (rows.empty()) return;
  if (index_) Pick(pass, made);
  Attend(pass, made);
  Output(pass, rows, made, out);
}

}  // namespace

MixerOr MakeCompressedAttention(const LayerBuild& build, const CompressedAttentionSpec& spec) {
  auto mixer = std::make_unique<CompressedMixer>(build, spec);
  CAIRN_TRY(mixer->Load(build));
  return mixer;
}

}  // namespace cairn
