// Mamba 2: a matrix for each head, moved by one step width a head; B and C are shared by groups.
//
// Kept: the convolution's tail, and the matrices as [head][state][head width], the transpose of
// what others keep. Thread safety: one call at a time.
#include <algorithm>
#include <array>
#include <memory>
#include <utility>
#include <vector>

#include "cairn/kernels/gates.h"
#include "cairn/kernels/linear_attention.h"
#include "cairn/kernels/matmul.h"
#include "cairn/kernels/norms.h"
#include "cairn/kernels/ops.h"
#include "cairn/models/causal_conv.h"
#include "cairn/models/mixer_mamba.h"
#include "cairn/models/parts.h"
#include "cairn/models/token_loop.h"

namespace cairn {
namespace {

enum Slot { kInput, kGate, kMixed, kStep, kDecay, kScratch, kState, kMade };

class Mamba2Mixer final : public Mixer {
 public:
  Mamba2Mixer(const LayerBuild& build, const MambaSpec& spec)
      : spec_(spec),
        hidden_(build.model.hidden),
        norm_epsilon_(build.model.norm_epsilon),
        state_(FixedPlaceOf(build.layout, build.layer, "ssm")) {
    if (spec.conv_kernel > 1) tail_ = FixedPlaceOf(build.layout, build.layer, "conv");
  }

  Status Load(const PartLoader& loader);
  void Run(const Pass& pass, const float* normed, std::span<const int64_t> rows,
           float* out) override;

 private:
  int64_t head_width() const { return spec_.inner / spec_.heads; }
  void Project(const Pass& pass, const float* normed, float* gate, float* mixed, float* steps);
  void MakeSteps(const Pass& pass, float* steps, float* decays) const;
  void MoveHead(const BatchSpan& span, int64_t first, int64_t head, float* scratch) const;
  void Gate(float* made, const float* gate) const;

  // Of all tokens of the pass.
  struct Made {
    const float* mixed = nullptr;   // [tokens][x | B | C]
    const float* steps = nullptr;   // [tokens][heads]
    const float* decays = nullptr;  // [tokens][heads]
    float* out = nullptr;           // [tokens][inner]
  };

