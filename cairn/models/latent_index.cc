#include "cairn/models/latent_index.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "cairn/kernels/ops.h"
#include "cairn/kernels/state_rows.h"
#include "cairn/models/state_access.h"
#include "cairn/models/token_loop.h"

namespace cairn {
namespace {

// Of the index's own norms, whatever the model's is.
constexpr double kNormEpsilon = 1e-6;

Result<Norm> LoadNorm(const PartLoader& loader, const std::string& role, int64_t width) {
  Norm norm;
  norm.kind = NormKind::kLayer;
  norm.epsilon = kNormEpsilon;
  CAIRN_ASSIGN(norm.weight, loader.Vector(role, width));
  CAIRN_ASSIGN(norm.bias, loader.Raw(role + ".bias", width));
  return norm;
}

// Brings the second of each pair of neighbours behind the first ones.
void SplitPairs(float* x, int64_t pairs) {
  std::array<float, kMaxLatentRope / 2> second;
  for (int64_t i = 0; i < pairs; ++i) {
    second[static_cast<size_t>(i)] = x[2 * i + 1];
    x[i] = x[2 * i];
  }
  std::copy_n(second.data(), pairs, x + pairs);
}

}  // namespace

RowPicks PicksOf(const Pass& pass, int64_t picks) {
  const auto rows = [&](Handover what, int64_t width) {
    const size_t row_bytes = static_cast<size_t>(width) * sizeof(int32_t);
    return reinterpret_cast<int32_t*>(pass.At(what).Rows(pass.tokens, row_bytes));
  };
  return {.counts = rows(Handover::kIndexCounts, 1),
          .positions = rows(Handover::kIndexPicks, picks)};
}

void FindRuns(const Pass& pass, std::span<const int64_t> chosen, std::vector<TokenRun>& runs) {
  runs.clear();
  size_t next = 0;
  ForSpans(pass, [&](const BatchSpan& span, int64_t first) {
    const int64_t end = first + static_cast<int64_t>(span.tokens.size());
    while (next < chosen.size() && chosen[next] < end) {
      size_t last = next + 1;
      while (last < chosen.size() && chosen[last] == chosen[last - 1] + 1 && chosen[last] < end) {
        ++last;
      }
      const int64_t token = chosen[next];
      runs.push_back({.span = &span,
                      .token = token,
                      .at = static_cast<int64_t>(next),
                      .position = span.state.tokens_before.value() + token - first,
                      .count = static_cast<int64_t>(last - next)});
      next = last;
    }
  });
}

void TurnHeads(const RopeTable& rope, bool splits_pairs, int64_t token, float* x, int64_t heads,
               int64_t width) {
  rope.Rotate(token, x, heads, width);
  if (!splits_pairs) return;
  for (int64_t h = 0; h < heads; ++h) SplitPairs(x + h * width, rope.rope().width / 2);
}

Status PositionScaling::Load(const PartLoader& loader, std::string_view role, int64_t heads) {
  CAIRN_ASSIGN(scale, loader.Raw(std::string(role) + ".scale", heads));
  CAIRN_ASSIGN(bias, loader.Raw(std::string(role) + ".bias", heads));
  return {};
}

void PositionScaling::Apply(int64_t position, float* x, int64_t width) const {
  const auto logarithm = static_cast<float>(std::log(static_cast<double>(position + 1)));
  for (size_t h = 0; h < scale.size(); ++h, x += width) {
    Scale(x, scale[h] * logarithm + bias[h], width);
  }
}

LatentIndex::LatentIndex(const LayerBuild& build, const SparseIndexSpec& spec, int64_t picks,
                         int64_t input)
    : spec_(spec),
      hidden_(build.model.hidden),
      picks_(picks),
      input_(input),
      rope_(spec.rope ? build.ropes.Add(*spec.rope) : nullptr),
      place_(build.layout.PlaceOf(build.layer, "index_keys")) {}

Status LatentIndex::Load(const PartLoader& loader) {
  CAIRN_ASSIGN(query_,
               loader.Matrix("self_attn.indexer.wq_b", spec_.query_heads * spec_.width, input_));
  CAIRN_ASSIGN(key_, loader.Matrix("self_attn.indexer.wk", spec_.width, hidden_));
  CAIRN_ASSIGN(key_norm_, LoadNorm(loader, "self_attn.indexer.k_norm", spec_.width));
  if (spec_.reads_hidden) {
    CAIRN_ASSIGN(input_norm_, LoadNorm(loader, "self_attn.indexer.q_input_norm", input_));
  }
  if (spec_.position_scaling) {
    CAIRN_TRY(scaling_.Load(loader, "self_attn.indexer.softmax_scaling", spec_.query_heads));
  }
  CAIRN_ASSIGN(weight_,
               loader.Matrix("self_attn.indexer.weights_proj", spec_.query_heads, hidden_));
  if (spec_.pool > 0) {
    CAIRN_ASSIGN(pool_, KeyPool::Load(loader, spec_));
  }
  return {};
}

// Norm and rotation of one token's key, and its row's way into the state.
void LatentIndex::FinishRow(const BatchSpan& span, int64_t index, int64_t token, float* row) const {
  key_norm_.Apply(row, row);
  if (rope_ != nullptr) TurnHeads(*rope_, spec_.splits_pairs, token, row, 1, spec_.width);
  if (pool_) row[row_width() - 1] = KeyPool::kMark;
  const int64_t position = span.state.tokens_before.value() + index;
  StoreRow(place_.rows->codec, row, 1, row_width(), position % kRowsPerBlock,
           TileOf(place_, span.state, position));
}

const float* LatentIndex::NormInput(const Pass& pass, const float* input, int slot) const {
  if (input_norm_.empty()) return input;
  float* to = pass.work->Floats(slot, pass.tokens * input_);
  ForTokens(*pass.pool, pass.tokens,
            [&](int64_t t) { input_norm_.Apply(input + t * input_, to + t * input_); });
  return to;
}

// Queries, rows and weights of all tokens, before norms and rotation.
void LatentIndex::Project(const Pass& pass, const float* normed, const float* input, int slot,
                          const Made& made) {
  Activations& activations = pass.work->activations(0);
  activations.Set(normed, pass.tokens, hidden_, hidden_);
  std::array<MatMulTask, 3> tasks = {key_.Into(made.row, kFinePrecision),
                                     weight_.Into(made.weight, kFinePrecision)};
  tasks[0].stride = row_width();
  if (pool_) {
    tasks[2] = pool_->gates().Into(made.row + spec_.width, kFinePrecision);
    tasks[2].stride = row_width();
  }
  MatMul(activations, std::span(tasks).first(pool_ ? 3 : 2), *pass.pool);
  activations.Set(NormInput(pass, input, slot), pass.tokens, input_, input_);
  const MatMulTask task = query_.Into(made.query, kFinePrecision);
  MatMul(activations, {&task, 1}, *pass.pool);
}

IndexShape LatentIndex::Shape(int64_t picks) const {
  return {.heads = spec_.query_heads,
          .width = spec_.width,
          .row_width = row_width(),
          .picks = picks,
          .scale = 1 / std::sqrt(static_cast<float>(spec_.width)),
          .codec = place_.rows->codec};
}

// Without its picks.
IndexSpan LatentIndex::SpanOf(const TokenRun& run, const Made& made) const {
  const auto& table = run.span->state.tables[static_cast<size_t>(place_.block_class.value())];
  return {.blocks = table.blocks,
          .first_block = table.first_block,
          .offset = place_.slot->offset.value(),
          .first_position = run.position,
          .tokens = run.count,
          .queries = made.query + run.token * query_width(),
          .weights = made.weight + run.token * spec_.query_heads};
}

// Whole pools by their scores, then the tokens after the last whole pool.
void LatentIndex::PickPools(const Pass& pass, const TokenRun& run, int slot, const Made& made) {
  const int64_t tokens = pool_->tokens();
  const RowPicks picks = PicksOf(pass, picks_);
  IndexShape shape = Shape((picks_ - (tokens - 1)) / tokens);
  shape.row_width = spec_.width;
  shape.tokens_per_row = tokens;
  shape.codec = DType::kF32;
  const int64_t pools = (run.position + run.count) / tokens;
  tiles_.clear();
  if (pools > shape.picks) pool_->Make(place_, run.span->state, pools, pass, slot, tiles_);
  pool_picks_.resize(static_cast<size_t>(run.count * shape.picks));
  IndexSpan span = SpanOf(run, made);
  span.blocks = tiles_;
  span.first_block = 0;
  span.offset = 0;
  span.picks = pool_picks_.data();
  span.counts = picks.counts + run.token;
  PickRows(shape, {&span, 1}, pass.work->index(), *pass.pool);
  ForTokens(*pass.pool, run.count, [&](int64_t t) {
    int32_t* const begin = picks.positions + (run.token + t) * picks_;
    int32_t* to = begin;
    const auto take = [&to](int64_t first, int64_t end) {
      for (int64_t p = first; p < end; ++p) *to++ = static_cast<int32_t>(p);
    };
    const int32_t* picked = span.picks + t * shape.picks;
    for (int32_t i = 0; i < span.counts[t]; ++i) {
      take(picked[i] * tokens, (picked[i] + 1) * tokens);
    }
    const int64_t seen = run.position + t + 1;
    take(seen / tokens * tokens, seen);
    span.counts[t] = static_cast<int32_t>(to - begin);
  });
}

void LatentIndex::Run(const Pass& pass, const float* normed, const float* input,
                      std::span<const TokenRun> runs, int slot) {
  const Made made = {.query = pass.work->Floats(slot, pass.tokens * query_width()),
                     .row = pass.work->Floats(slot + 1, pass.tokens * row_width()),
                     .weight = pass.work->Floats(slot + 2, pass.tokens * spec_.query_heads)};
  Project(pass, normed, input, slot + 3, made);
  ForSpans(pass, [&](const BatchSpan& span, int64_t first) {
    ForTokens(*pass.pool, static_cast<int64_t>(span.tokens.size()), [&](int64_t i) {
      const int64_t token = first + i;
      FinishRow(span, i, token, made.row + token * row_width());
      float* mine = made.query + token * query_width();
      scaling_.Apply(span.state.tokens_before.value() + i, mine, spec_.width);
      if (rope_ == nullptr) return;
      TurnHeads(*rope_, spec_.splits_pairs, token, mine, spec_.query_heads, spec_.width);
    });
  });
  const float factor = 1 / std::sqrt(static_cast<float>(spec_.query_heads));
  Scale(made.weight, factor, pass.tokens * spec_.query_heads);
  const RowPicks picks = PicksOf(pass, picks_);
  spans_.clear();
  for (const TokenRun& run : runs) {
    if (pool_) {
      PickPools(pass, run, slot + 4, made);
      continue;
    }
    IndexSpan& span = spans_.emplace_back(SpanOf(run, made));
    span.picks = picks.positions + run.token * picks_;
    span.counts = picks.counts + run.token;
  }
  PickRows(Shape(picks_), spans_, pass.work->index(), *pass.pool);
}

}  // namespace cairn
