#include "cairn/models/mixer_latent.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>

#include "cairn/kernels/dequantize.h"
#include "cairn/kernels/ops.h"
#include "cairn/kernels/state_rows.h"
#include "cairn/models/parts.h"
#include "cairn/models/residual.h"
#include "cairn/models/state_access.h"
#include "cairn/models/token_loop.h"

namespace cairn {
namespace {

enum Slot { kRank, kQuery, kRow, kAbsorbed, kAttended, kValue, kGate, kIndex };
// Of the absorbed queries that are held at once: many heads are as wide as a latent row each.
constexpr int64_t kAbsorbedFloats = int64_t{1} << 22;
static_assert(kIndex + LatentIndex::kSlots <= Workspace::kOuter);

float TemperatureAt(const QueryTemperature& temperature, int64_t position) {
  const double steps =
      std::floor(static_cast<double>(position + temperature.offset) / temperature.interval);
  return static_cast<float>(1 + temperature.scale * std::log(1 + steps));
}

// Row `index` of a tensor of matrices as floats.
void TakeRow(const TensorInfo& tensor, int64_t index, std::vector<float>& row) {
  const auto width = static_cast<int64_t>(row.size());
  const auto bytes = static_cast<size_t>(BytesOf(*tensor.dtype, ElementCount(width)).value());
  DequantizeRow(*tensor.dtype, tensor.bytes.subspan(static_cast<size_t>(index) * bytes, bytes),
                row.data(), width);
}

// Frequencies as divisors of those without any scaling.
Result<RopeScaling> TrainedFrequencies(const PartLoader& loader, const Rope& rope) {
  CAIRN_ASSIGN(const std::vector<float> logarithms, loader.Raw("rotary_emb.alpha", rope.width / 2));
  Rope plain = rope;
  plain.scaling = {};
  const std::vector<float> unscaled = RopeFrequencies(plain);
  const std::vector<float> scaled = RopeFrequencies(rope);
  RopeDivisors divisors;
  for (size_t i = 0; i < scaled.size(); ++i) {
    divisors.divisors.push_back(unscaled[i] / (scaled[i] * std::exp(logarithms[i])));
  }
  return divisors;
}

}  // namespace

LatentMixer::LatentMixer(const LayerBuild& build, const LatentAttentionSpec& spec)
    : spec_(spec),
      hidden_(build.model.hidden),
      place_(build.layout.PlaceOf(spec.source.value_or(build.layer), "latent")) {}

// As absorption uses them: [heads][latent][key], [heads][value][latent].
Status LatentMixer::LoadPartedHeads(const PartLoader& loader) {
  const auto load = [&](std::string_view role, int64_t columns, int64_t rows,
                        HeadMatrices& to) -> Status {
    const std::array<int64_t, 3> shape = {spec_.heads, rows, columns};
    CAIRN_ASSIGN(const TensorInfo* tensor, loader.Table(role, shape));
    to = HeadMatrices(*tensor->dtype, spec_.heads, columns, rows);
    std::vector<float> row(static_cast<size_t>(columns));
    for (int64_t i = 0; i < spec_.heads * rows; ++i) {
      TakeRow(*tensor, i, row);
      to.SetRow(i / rows, i % rows, row.data());
    }
    return {};
  };
  CAIRN_TRY(load("self_attn.k_b_proj", spec_.key_width, spec_.latent_width, weights_.keys));
  return load("self_attn.v_b_proj", spec_.latent_width, spec_.value_width, weights_.values);
}

// One matrix makes each head's key and value from a latent row.
Status LatentMixer::LoadHeads(const PartLoader& loader) {
  if (loader.Has("self_attn.k_b_proj")) return LoadPartedHeads(loader);
  const int64_t made = spec_.key_width + spec_.value_width;
  CAIRN_ASSIGN(const TensorInfo* tensor,
               loader.Table("self_attn.kv_b_proj", spec_.heads * made, spec_.latent_width));
  weights_.keys = HeadMatrices(*tensor->dtype, spec_.heads, spec_.key_width, spec_.latent_width);
  weights_.values =
      HeadMatrices(*tensor->dtype, spec_.heads, spec_.latent_width, spec_.value_width);
  loader.CountPacked(weights_.keys.bytes() + weights_.values.bytes());
  std::vector<float> row(static_cast<size_t>(spec_.latent_width));
  for (int64_t h = 0; h < spec_.heads; ++h) {
    for (int64_t i = 0; i < made; ++i) {
      TakeRow(*tensor, h * made + i, row);
      if (i < spec_.key_width) {
        weights_.keys.SetColumn(h, i, row.data());
      } else {
        weights_.values.SetRow(h, i - spec_.key_width, row.data());
      }
    }
  }
  return {};
}

// The rotation of the heads, and with the same frequencies that of the index.
Status LatentMixer::LoadRotation(const LayerBuild& build) {
  std::optional<SparseIndexSpec> index = spec_.index;
  if (spec_.rope) {
    Rope rope = *spec_.rope;
    if (spec_.trained_frequencies) {
      CAIRN_ASSIGN(rope.scaling, TrainedFrequencies(build.loader.Global(), rope));
    }
    rope_ = build.ropes.Add(rope);
    if (index && index->rope) index->rope->scaling = rope.scaling;
  }
  if (!index) return {};
  const int64_t input = index->reads_hidden ? hidden_ : spec_.query_rank;
  index_.emplace(build, *index, spec_.picks, input);
  return index_->Load(build.loader);
}

Status LatentMixer::LoadQueries(const PartLoader& loader) {
  const bool bias = spec_.projection_bias;
  const int64_t query_rows = spec_.heads * head_width();
  if (spec_.query_rank > 0) {
    CAIRN_ASSIGN(weights_.query_down,
                 loader.Matrix("self_attn.q_a_proj", spec_.query_rank, hidden_, bias));
    CAIRN_ASSIGN(weights_.query_norm, loader.NormOf("self_attn.q_a_layernorm", spec_.query_rank,
                                                    spec_.rank_norm_epsilon));
    CAIRN_ASSIGN(weights_.query, loader.Matrix("self_attn.q_b_proj", query_rows, spec_.query_rank));
  } else {
    CAIRN_ASSIGN(weights_.query, loader.Matrix("self_attn.q_proj", query_rows, hidden_));
  }
  if (!spec_.position_scaling) return {};
  return weights_.scaling.Load(loader, "self_attn.softmax_scaling", spec_.heads);
}

Status LatentMixer::Load(const LayerBuild& build) {
  const PartLoader& loader = build.loader;
  CAIRN_TRY(LoadQueries(loader));
  if (!spec_.source) {
    CAIRN_ASSIGN(weights_.row, loader.Matrix("self_attn.kv_a_proj_with_mqa", row_width(), hidden_,
                                             spec_.projection_bias));
    CAIRN_ASSIGN(weights_.row_norm, loader.NormOf("self_attn.kv_a_layernorm", spec_.latent_width,
                                                  spec_.rank_norm_epsilon));
  }
  CAIRN_TRY(LoadHeads(loader));
  CAIRN_TRY(LoadRotation(build));
  if (spec_.output_gate != OutputGate::kNone) {
    const int64_t width = spec_.output_gate == OutputGate::kHeads ? 1 : spec_.value_width;
    CAIRN_ASSIGN(weights_.gate, loader.Matrix("self_attn.g_proj", spec_.heads * width, hidden_));
  }
  CAIRN_ASSIGN(weights_.output, loader.Matrix("self_attn.o_proj", hidden_,
                                              spec_.heads * spec_.value_width, spec_.output_bias));
  return {};
}

int64_t LatentMixer::TokensAtOnce() const {
  return std::max<int64_t>(1, kAbsorbedFloats / (spec_.heads * row_width()));
}

LatentMixer::Made LatentMixer::MakeRoom(const Pass& pass) const {
  Workspace& work = *pass.work;
  const int64_t tokens = pass.tokens;
  Made made;
  if (spec_.query_rank > 0) made.rank = work.Floats(kRank, tokens * spec_.query_rank);
  made.query = work.Floats(kQuery, tokens * spec_.heads * head_width());
  if (!spec_.source) made.row = work.Floats(kRow, tokens * row_width());
  const int64_t at_once = std::min(tokens, TokensAtOnce());
  made.absorbed = work.Floats(kAbsorbed, at_once * spec_.heads * row_width());
  made.attended = work.Floats(kAttended, at_once * spec_.heads * spec_.latent_width);
  made.value = work.Floats(kValue, tokens * spec_.heads * spec_.value_width);
  if (!weights_.gate.empty()) made.gate = work.Floats(kGate, tokens * weights_.gate.rows());
  return made;
}

// Queries and rows of all tokens, before rotation.
void LatentMixer::Project(const Pass& pass, const float* normed, const Made& made) {
  Activations& activations = pass.work->activations(0);
  activations.Set(normed, pass.tokens, hidden_, hidden_);
  const bool ranked = spec_.query_rank > 0;
  const std::array<MatMulTask, 2> tasks = {ranked
                                               ? weights_.query_down.Into(made.rank, kFinePrecision)
                                               : weights_.query.Into(made.query, kFinePrecision),
                                           weights_.row.Into(made.row, kFinePrecision)};
  MatMul(activations, std::span(tasks).first(spec_.source ? 1 : 2), *pass.pool);
  if (!ranked) return;
  ForTokens(*pass.pool, pass.tokens, [&](int64_t t) {
    float* rank = made.rank + t * spec_.query_rank;
    weights_.query_norm.Apply(rank, rank);
  });
  activations.Set(made.rank, pass.tokens, spec_.query_rank, spec_.query_rank);
  const MatMulTask task = weights_.query.Into(made.query, kFinePrecision);
  MatMul(activations, {&task, 1}, *pass.pool);
}

// Norm, rotation and factors of one token.
void LatentMixer::Finish(int64_t token, int64_t position, const Made& made) const {
  float* query = made.query + token * spec_.heads * head_width();
  if (!spec_.source) {
    float* row = made.row + token * row_width();
    weights_.row_norm.Apply(row, row);
    if (rope_ != nullptr) {
      TurnHeads(*rope_, spec_.splits_pairs, token, row + spec_.latent_width, 1, spec_.rope_width);
    }
  }
  if (rope_ != nullptr) {
    TurnHeads(*rope_, spec_.splits_pairs, token, query + spec_.key_width, spec_.heads,
              head_width());
  }
  weights_.scaling.Apply(position, query, head_width());
  if (spec_.temperature) {
    Scale(query, TemperatureAt(*spec_.temperature, position), spec_.heads * head_width());
  }
}

void LatentMixer::Store(const BatchSpan& span, int64_t index, const float* row) const {
  const int64_t position = span.state.tokens_before.value() + index;
  StoreRow(place_.rows->codec, row, 1, row_width(), position % kRowsPerBlock,
           TileOf(place_, span.state, position));
}

// Queries [first, first + count) against latent rows: through the head's key matrix, then the
// rotated channels as they are.
void LatentMixer::Absorb(const Pass& pass, int64_t first, int64_t count, const Made& made) {
  const int64_t query_width = spec_.heads * head_width();
  const int64_t width = spec_.heads * row_width();
  float* query = made.query + first * query_width;
  HeadProducts(weights_.keys, {query, query_width, head_width()}, count,
               {made.absorbed, width, row_width()}, *pass.pool);
  ForTokens(*pass.pool, count, [&](int64_t t) {
    for (int64_t h = 0; h < spec_.heads; ++h) {
      const float* from = query + t * query_width + h * head_width() + spec_.key_width;
      float* to = made.absorbed + t * width + h * row_width() + spec_.latent_width;
      std::copy_n(from, spec_.rope_width, to);
    }
  });
}

// Tokens that see no more rows than are picked read all of them, and so tiles together.
void LatentMixer::AddSpans(const Pass& pass, const TokenRun& run, const Made& made) {
  const auto& table = run.span->state.tables[static_cast<size_t>(place_.block_class.value())];
  const auto add = [&](int64_t first, int64_t count) -> RowAttentionSpan& {
    const int64_t at = run.at + first;
    return spans_.emplace_back(
        RowAttentionSpan{.blocks = table.blocks,
                         .first_block = table.first_block,
                         .offset = place_.slot->offset.value(),
                         .first_position = run.position + first,
                         .tokens = count,
                         .queries = made.absorbed + at * spec_.heads * row_width(),
                         .out = made.attended + at * spec_.heads * spec_.latent_width});
  };
  int64_t all = run.count;
  if (spec_.picks > 0) all = std::clamp<int64_t>(spec_.picks - run.position, 0, run.count);
  if (all > 0) add(0, all);
  if (all == run.count) return;
  const RowPicks picks = PicksOf(pass, spec_.picks);
  RowAttentionSpan& some = add(all, run.count - all);
  some.picks = picks.positions + (run.token + all) * spec_.picks;
  some.picks_stride = spec_.picks;
  some.pick_counts = picks.counts + run.token + all;
}

// Of the chosen tokens [first, first + some.size()), into their values.
void LatentMixer::Attend(const Pass& pass, int64_t first, std::span<const int64_t> some,
                         const Made& made) {
  const auto count = static_cast<int64_t>(some.size());
  Absorb(pass, first, count, made);
  FindRuns(pass, some, runs_);
  spans_.clear();
  for (const TokenRun& run : runs_) AddSpans(pass, run, made);
  const RowAttentionShape shape = {.heads = spec_.heads,
                                   .width = row_width(),
                                   .value_width = spec_.latent_width,
                                   .scale = static_cast<float>(spec_.scale),
                                   .codec = place_.rows->codec};
  RowAttention(shape, spans_, pass.work->row_attention(), *pass.pool);
  const int64_t width = spec_.heads * spec_.value_width;
  HeadProducts(weights_.values,
               {made.attended, spec_.heads * spec_.latent_width, spec_.latent_width}, count,
               {made.value + first * width, width, spec_.value_width}, *pass.pool);
}

void LatentMixer::MakeGates(const Pass& pass, const float* normed, std::span<const int64_t> rows,
                            const Made& made) {
  Activations& activations = pass.work->activations(0);
  activations.Set(normed, pass.tokens, hidden_, hidden_);
  const MatMulTask task = weights_.gate.Into(made.gate);
  MatMul(activations, {&task, 1}, *pass.pool);
  KeepRows(made.gate, weights_.gate.rows(), rows);
}

void LatentMixer::ApplyGates(int64_t token, const Made& made) const {
  const int64_t width = spec_.heads * spec_.value_width;
  const int64_t gates = weights_.gate.rows();
  float* gate = made.gate + token * gates;
  float* value = made.value + token * width;
  if (gates == width) {
    SigmoidTimes(gate, value, width);
    std::copy_n(gate, width, value);
    return;
  }
  for (int64_t h = 0; h < spec_.heads; ++h) {
    Scale(value + h * spec_.value_width, 1.0f / (1.0f + std::exp(-gate[h])), spec_.value_width);
  }
}

void LatentMixer::Output(const Pass& pass, int64_t count, const Made& made, float* out) {
  const int64_t width = spec_.heads * spec_.value_width;
  if (made.gate != nullptr) {
    ForTokens(*pass.pool, count, [&](int64_t t) { ApplyGates(t, made); });
  }
  Activations& activations = pass.work->activations(0);
  activations.Set(made.value, count, width, width);
  const MatMulTask task = weights_.output.Into(out);
  MatMul(activations, {&task, 1}, *pass.pool);
}

void LatentMixer::Run(const Pass& pass, const float* normed, std::span<const int64_t> rows,
                      float* out) {
  const Made made = MakeRoom(pass);
  Project(pass, normed, made);
  ForSpans(pass, [&](const BatchSpan& span, int64_t first) {
    ForTokens(*pass.pool, static_cast<int64_t>(span.tokens.size()), [&](int64_t i) {
      Finish(first + i, span.state.tokens_before.value() + i, made);
      if (!spec_.source) Store(span, i, made.row + (first + i) * row_width());
    });
  });
  if (index_) {
    FindRuns(pass, rows, runs_);
    index_->Run(pass, normed, spec_.index->reads_hidden ? normed : made.rank, runs_, kIndex);
  }
  if (rows.empty()) return;
  if (made.gate != nullptr) MakeGates(pass, normed, rows, made);
  KeepRows(made.query, spec_.heads * head_width(), rows);
  const auto count = static_cast<int64_t>(rows.size());
  for (int64_t first = 0; first < count; first += TokensAtOnce()) {
    const int64_t some = std::min(TokensAtOnce(), count - first);
    Attend(pass, first, rows.subspan(static_cast<size_t>(first), static_cast<size_t>(some)), made);
  }
  Output(pass, count, made, out);
}

MixerOr MakeLatentAttention(const LayerBuild& build, const LatentAttentionSpec& spec) {
  auto mixer = std::make_unique<LatentMixer>(build, spec);
  CAIRN_TRY(mixer->Load(build));
  return mixer;
}

}  // namespace cairn
