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
  AlignedBuffer& buffer = pass.At(Handover::kIndexPicks);
  buffer.Reserve(static_cast<size_t>(pass.tokens * (picks + 1)) * sizeof(int32_t));
  return {buffer.As<int32_t>(), buffer.As<int32_t>() + pass.tokens};
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
  return {};
}

// Norm and rotation of one token's key, and its way into the state.
void LatentIndex::FinishKey(const BatchSpan& span, int64_t index, int64_t token, float* key) const {
  key_norm_.Apply(key, key);
  if (rope_ != nullptr) TurnHeads(*rope_, spec_.splits_pairs, token, key, 1, spec_.width);
  const int64_t position = span.state.tokens_before.value() + index;
  StoreRow(place_.rows->codec, key, 1, spec_.width, position % kRowsPerBlock,
           TileOf(place_, span.state, position));
}

const float* LatentIndex::NormInput(const Pass& pass, const float* input, int slot) const {
  if (input_norm_.empty()) return input;
  float* to = pass.work->Floats(slot, pass.tokens * input_);
  ForTokens(*pass.pool, pass.tokens,
            [&](int64_t t) { input_norm_.Apply(input + t * input_, to + t * input_); });
  return to;
}

void LatentIndex::Run(const Pass& pass, const float* normed, const float* input,
                      std::span<const TokenRun> runs, int slot) {
  const int64_t query_width = spec_.query_heads * spec_.width;
  float* query = pass.work->Floats(slot, pass.tokens * query_width);
  float* key = pass.work->Floats(slot + 1, pass.tokens * spec_.width);
  float* weight = pass.work->Floats(slot + 2, pass.tokens * spec_.query_heads);
  Activations& activations = pass.work->activations(0);
  activations.Set(normed, pass.tokens, hidden_, hidden_);
  const std::array<MatMulTask, 2> tasks = {key_.Into(key, kFinePrecision),
                                           weight_.Into(weight, kFinePrecision)};
  MatMul(activations, tasks, *pass.pool);
  activations.Set(NormInput(pass, input, slot + 3), pass.tokens, input_, input_);
  const MatMulTask task = query_.Into(query, kFinePrecision);
  MatMul(activations, {&task, 1}, *pass.pool);
  ForSpans(pass, [&](const BatchSpan& span, int64_t first) {
    ForTokens(*pass.pool, static_cast<int64_t>(span.tokens.size()), [&](int64_t i) {
      const int64_t token = first + i;
      FinishKey(span, i, token, key + token * spec_.width);
      float* mine = query + token * query_width;
      scaling_.Apply(span.state.tokens_before.value() + i, mine, spec_.width);
      if (rope_ == nullptr) return;
      TurnHeads(*rope_, spec_.splits_pairs, token, mine, spec_.query_heads, spec_.width);
    });
  });
  const float factor = 1 / std::sqrt(static_cast<float>(spec_.query_heads));
  Scale(weight, factor, pass.tokens * spec_.query_heads);
  const RowPicks picks = PicksOf(pass, picks_);
  spans_.clear();
  for (const TokenRun& run : runs) {
    const auto& table = run.span->state.tables[static_cast<size_t>(place_.block_class.value())];
    spans_.push_back({.blocks = table.blocks,
                      .first_block = table.first_block,
                      .offset = place_.slot->offset.value(),
                      .first_position = run.position,
                      .tokens = run.count,
                      .queries = query + run.token * query_width,
                      .weights = weight + run.token * spec_.query_heads,
                      .picks = picks.positions + run.token * picks_,
                      .counts = picks.counts + run.token});
  }
  const IndexShape shape = {.heads = spec_.query_heads,
                            .width = spec_.width,
                            .row_width = place_.rows->width,
                            .picks = picks_,
                            .scale = 1 / std::sqrt(static_cast<float>(spec_.width)),
                            .codec = place_.rows->codec};
  PickRows(shape, spans_, pass.work->index(), *pass.pool);
}

}  // namespace cairn