  const MambaSpec& spec_;
  const int64_t hidden_;
  const double norm_epsilon_;
  FixedPlace tail_;
  FixedPlace state_;
  Linear gate_;   // [inner, hidden]
  Linear mixed_;  // [inner + 2 groups * state, hidden]
  Linear step_;   // [heads, hidden]
  CausalConv conv_;
  std::vector<float> step_bias_;  // [heads]
  std::vector<float> rates_;      // A: [heads]
  std::vector<float> skip_;       // D: [heads]
  std::vector<float> norm_;       // [inner]; empty: none
  Linear output_;                 // [hidden, inner]
  Made made_;
};

Status Mamba2Mixer::Load(const PartLoader& loader) {
  const int64_t inner = spec_.inner;
  const int64_t channels = spec_.ConvChannels();
  RowChoice rows = {.total = inner + channels + spec_.heads, .count = inner};
  const auto part = [&](int64_t count) {
    rows.count = count;
    Result<Linear> linear = loader.Rows("mamba.in_proj", rows, hidden_, spec_.input_bias);
    rows.first += count;
    return linear;
  };
  CAIRN_ASSIGN(gate_, part(inner));
  CAIRN_ASSIGN(mixed_, part(channels));
  CAIRN_ASSIGN(step_, part(spec_.heads));
  CAIRN_ASSIGN(conv_, CausalConv::Load(loader, "mamba.conv1d",
                                       {.channels = channels,
                                        .kernel = spec_.conv_kernel,
                                        .bias = spec_.conv_bias,
                                        .silu = true}));
  CAIRN_ASSIGN(step_bias_, loader.Raw("mamba.dt_bias", spec_.heads));
  CAIRN_ASSIGN(rates_, LoadDecayRates(loader, std::span(&spec_.heads, 1)));
  CAIRN_ASSIGN(skip_, loader.Raw("mamba.D", spec_.heads));
  if (spec_.gated_norm) {
    // GGUF files hold a row for each group.
    const std::array<int64_t, 2> grouped = {spec_.groups, inner / spec_.groups};
    const std::array<int64_t, 1> whole = {inner};
    const bool gguf = loader.names().is_gguf();
    CAIRN_ASSIGN(norm_,
                 loader.Raw("mamba.norm.weight", gguf ? std::span<const int64_t>(grouped) : whole));
  }
  CAIRN_ASSIGN(output_, loader.Matrix("mamba.out_proj", hidden_, inner, spec_.output_bias));
  return {};
}

void Mamba2Mixer::Project(const Pass& pass, const float* normed, float* gate, float* mixed,
                          float* steps) {
  const float* input = normed;
  if (spec_.input_factor != 1) {
    float* scaled = pass.work->Floats(kInput, pass.tokens * hidden_);
    std::copy_n(normed, pass.tokens * hidden_, scaled);
    Scale(scaled, static_cast<float>(spec_.input_factor), pass.tokens * hidden_);
    input = scaled;
  }
  Activations& activations = pass.work->activations(0);
  activations.Set(input, pass.tokens, hidden_, hidden_);
  const std::array tasks = {gate_.Into(gate), mixed_.Into(mixed, kFinePrecision),
                            step_.Into(steps, kFinePrecision)};
  MatMul(activations, tasks, *pass.pool);
  if (std::ranges::all_of(spec_.part_factors, [](double factor) { return factor == 1; })) return;
  const auto factor = [&](size_t part) { return static_cast<float>(spec_.part_factors[part]); };
  const int64_t keys = spec_.groups * spec_.state;
  ForTokens(*pass.pool, pass.tokens, [&](int64_t t) {
    float* x = mixed + t * spec_.ConvChannels();
    Scale(gate + t * spec_.inner, factor(0), spec_.inner);
    Scale(x, factor(1), spec_.inner);
    Scale(x + spec_.inner, factor(2), keys);
    Scale(x + spec_.inner + keys, factor(3), keys);
    Scale(steps + t * spec_.heads, factor(4), spec_.heads);
  });
}

void Mamba2Mixer::MakeSteps(const Pass& pass, float* steps, float* decays) const {
  StepLimits limits = {.low = static_cast<float>(spec_.step_low)};
  limits.high = static_cast<float>(std::min<double>(spec_.step_high, limits.high));
  ForTokens(*pass.pool, pass.tokens, [&](int64_t t) {
    float* step = steps + t * spec_.heads;
    StepWidths(step, step_bias_.data(), limits, spec_.heads, step);
    DecayFactors(step, rates_.data(), spec_.heads, decays + t * spec_.heads);
  });
}

// One head through the tokens of a span, the first of which is `first` of the batch.
void Mamba2Mixer::MoveHead(const BatchSpan& span, int64_t first, int64_t head,
                           float* scratch) const {
  const int64_t width = head_width();
  const int64_t channels = spec_.ConvChannels();
  const int64_t matrix = spec_.state * width;
  const int64_t keys =
      spec_.inner + head / (spec_.heads / spec_.groups) * spec_.state;  // where its group's B is
  const auto move = [&](float* state, int64_t from, int64_t count) {
    const int64_t token = first + from;
    const float* mixed = made_.mixed + token * channels;
    LinearAttentionHead task;
    task.key_width = spec_.state;
    task.value_width = width;
    task.state = state;
    task.keys = {mixed + keys, channels};
    task.queries = {mixed + keys + spec_.groups * spec_.state, channels};
    task.values = {mixed + head * width, channels};
    task.decays = {made_.decays + token * spec_.heads + head, spec_.heads};
    task.value_scales = {made_.steps + token * spec_.heads + head, spec_.heads};
    task.skip = skip_[static_cast<size_t>(head)];
    task.out = {made_.out + token * spec_.inner + head * width, spec_.inner};
    LinearAttention(task, count);
  };
  MoveState(state_.Part(head * matrix, matrix), span.state, scratch + head * matrix,
            static_cast<int64_t>(span.tokens.size()), move);
}

void Mamba2Mixer::Gate(float* made, const float* gate) const {
  if (!spec_.gated_norm) return TimesSilu(made, gate, spec_.inner);
  const int64_t width = spec_.inner / spec_.groups;
  GatedRmsNorm({.groups = spec_.groups,
                .width = width,
                .epsilon = norm_epsilon_,
                .weight = norm_.data(),
                .weight_stride = width,
                .activation = GateActivation::kSilu,
                .order = spec_.gates_after_norm ? GateOrder::kAfterNorm : GateOrder::kBeforeNorm},
               gate, made);
}

void Mamba2Mixer::Run(const Pass& pass, const float* normed, std::span<const int64_t> rows,
                      float* out) {
  Workspace& work = *pass.work;
  const int64_t inner = spec_.inner;
  const int64_t channels = spec_.ConvChannels();
  float* gate = work.Floats(kGate, pass.tokens * inner);
  float* mixed = work.Floats(kMixed, pass.tokens * channels);
  float* steps = work.Floats(kStep, pass.tokens * spec_.heads);
  float* decays = work.Floats(kDecay, pass.tokens * spec_.heads);
  float* scratch = work.Floats(kScratch, conv_.ScratchFloats(pass.tokens));
  float* state = work.Floats(kState, state_.elements);
  float* made = work.Floats(kMade, pass.tokens * inner);
  Project(pass, normed, gate, mixed, steps);
  ForSpans(pass, [&](const BatchSpan& span, int64_t first) {
    float* x = mixed + first * channels;
    conv_.Run(pass, span, tail_, x, scratch, x);
  });
  MakeSteps(pass, steps, decays);
  made_ = {mixed, steps, decays, made};
  ForSpans(pass, [&](const BatchSpan& span, int64_t first) {
    auto move = [&](int64_t head, int) { MoveHead(span, first, head, state); };
    pass.pool->ParallelFor(spec_.heads, move);
  });
  if (rows.empty()) return;
  const auto count = static_cast<int64_t>(rows.size());
  KeepRows(made, inner, rows);
  KeepRows(gate, inner, rows);
  ForTokens(*pass.pool, count, [&](int64_t t) { Gate(made + t * inner, gate + t * inner); });
  Activations& activations = work.activations(0);
  activations.Set(made, count, inner, inner);
  const MatMulTask task = output_.Into(out);
  MatMul(activations, {&task, 1}, *pass.pool);
}

}  // namespace

MixerOr MakeMamba2(const LayerBuild& build, const MambaSpec& spec) {
  auto mixer = std::make_unique<Mamba2Mixer>(build, spec);
  CAIRN_TRY(mixer->Load(build.loader));
  return mixer;
}

MixerOr MakeMamba(const LayerBuild& build, const MambaSpec& spec) {
  return spec.version == 1 ? MakeMamba1(build, spec) : MakeMamba2(build, spec);
}

}  // namespace cairn
