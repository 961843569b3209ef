#include "cairn/models/mixer_attention.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>

#include "cairn/kernels/hadamard.h"
#include "cairn/kernels/ops.h"
#include "cairn/kernels/state_rows.h"
#include "cairn/models/parts.h"
#include "cairn/models/policy_watcher.h"
#include "cairn/models/token_loop.h"

namespace cairn {
namespace {

static_assert(kTileRows == kRowsPerBlock && kExactStep == kTileRows &&
              kExactFirst % kTileRows == 0);

enum Slot { kQuery, kKey, kValue, kGate, kAttended };

float TemperatureAt(const QueryTemperature& temperature, int64_t position) {
  const double steps =
      std::floor(static_cast<double>(position + temperature.offset) / temperature.interval);
  return static_cast<float>(1 + temperature.scale * std::log(1 + steps));
}

}  // namespace

AttentionMixer::AttentionMixer(const LayerBuild& build, const AttentionSpec& spec, bool shares)
    : spec_(spec),
      hidden_(build.model.hidden),
      norm_epsilon_(build.model.norm_epsilon),
      shares_(shares),
      rope_(spec.rope ? build.ropes.Add(*spec.rope) : nullptr),
      keys_(build.layout.PlaceOf(build.layer, "keys")),
      values_(build.layout.PlaceOf(build.layer, "values")),
      droppable_(build.layout.DroppableClass() == keys_.block_class) {
  const auto exact = [&](const std::string& name) -> ExactPlaces {
    return {build.layout.FindPlace(build.layer, name + kFirstSuffix),
            build.layout.FindPlace(build.layer, name + kRecentSuffix)};
  };
  exact_keys_ = exact("keys");
  exact_values_ = exact("values");
  if (keys_.rows->transform != RowTransform::kStandardized) return;
  const KeyStandards::Layer& standard =
      build.standards.layers[static_cast<size_t>(keys_.slot->layer.value())];
  standard_.mean = standard.mean.data();
  standard_.spread = standard.spread.data();
  standard_.pairs = PairsOf(spec.rope);
  if (spec.rope) tiles_ = build.ropes.AddTiles(*spec.rope);
}

Status AttentionMixer::LoadQueries(const PartLoader& loader) {
  const int64_t rows = spec_.heads * spec_.key_width;
  if (spec_.output_gate == OutputGate::kChannels) {
    RowChoice half = {
        .total = 2 * rows, .count = rows, .step = 2 * spec_.key_width, .group = spec_.key_width};
    CAIRN_ASSIGN(weights_.query, loader.Rows("self_attn.q_proj", half, hidden_, spec_.qkv_bias));
    half.first = spec_.key_width;
    CAIRN_ASSIGN(weights_.gate, loader.Rows("self_attn.q_proj", half, hidden_, spec_.qkv_bias));
    return {};
  }
  const int64_t total = rows + spec_.kv_heads * (spec_.key_width + spec_.value_width);
  CAIRN_ASSIGN(weights_.query,
               loader.MatrixOrRows("self_attn.q_proj", "self_attn.qkv_proj",
                                   {.total = total, .count = rows}, hidden_, spec_.qkv_bias));
  return {};
}

Status AttentionMixer::LoadKeysAndValues(const PartLoader& loader) {
  const int64_t query_rows = spec_.heads * spec_.key_width;
  const int64_t key_rows = spec_.kv_heads * spec_.key_width;
  const int64_t value_rows = spec_.kv_heads * spec_.value_width;
  const int64_t total = query_rows + key_rows + value_rows;
  CAIRN_ASSIGN(weights_.key,
               loader.MatrixOrRows("self_attn.k_proj", "self_attn.qkv_proj",
                                   {.total = total, .first = query_rows, .count = key_rows},
                                   hidden_, spec_.qkv_bias));
  // The token before makes some of them, by matrices of a mixer of its own.
  if (spec_.value_is_key || spec_.delayed_values > 0) return {};
  CAIRN_ASSIGN(
      weights_.value,
      loader.MatrixOrRows("self_attn.v_proj", "self_attn.qkv_proj",
                          {.total = total, .first = query_rows + key_rows, .count = value_rows},
                          hidden_, spec_.qkv_bias));
  return {};
}

Status AttentionMixer::LoadNorms(const PartLoader& loader) {
  if (spec_.unit_norm) {
    weights_.query_norm = UnitNorm(spec_.key_width, norm_epsilon_);
    weights_.key_norm = weights_.query_norm;
  }
  if (spec_.value_norm) weights_.value_norm = UnitNorm(spec_.value_width, norm_epsilon_);
  if (!spec_.query_key_norm && !spec_.whole_norm) return {};
  const int64_t query_heads = spec_.whole_norm ? spec_.heads : 1;
  const int64_t key_heads = spec_.whole_norm ? spec_.kv_heads : 1;
  CAIRN_ASSIGN(weights_.query_norm,
               loader.NormOf("self_attn.q_norm", query_heads * spec_.key_width));
  if (shares_ && !spec_.key_weight_on_queries) return {};
  CAIRN_ASSIGN(weights_.key_norm, loader.NormOf("self_attn.k_norm", key_heads * spec_.key_width));
  if (!spec_.key_weight_on_queries) return {};
  CAIRN_CHECK(spec_.norm_after_rotation && !spec_.whole_norm);
  std::vector<float>& query = weights_.query_norm.weight;
  for (size_t i = 0; i < query.size(); ++i) query[i] *= weights_.key_norm.weight[i];
  weights_.key_norm = UnitNorm(spec_.key_width, norm_epsilon_);
  return {};
}

Status AttentionMixer::Load(const PartLoader& loader) {
  CAIRN_TRY(LoadQueries(loader));
  if (!shares_) CAIRN_TRY(LoadKeysAndValues(loader));
  CAIRN_TRY(LoadNorms(loader));
  if (spec_.sinks) {
    CAIRN_ASSIGN(weights_.sinks, loader.Raw("self_attn.sinks", spec_.heads));
  }
  CAIRN_ASSIGN(weights_.output, loader.Matrix("self_attn.o_proj", hidden_,
                                              spec_.heads * spec_.value_width, spec_.output_bias));
  return {};
}

AttentionMixer::Made AttentionMixer::MakeRoom(const Pass& pass) const {
  Workspace& work = *pass.work;
  const int64_t tokens = pass.tokens;
  Made made;
  made.query = work.Floats(kQuery, tokens * spec_.heads * spec_.key_width);
  made.attended = work.Floats(kAttended, tokens * spec_.heads * spec_.value_width);
  if (!weights_.gate.empty()) made.gate = work.Floats(kGate, tokens * weights_.gate.rows());
  if (shares_) return made;
  made.key = work.Floats(kKey, tokens * spec_.kv_heads * spec_.key_width);
  made.value = work.Floats(kValue, tokens * spec_.kv_heads * spec_.value_width);
  return made;
}

void AttentionMixer::Project(const Pass& pass, const float* normed, const Made& made) {
  Activations& activations = pass.work->activations(0);
  activations.Set(normed, pass.tokens, hidden_, hidden_);
  std::array<MatMulTask, 4> tasks;
  size_t count = 0;
  const auto add = [&](const Linear& linear, float* to) {
    if (!linear.empty()) tasks[count++] = linear.Into(to, kFinePrecision);
  };
  add(weights_.query, made.query);
  add(weights_.key, made.key);
  add(weights_.value, made.value);
  add(weights_.gate, made.gate);
  MatMul(activations, std::span(tasks).first(count), *pass.pool);
}

void AttentionMixer::NormHeads(float* query, float* key) const {
  if (weights_.query_norm.empty()) return;
  if (spec_.whole_norm) {
    weights_.query_norm.Apply(query, query);
    if (key != nullptr) weights_.key_norm.Apply(key, key);
    return;
  }
  weights_.query_norm.ApplyToHeads(query, spec_.heads);
  if (key != nullptr) weights_.key_norm.ApplyToHeads(key, spec_.kv_heads);
}

// Norms, rotation and factors of one token.
void AttentionMixer::FinishQueriesAndKeys(int64_t token, int64_t position, const Made& made) const {
  const int64_t width = spec_.key_width;
  const int64_t query_width = spec_.heads * width;
  const int64_t key_width = spec_.kv_heads * width;
  float* query = made.query + token * query_width;
  float* key = shares_ ? nullptr : made.key + token * key_width;
  if (key != nullptr && spec_.value_is_key) {
    std::copy_n(key, key_width, made.value + token * key_width);
  }
  if (key != nullptr && spec_.key_factor != 1) {
    Scale(key, static_cast<float>(spec_.key_factor), key_width);
  }
  if (key != nullptr && !weights_.value_norm.empty()) {
    weights_.value_norm.ApplyToHeads(made.value + token * spec_.kv_heads * spec_.value_width,
                                     spec_.kv_heads);
  }
  if (!spec_.norm_after_rotation) NormHeads(query, key);
  if (rope_ != nullptr) {
    rope_->Rotate(token, query, spec_.heads, width);
    if (key != nullptr) rope_->Rotate(token, key, spec_.kv_heads, width);
  }
  if (spec_.norm_after_rotation) NormHeads(query, key);
  if (spec_.temperature) Scale(query, TemperatureAt(*spec_.temperature, position), query_width);
}

// Angles up to the last position of the pass.
void AttentionMixer::PrepareStandard(const Pass& pass) {
  if (tiles_ == nullptr) return;
  int64_t end = 0;
  for (const int64_t position : pass.positions) end = std::max(end, position + 1);
  tiles_->starts->FillSteps(kTileKeys, (end + kTileKeys - 1) / kTileKeys, *pass.pool);
  standard_.turns = &tiles_->within;
  standard_.tile_cosines = tiles_->starts->cosines();
  standard_.tile_sines = tiles_->starts->sines();
}

void AttentionMixer::ShowKeys(const Pass& pass, const Made& made) const {
  ForSpans(pass, [&](const BatchSpan& span, int64_t first) {
    SeenKeys seen;
    seen.layer = keys_.slot->layer;
    seen.spec = &spec_;
    seen.first_position = span.state.tokens_before.value();
    seen.tokens = static_cast<int64_t>(span.tokens.size());
    seen.queries = made.query + first * spec_.heads * spec_.key_width;
    if (!shares_) {
      seen.keys = made.key + first * spec_.kv_heads * spec_.key_width;
      seen.values = made.value + first * spec_.kv_heads * spec_.value_width;
    }
    pass.key_observer->OnKeys(seen);
  });
}

// Every row is stored where it may be read exactly, too.
void AttentionMixer::StoreExactRow(const BatchSpan& span, const ExactPlaces& places,
                                   int64_t position, const float* values) {
  for (const std::optional<StateLayout::RowsPlace>& place : {places.first, places.recent}) {
    if (!place) continue;
    const Rows& rows = *place->rows;
    const bool first = rows.lifetime.kind == Lifetime::Kind::kFirst;
    if (first && position >= rows.lifetime.tokens.value()) continue;
    std::byte* block = span.state.tables[static_cast<size_t>(place->block_class.value())].Block(
        position / kRowsPerBlock);
    const auto store = rows.order == RowOrder::kTransposedTiles ? StoreRowTransposed : StoreRow;
    store(rows.codec, values, rows.heads, rows.width, position % kRowsPerBlock,
          block + place->slot->offset.value());
  }
}

// What token policies judge rows by, once they are stored. Layers that read another's rows don't
// judge them.
void AttentionMixer::ShowRows(const Pass& pass, const Made& made) const {
  if (shares_ || !droppable_) return;
  ForSpans(pass, [&](const BatchSpan& span, int64_t first) {
    if (span.watcher == nullptr) return;
    SeenRows seen;
    seen.spec = &spec_;
    seen.shape = Shape();
    seen.keys = &keys_;
    seen.values = &values_;
    seen.state = &span.state;
    seen.tokens = static_cast<int64_t>(span.tokens.size());
    seen.queries = made.query + first * spec_.heads * spec_.key_width;
    span.watcher->OnRows(seen);
  });
}

// Token `index` of the span, `token` of the batch.
void AttentionMixer::StoreRows(const BatchSpan& span, int64_t index, int64_t token,
                               const Made& made) const {
  const auto table = [&](const StateLayout::RowsPlace& place) -> const BlockTableView& {
    return span.state.tables[static_cast<size_t>(place.block_class.value())];
  };
  float* value = made.value + token * spec_.kv_heads * spec_.value_width;
  const int64_t position = span.state.tokens_before.value() + index;
  const int64_t place = droppable_ ? span.state.RowOf(position) : position;
  const int64_t row = place % kRowsPerBlock;
  const int64_t block = place / kRowsPerBlock;
  float* key = made.key + token * spec_.kv_heads * spec_.key_width;
  if (standard_.mean != nullptr) {
    StandardizeKeys(standard_, position, spec_.kv_heads, spec_.key_width, key);
  } else if (keys_.rows->transform == RowTransform::kRotated) {
    RotateHeads(key, spec_.kv_heads, spec_.key_width);
  }
  if (values_.rows->transform == RowTransform::kRotated) {
    RotateHeads(value, spec_.kv_heads, spec_.value_width);
  }
  StoreRowTransposed(keys_.rows->codec, key, spec_.kv_heads, spec_.key_width, row,
                     table(keys_).Block(block) + keys_.slot->offset.value());
  StoreRow(values_.rows->codec, value, spec_.kv_heads, spec_.value_width, row,
           table(values_).Block(block) + values_.slot->offset.value());
  StoreExactRow(span, exact_keys_, position, key);
  StoreExactRow(span, exact_values_, position, value);
}

AttentionShape AttentionMixer::Shape() const {
  AttentionShape shape;
  shape.heads = spec_.heads;
  shape.kv_heads = spec_.kv_heads;
  shape.key_width = spec_.key_width;
  shape.value_width = spec_.value_width;
  shape.scale = static_cast<float>(spec_.scale);
  shape.score_cap = static_cast<float>(spec_.score_cap);
  const int64_t limit = spec_.lifetime.tokens.value();
  if (spec_.lifetime.kind == Lifetime::Kind::kWindow) shape.window = limit;
  if (spec_.lifetime.kind == Lifetime::Kind::kChunk) shape.chunk = limit;
  if (!weights_.sinks.empty()) shape.sinks = weights_.sinks.data();
  shape.key_codec = keys_.rows->codec;
  shape.value_codec = values_.rows->codec;
  shape.keys_rotated = keys_.rows->transform == RowTransform::kRotated;
  shape.values_rotated = values_.rows->transform == RowTransform::kRotated;
  if (standard_.mean != nullptr) shape.standard = &standard_;
  shape.exact.keys = exact_keys_.recent.has_value();
  shape.exact.values = exact_values_.recent.has_value();
  const ExactPlaces& places = shape.exact.keys ? exact_keys_ : exact_values_;
  if (!places.recent) return shape;
  shape.exact.codec = places.recent->rows->codec;
  shape.exact.groups_before = kExactBefore;
  if (places.first) shape.exact.first = kExactFirst;
  return shape;
}

ExactRows AttentionMixer::ExactRowsOf(const BatchSpan& span) const {
  ExactRows rows;
  const ExactPlaces& places = exact_keys_.recent ? exact_keys_ : exact_values_;
  if (!places.recent) return rows;
  const auto table = [&](const StateLayout::RowsPlace& place) -> const BlockTableView& {
    return span.state.tables[static_cast<size_t>(place.block_class.value())];
  };
  const auto offset = [](const std::optional<StateLayout::RowsPlace>& place) {
    return place ? place->slot->offset.value() : 0;
  };
  rows.recent = table(*places.recent).blocks;
  rows.first_recent_block = table(*places.recent).first_block;
  if (places.first) rows.first = table(*places.first).blocks;
  rows.key_offset = offset(exact_keys_.recent);
  rows.value_offset = offset(exact_values_.recent);
  rows.first_key_offset = offset(exact_keys_.first);
  rows.first_value_offset = offset(exact_values_.first);
  return rows;
}

void AttentionMixer::Attend(const Pass& pass, const Made& made) {
  const int64_t query_stride = spec_.heads * spec_.key_width;
  const int64_t out_stride = spec_.heads * spec_.value_width;
  spans_.clear();
  ForSpans(pass, [&](const BatchSpan& span, int64_t first) {
    const BlockTableView& table = span.state.tables[static_cast<size_t>(keys_.block_class.value())];
    AttentionSpan& to = spans_.emplace_back();
    to.blocks = table.blocks;
    to.first_block = table.first_block;
    to.key_offset = keys_.slot->offset.value();
    to.value_offset = values_.slot->offset.value();
    to.exact = ExactRowsOf(span);
    to.first_position = span.state.tokens_before.value();
    if (droppable_ && span.state.dropped != nullptr) {
      // Rows are keys' places here; their rotation knows the true positions.
      to.first_position = span.state.RowOf(to.first_position);
      to.first_rows =
          span.state.dropped->first_rows[static_cast<size_t>(keys_.slot->layer.value())];
    }
    to.tokens = static_cast<int64_t>(span.tokens.size());
    to.queries = made.query + first * query_stride;
    to.out = made.attended + first * out_stride;
  });
  Attention(Shape(), spans_, query_stride, out_stride, pass.work->attention(), *pass.pool);
}

void AttentionMixer::Output(const Pass& pass, std::span<const int64_t> rows, const Made& made,
                            float* out) {
  const int64_t width = spec_.heads * spec_.value_width;
  const auto count = static_cast<int64_t>(rows.size());
  if (made.gate != nullptr) {
    ForTokens(*pass.pool, pass.tokens, [&](int64_t t) {
      SigmoidTimes(made.gate + t * width, made.attended + t * width, width);
    });
  }
  float* from = made.gate != nullptr ? made.gate : made.attended;
  KeepRows(from, width, rows);
  Activations& activations = pass.work->activations(0);
  activations.Set(from, count, width, width);
  const MatMulTask task = weights_.output.Into(out);
  MatMul(activations, {&task, 1}, *pass.pool);
}

void AttentionMixer::Run(const Pass& pass, const float* normed, std::span<const int64_t> rows,
                         float* out) {
  const Made made = MakeRoom(pass);
  Project(pass, normed, made);
  PrepareStandard(pass);
  const auto for_all = [&](const auto& body) {
    ForSpans(pass, [&](const BatchSpan& span, int64_t first) {
      ForTokens(*pass.pool, static_cast<int64_t>(span.tokens.size()),
                [&](int64_t i) { body(span, first, i); });
    });
  };
  for_all([&](const BatchSpan& span, int64_t first, int64_t i) {
    FinishQueriesAndKeys(first + i, span.state.tokens_before.value() + i, made);
    if (!shares_ && pass.key_observer == nullptr) StoreRows(span, i, first + i, made);
  });
  if (pass.key_observer != nullptr) {
    ShowKeys(pass, made);
    for_all([&](const BatchSpan& span, int64_t first, int64_t i) {
      if (!shares_) StoreRows(span, i, first + i, made);
    });
  }
  ShowRows(pass, made);
  if (rows.empty()) return;
  Attend(pass, made);
  Output(pass, rows, made, out);
}

MixerOr MakeAttention(const LayerBuild& build, const AttentionSpec& spec) {
  auto mixer = std::make_unique<AttentionMixer>(build, spec, false);
  CAIRN_TRY(mixer->Load(build.loader));
  return mixer;
}

MixerOr MakeSharedAttention(const LayerBuild& build, const SharedAttentionSpec& spec) {
  auto mixer = std::make_unique<AttentionMixer>(build, spec.attention, true);
  CAIRN_TRY(mixer->Load(build.loader));
  return mixer;
}

}  // namespace cairn
