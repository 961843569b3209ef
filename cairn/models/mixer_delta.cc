// Gated delta rules: Gated DeltaNet and KDA. Queries, keys and values pass a short convolution; a
// matrix for each value head is decayed, corrected and read; what is read is normed and gated.
#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <utility>

#include "cairn/kernels/causal_conv.h"
#include "cairn/kernels/delta_rule.h"
#include "cairn/kernels/gates.h"
#include "cairn/kernels/norms.h"
#include "cairn/models/delta_weights.h"
#include "cairn/models/head_recurrence.h"
#include "cairn/models/parts.h"
#include "cairn/models/token_loop.h"

namespace cairn {
namespace {

enum Slot { kMixed, kConvolved, kGates, kBetas, kDecays, kRead, kTails, kStates, kLow };

constexpr double kUnitEpsilon = 1e-6;  // of the lengths of queries and keys

class DeltaMixer final : public Mixer {
 public:
  // `spec` must outlive the mixer.
  DeltaMixer(const LayerBuild& build, const DeltaRuleSpec& spec, DeltaWeights weights)
      : spec_(spec),
        hidden_(build.model.hidden),
        norm_epsilon_(build.model.norm_epsilon),
        weights_(std::move(weights)),
        matrices_(FixedPlaceOf(build.layout, build.layer, "delta")) {
    if (spec.conv_kernel > 1) tail_ = FixedPlaceOf(build.layout, build.layer, "conv");
  }

  void Run(const Pass& pass, const float* normed, std::span<const int64_t> rows,
           float* out) override {
    const Made made = MakeRoom(pass);
    Project(pass, normed, made);
    Convolve(pass, made);
    ForTokens(*pass.pool, pass.tokens, [&](int64_t t) { FinishInputs(t, made); });
    Walk(pass, made);
    if (!rows.empty()) Output(pass, rows, made, out);
  }

 private:
  // Of all tokens of the batch.
  struct Made {
    float* mixed = nullptr;      // [tokens][channels_]: queries, keys, values
    float* convolved = nullptr;  // the same behind the convolution
    float* gates = nullptr;      // [tokens][values_]
    float* betas = nullptr;      // [tokens][value_heads]
    float* decays = nullptr;     // [tokens][value_heads or keys_]
    float* read = nullptr;       // [tokens][values_]
  };

  bool per_channel() const { return spec_.decay == DeltaRuleSpec::Decay::kChannel; }

  Made MakeRoom(const Pass& pass) const {
    Workspace& work = *pass.work;
    const int64_t tokens = pass.tokens;
    return {.mixed = work.Floats(kMixed, tokens * channels_),
            .convolved = work.Floats(kConvolved, tokens * channels_),
            .gates = work.Floats(kGates, tokens * values_),
            .betas = work.Floats(kBetas, tokens * spec_.value_heads),
            .decays = work.Floats(kDecays, tokens * decays_),
            .read = work.Floats(kRead, tokens * values_)};
  }

  void Project(const Pass& pass, const float* normed, const Made& made);
  void ProjectUp(const Pass& pass, const LowRankLinear& linear, const float* low, float* out);
  void Convolve(const Pass& pass, const Made& made);
  void FinishInputs(int64_t token, const Made& made) const;
  void Walk(const Pass& pass, const Made& made);
  void Output(const Pass& pass, std::span<const int64_t> rows, const Made& made, float* out);

