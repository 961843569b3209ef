// Linear attention without a delta rule: a decayed sum of k v^T for each head, read by the queries.
//
// Lightning attention activates queries, keys and values, and norms what is read over all heads.
// Files may hold its decays, and tables of their powers that are checked against them: code that
// works block by block reads those. Retention turns queries and keys, and norms each head.
#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "cairn/kernels/gates.h"
#include "cairn/kernels/linear_attention.h"
#include "cairn/kernels/ops.h"
#include "cairn/models/head_recurrence.h"
#include "cairn/models/parts.h"
#include "cairn/models/token_loop.h"

namespace cairn {
namespace {

enum Slot { kMixed, kGates, kRead, kStates };

constexpr double kNormEpsilon = 1e-6;     // whatever the model's is
constexpr float kTableTolerance = 0.01f;  // tables may have passed through BF16

struct LinearWeights {
  Linear query;  // [heads * key_width, hidden]
  Linear key;
  Linear value;               // [heads * value_width, hidden]
  Linear gate;                // the same
  Linear output;              // [hidden, heads * value_width]
  Norm norm;                  // over all heads
  std::vector<float> decays;  // [heads]
};

Status LoadRetention(const LayerBuild& build, const LinearAttentionSpec& spec,
                     LinearWeights& weights) {
  const PartLoader& loader = build.loader;
  const int64_t hidden = build.model.hidden;
  const int64_t keys = spec.heads * spec.key_width;
  const int64_t values = spec.heads * spec.value_width;
  CAIRN_ASSIGN(weights.query, loader.Matrix("self_attn.q_proj", keys, hidden));
  CAIRN_ASSIGN(weights.key, loader.Matrix("self_attn.k_proj", keys, hidden));
  CAIRN_ASSIGN(weights.value, loader.Matrix("self_attn.v_proj", values, hidden));
  CAIRN_ASSIGN(weights.gate, loader.Matrix("self_attn.g_proj", values, hidden));
  CAIRN_ASSIGN(weights.output, loader.Matrix("self_attn.o_proj", hidden, values));
  const bool fused = loader.Has("self_attn.g_norm_swish_gate");
  CAIRN_ASSIGN(
      weights.norm,
      loader.NormOf(fused ? "self_attn.g_norm_swish_gate" : "self_attn.g_norm", spec.value_width));
  for (int64_t h = 0; h < spec.heads; ++h) weights.decays.push_back(RetentionDecay(h));
  return {};
}

// Of each head in turn: query, key, value.
Status LoadProjections(const PartLoader& loader, const LinearAttentionSpec& spec,
                       LinearWeights& weights) {
  const int64_t hidden = loader.spec().hidden;
  const int64_t step = 2 * spec.key_width + spec.value_width;
  const auto rows = [&](int64_t first, int64_t width, Linear& to) -> Status {
    CAIRN_ASSIGN(to, loader.Rows("self_attn.qkv_proj",
                                 {.total = spec.heads * step,
                                  .first = first,
                                  .count = spec.heads * width,
                                  .step = step,
                                  .group = width},
                                 hidden));
    return {};
  };
  CAIRN_TRY(rows(0, spec.key_width, weights.query));
  CAIRN_TRY(rows(spec.key_width, spec.key_width, weights.key));
  CAIRN_TRY(rows(2 * spec.key_width, spec.value_width, weights.value));
  const int64_t values = spec.heads * spec.value_width;
  CAIRN_ASSIGN(weights.gate, loader.Matrix("self_attn.output_gate", values, hidden));
  CAIRN_ASSIGN(weights.output, loader.Matrix("self_attn.out_proj", hidden, values));
  CAIRN_ASSIGN(weights.norm, loader.NormOf("self_attn.norm", values, kNormEpsilon));
  return {};
}

// tables[h * size + i] must be decay(h)^steps(i), or 0 for negative steps.
template <class Steps>
Status CheckTable(const PartLoader& loader, std::string_view role, std::span<const float> slopes,
                  std::span<const int64_t> shape, const Steps& steps) {
  if (!loader.HasRaw(role)) return {};
  CAIRN_ASSIGN(const std::vector<float> table, loader.Raw(role, shape));
  const size_t size = table.size() / slopes.size();
  for (size_t i = 0; i < table.size(); ++i) {
    const int64_t n = steps(static_cast<int64_t>(i % size));
    const float expected = n < 0 ? 0.0f : std::exp(-slopes[i / size] * static_cast<float>(n));
    if (std::abs(table[i] - expected) <= kTableTolerance) continue;
    return Fail(ErrorCode::kUnsupported, "{}: {} says {} at element {}, the head's decay makes {}",
                loader.where(), loader.NameOf(role), table[i], i, expected);
  }
  return {};
}

Status LoadDecays(const LayerBuild& build, const LinearAttentionSpec& spec,
                  LinearWeights& weights) {
  const PartLoader& loader = build.loader;
  const auto layers = static_cast<int64_t>(build.model.layers.size());
  std::vector<float> slopes;
  if (loader.HasRaw("self_attn.slope_rate")) {
    CAIRN_ASSIGN(slopes, loader.Raw("self_attn.slope_rate", spec.heads));
    for (const float slope : slopes) weights.decays.push_back(std::exp(-slope));
  } else {
    for (int64_t h = 0; h < spec.heads; ++h) {
      weights.decays.push_back(LightningDecay(h, spec.heads, build.layer.value(), layers));
      slopes.push_back(-std::log(weights.decays.back()));
    }
  }
  const int64_t block = spec.table_block;
  const std::array<int64_t, 2> row = {spec.heads, block};
  const std::array<int64_t, 3> square = {spec.heads, block, block};
  CAIRN_TRY(
      CheckTable(loader, "self_attn.query_decay", slopes, row, [&](int64_t i) { return i + 1; }));
  CAIRN_TRY(CheckTable(loader, "self_attn.key_decay", slopes, row,
                       [&](int64_t i) { return block - 1 - i; }));
  return CheckTable(loader, "self_attn.diagonal_decay", slopes, square,
                    [&](int64_t i) { return i / block - i % block; });
}

class LinearAttentionMixer final : public Mixer {
 public:
  // `spec` must outlive the mixer.
  LinearAttentionMixer(const LayerBuild& build, const LinearAttentionSpec& spec,
                       LinearWeights weights)
      : spec_(spec),
        hidden_(build.model.hidden),
        weights_(std::move(weights)),
        matrices_(FixedPlaceOf(build.layout, build.layer, "linear")),
        rope_(spec.rope ? build.ropes.Add(*spec.rope) : nullptr) {}