  const DeltaRuleSpec& spec_;
  const int64_t hidden_;
  const double norm_epsilon_;
  const DeltaWeights weights_;
  const FixedPlace matrices_;
  FixedPlace tail_;
  const int64_t keys_ = spec_.key_heads * spec_.key_width;
  const int64_t values_ = spec_.value_heads * spec_.value_width;
  const int64_t channels_ = 2 * keys_ + values_;
  const int64_t decays_ = per_channel() ? keys_ : spec_.value_heads;
};

void DeltaMixer::Project(const Pass& pass, const float* normed, const Made& made) {
  const int64_t gate_rank = weights_.gate.down.rows();
  float* low = pass.work->Floats(kLow, pass.tokens * (gate_rank + weights_.decay.down.rows()));
  float* low_decay = low + pass.tokens * gate_rank;
  std::array<MatMulTask, 6> tasks;
  size_t count = 0;
  int64_t channel = 0;
  for (const Linear* linear : {&weights_.query, &weights_.key, &weights_.value}) {
    MatMulTask task = linear->Into(made.mixed + channel, kFinePrecision);
    task.stride = channels_;
    tasks[count++] = task;
    channel += linear->rows();
  }
  tasks[count++] = weights_.beta.Into(made.betas, kFinePrecision);
  const auto add = [&](const LowRankLinear& linear, float* narrow, float* wide) {
    tasks[count++] = linear.down.empty() ? linear.up.Into(wide, kFinePrecision)
                                         : linear.down.Into(narrow, kFinePrecision);
  };
  add(weights_.gate, low, made.gates);
  add(weights_.decay, low_decay, made.decays);
  Activations& activations = pass.work->activations(0);
  activations.Set(normed, pass.tokens, hidden_, hidden_);
  MatMul(activations, tasks, *pass.pool);
  ProjectUp(pass, weights_.gate, low, made.gates);
  ProjectUp(pass, weights_.decay, low_decay, made.decays);
}

void DeltaMixer::ProjectUp(const Pass& pass, const LowRankLinear& linear, const float* low,
                           float* out) {
  if (linear.down.empty()) return;
  Activations& activations = pass.work->activations(1);
  activations.Set(low, pass.tokens, linear.down.rows(), linear.down.rows());
  const MatMulTask task = linear.up.Into(out, kFinePrecision);
  MatMul(activations, {&task, 1}, *pass.pool);
}

void DeltaMixer::Convolve(const Pass& pass, const Made& made) {
  constexpr int64_t kChunk = 256;  // channels that run together
  const int64_t tail_size = (spec_.conv_kernel - 1) * channels_;
  const int64_t chunks = (channels_ + kChunk - 1) / kChunk;
  if (tail_size > 0) {
    ForTokens(*pass.pool, pass.tokens,
              [&](int64_t t) { RoundTo(tail_.dtype, made.mixed + t * channels_, channels_); });
  }
  ForSpans(pass, [&](const BatchSpan& span, int64_t first) {
    float* tail = pass.work->Floats(kTails, tail_size);
    if (tail_size > 0) tail_.Load(span.state, tail);
    auto chunk = [&](int64_t index, int /*thread*/) {
      const int64_t begin = index * kChunk;
      const CausalConvTask task = {.channels = std::min(kChunk, channels_ - begin),
                                   .kernel = spec_.conv_kernel,
                                   .channel_stride = channels_,
                                   .weights = weights_.conv.data() + begin,
                                   .activation = ConvActivation::kSilu,
                                   .tail = tail + begin,
                                   .inputs = {made.mixed + first * channels_ + begin, channels_},
                                   .out = {made.convolved + first * channels_ + begin, channels_}};
      CausalConv(task, static_cast<int64_t>(span.tokens.size()));
    };
    pass.pool->ParallelFor(chunks, chunk);
    if (tail_size > 0) tail_.Store(span.state, tail);
  });
}

// Queries and keys of length 1, queries scaled besides; steps and decays from their projections.
void DeltaMixer::FinishInputs(int64_t token, const Made& made) const {
  float* query = made.convolved + token * channels_;
  const float scale = 1.0f / std::sqrt(static_cast<float>(spec_.key_width));
  L2NormShape shape = {spec_.key_heads, spec_.key_width, kUnitEpsilon, scale};
  L2NormHeads(shape, query);
  shape.scale = 1;
  L2NormHeads(shape, query + keys_);
  float* betas = made.betas + token * spec_.value_heads;
  Sigmoid(betas, spec_.value_heads, betas);
  float* decays = made.decays + token * decays_;
  if (spec_.decay_bound < 0) {
    BoundedDecayFactors({.bias = weights_.step_bias.data(),
                         .slopes = weights_.rates.data(),
                         .bound = static_cast<float>(spec_.decay_bound),
                         .heads = spec_.value_heads,
                         .width = spec_.key_width},
                        decays, decays);
    return;
  }
  StepWidths(decays, weights_.step_bias.data(), {}, decays_, decays);
  if (per_channel()) {
    DecayFactorsOfHeads(decays, weights_.rates.data(), spec_.value_heads, spec_.key_width, decays);
  } else {
    DecayFactors(decays, weights_.rates.data(), decays_, decays);
  }
}

void DeltaMixer::Walk(const Pass& pass, const Made& made) {
  const int64_t shared = spec_.value_heads / spec_.key_heads;
  const auto key_head = [&](int64_t h) {
    return weights_.key_heads_in_turn ? h % spec_.key_heads : h / shared;
  };
  const int64_t decay_step = per_channel() ? spec_.key_width : 1;
  const auto walk = [&](float* matrix, int64_t h, int64_t first, int64_t tokens) {
    const float* query = made.convolved + first * channels_ + key_head(h) * spec_.key_width;
    const float* value = made.convolved + first * channels_ + 2 * keys_ + h * spec_.value_width;
    DeltaRule({.key_width = spec_.key_width,
               .value_width = spec_.value_width,
               .state = matrix,
               .queries = {query, channels_},
               .keys = {query + keys_, channels_},
               .values = {value, channels_},
               .betas = {made.betas + first * spec_.value_heads + h, spec_.value_heads},
               .decay_width = per_channel() ? DecayWidth::kChannel : DecayWidth::kHead,
               .decays = {made.decays + first * decays_ + h * decay_step, decays_},
               .out = {made.read + first * values_ + h * spec_.value_width, values_}},
              tokens);
  };
  WalkHeads(pass, matrices_, spec_.value_heads, kStates, walk);
}

void DeltaMixer::Output(const Pass& pass, std::span<const int64_t> rows, const Made& made,
                        float* out) {
  const auto count = static_cast<int64_t>(rows.size());
  KeepRows(made.read, values_, rows);
  KeepRows(made.gates, values_, rows);
  const GatedNorm norm = {.groups = spec_.value_heads,
                          .width = spec_.value_width,
                          .epsilon = norm_epsilon_,
                          .weight = weights_.norm.data(),
                          .activation = per_channel() || spec_.sigmoid_gate
                                            ? GateActivation::kSigmoid
                                            : GateActivation::kSilu};
  ForTokens(*pass.pool, count, [&](int64_t t) {
    GatedRmsNorm(norm, made.gates + t * values_, made.read + t * values_);
  });
  Activations& activations = pass.work->activations(0);
  activations.Set(made.read, count, values_, values_);
  const MatMulTask task = weights_.output.Into(out);
  MatMul(activations, {&task, 1}, *pass.pool);
}

}  // namespace

MixerOr MakeDelta(const LayerBuild& build, const DeltaRuleSpec& spec) {
  CAIRN_ASSIGN(DeltaWeights weights, DeltaWeights::Load(build.loader, spec));
  return std::make_unique<DeltaMixer>(build, spec, std::move(weights));
}

}  // namespace cairn