  void Run(const Pass& pass, const float* normed, std::span<const int64_t> rows,
           float* out) override {
    float* mixed = pass.work->Floats(kMixed, pass.tokens * channels_);
    float* gates = pass.work->Floats(kGates, pass.tokens * values_);
    float* read = pass.work->Floats(kRead, pass.tokens * values_);
    Project(pass, normed, mixed, gates);
    ForTokens(*pass.pool, pass.tokens, [&](int64_t t) { FinishInputs(t, mixed); });
    Walk(pass, mixed, read);
    if (!rows.empty()) Output(pass, rows, gates, read, out);
  }

 private:
  void Project(const Pass& pass, const float* normed, float* mixed, float* gates);
  void FinishInputs(int64_t token, float* mixed) const;
  void Walk(const Pass& pass, const float* mixed, float* read);
  void FinishOutput(float* read, const float* gates) const;
  void Output(const Pass& pass, std::span<const int64_t> rows, float* gates, float* read,
              float* out);

  const LinearAttentionSpec& spec_;
  const int64_t hidden_;
  const LinearWeights weights_;
  const FixedPlace matrices_;
  const RopeTable* rope_;
  const int64_t keys_ = spec_.heads * spec_.key_width;
  const int64_t values_ = spec_.heads * spec_.value_width;
  const int64_t channels_ = 2 * keys_ + values_;  // of queries, keys and values
};

void LinearAttentionMixer::Project(const Pass& pass, const float* normed, float* mixed,
                                   float* gates) {
  Activations& activations = pass.work->activations(0);
  activations.Set(normed, pass.tokens, hidden_, hidden_);
  std::array<MatMulTask, 4> tasks = {weights_.query.Into(mixed, kFinePrecision),
                                     weights_.key.Into(mixed + keys_, kFinePrecision),
                                     weights_.value.Into(mixed + 2 * keys_, kFinePrecision),
                                     weights_.gate.Into(gates, kFinePrecision)};
  for (size_t i = 0; i < 3; ++i) tasks[i].stride = channels_;
  MatMul(activations, tasks, *pass.pool);
}

void LinearAttentionMixer::FinishInputs(int64_t token, float* mixed) const {
  float* query = mixed + token * channels_;
  if (spec_.kind == LinearAttentionSpec::Kind::kLightning) {
    Silu(query, channels_, query);
    return;
  }
  if (rope_ != nullptr) {
    rope_->Rotate(token, query, spec_.heads, spec_.key_width);
    rope_->Rotate(token, query + keys_, spec_.heads, spec_.key_width);
  }
  Scale(query, 1.0f / std::sqrt(static_cast<float>(spec_.key_width)), keys_);
}

void LinearAttentionMixer::Walk(const Pass& pass, const float* mixed, float* read) {
  const auto walk = [&](float* matrix, int64_t h, int64_t first, int64_t tokens) {
    const float* query = mixed + first * channels_ + h * spec_.key_width;
    const float* value = mixed + first * channels_ + 2 * keys_ + h * spec_.value_width;
    LinearAttention({.key_width = spec_.key_width,
                     .value_width = spec_.value_width,
                     .state = matrix,
                     .queries = {query, channels_},
                     .keys = {query + keys_, channels_},
                     .values = {value, channels_},
                     .decays = {weights_.decays.data() + h, 0},
                     .out = {read + first * values_ + h * spec_.value_width, values_}},
                    tokens);
  };
  WalkHeads(pass, matrices_, spec_.heads, kStates, walk);
}

void LinearAttentionMixer::FinishOutput(float* read, const float* gates) const {
  if (spec_.kind == LinearAttentionSpec::Kind::kLightning) {
    weights_.norm.Apply(read, read);
    TimesSigmoid(read, gates, values_);
    return;
  }
  weights_.norm.ApplyToHeads(read, spec_.heads);
  TimesSilu(read, gates, values_);
}

void LinearAttentionMixer::Output(const Pass& pass, std::span<const int64_t> rows, float* gates,
                                  float* read, float* out) {
  const auto count = static_cast<int64_t>(rows.size());
  KeepRows(read, values_, rows);
  KeepRows(gates, values_, rows);
  ForTokens(*pass.pool, count,
            [&](int64_t t) { FinishOutput(read + t * values_, gates + t * values_); });
  Activations& activations = pass.work->activations(0);
  activations.Set(read, count, values_, values_);
  const MatMulTask task = weights_.output.Into(out);
  MatMul(activations, {&task, 1}, *pass.pool);
}

}  // namespace

MixerOr MakeLinearAttention(const LayerBuild& build, const LinearAttentionSpec& spec) {
  LinearWeights weights;
  if (spec.kind == LinearAttentionSpec::Kind::kRetention) {
    CAIRN_TRY(LoadRetention(build, spec, weights));
  } else {
    CAIRN_TRY(LoadProjections(build.loader, spec, weights));
    CAIRN_TRY(LoadDecays(build, spec, weights));
  }
  return std::make_unique<LinearAttentionMixer>(build, spec, std::move(weights));
}

}  // namespace cairn
