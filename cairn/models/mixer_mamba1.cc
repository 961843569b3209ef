// Mamba 1: a state for each channel, moved by steps, inputs and outputs that the token chooses.
//
// Kept: the convolution's tail, and the state as [state][channels], the transpose of what others
// keep. Thread safety: one call at a time.
#include <algorithm>
#include <array>
#include <memory>
#include <utility>
#include <vector>

#include "cairn/kernels/gates.h"
#include "cairn/kernels/matmul.h"
#include "cairn/kernels/selective_scan.h"
#include "cairn/models/causal_conv.h"
#include "cairn/models/mixer_mamba.h"
#include "cairn/models/parts.h"
#include "cairn/models/token_loop.h"

namespace cairn {
namespace {

enum Slot { kValue, kGate, kScratch, kChosen, kStep, kState };
constexpr int64_t kGroup = 256;  // channels of one thread

class Mamba1Mixer final : public Mixer {
 public:
  Mamba1Mixer(const LayerBuild& build, const MambaSpec& spec)
      : spec_(spec),
        hidden_(build.model.hidden),
        state_(FixedPlaceOf(build.layout, build.layer, "ssm")) {
    if (spec.conv_kernel > 1) tail_ = FixedPlaceOf(build.layout, build.layer, "conv");
  }

  Status Load(const PartLoader& loader);
  void Run(const Pass& pass, const float* normed, std::span<const int64_t> rows,
           float* out) override;

 private:
  int64_t chosen_width() const { return spec_.step_rank + 2 * spec_.state; }
  Status LoadRates(const PartLoader& loader);
  void Project(const Pass& pass, const Linear& linear, const float* x, int64_t stride, float* out,
               int64_t count, ActivationPrecision precision) const;
  void MakeSteps(const Pass& pass, const float* value, float* chosen, float* steps) const;
  void Scan(const Pass& pass, const float* chosen, const float* steps, float* value) const;

  const MambaSpec& spec_;
  const int64_t hidden_;
  FixedPlace tail_;
  FixedPlace state_;
  Linear value_;  // [inner, hidden]
  Linear gate_;   // [inner, hidden]
  CausalConv conv_;
  Linear chosen_;                 // [step rank + 2 state, inner]: step | B | C
  Norm step_norm_;                // empty: none
  Norm input_norm_;               // of B
  Norm output_norm_;              // of C
  Linear step_;                   // [inner, step rank]
  std::vector<float> step_bias_;  // [inner]
  std::vector<float> rates_;      // A: [state][inner]
  std::vector<float> skip_;       // D: [inner]
  Linear output_;                 // [hidden, inner]
};

Status Mamba1Mixer::LoadRates(const PartLoader& loader) {
  const int64_t inner = spec_.inner;
  const std::array<int64_t, 2> shape = {inner, spec_.state};
  CAIRN_ASSIGN(const std::vector<float> rates, LoadDecayRates(loader, shape));
  rates_.resize(rates.size());
  for (int64_t c = 0; c < inner; ++c) {
    for (int64_t n = 0; n < spec_.state; ++n) {
      rates_[static_cast<size_t>(n * inner + c)] = rates[static_cast<size_t>(c * spec_.state + n)];
    }
  }
  return {};
}

Status Mamba1Mixer::Load(const PartLoader& loader) {
  const int64_t inner = spec_.inner;
  RowChoice half = {.total = 2 * inner, .count = inner};
  CAIRN_ASSIGN(value_, loader.Rows("mamba.in_proj", half, hidden_, spec_.input_bias));
  half.first = inner;
  CAIRN_ASSIGN(gate_, loader.Rows("mamba.in_proj", half, hidden_, spec_.input_bias));
  CAIRN_ASSIGN(
      conv_,
      CausalConv::Load(
          loader, "mamba.conv1d",
          {.channels = inner, .kernel = spec_.conv_kernel, .bias = spec_.conv_bias, .silu = true}));
  CAIRN_ASSIGN(chosen_, loader.Matrix("mamba.x_proj", chosen_width(), inner));
  if (spec_.inner_norms) {
    CAIRN_ASSIGN(step_norm_, loader.NormOf("mamba.dt_layernorm", spec_.step_rank));
    CAIRN_ASSIGN(input_norm_, loader.NormOf("mamba.b_layernorm", spec_.state));
    CAIRN_ASSIGN(output_norm_, loader.NormOf("mamba.c_layernorm", spec_.state));
  }
  CAIRN_ASSIGN(step_, loader.Matrix("mamba.dt_proj", inner, spec_.step_rank));
  CAIRN_ASSIGN(step_bias_, loader.Raw("mamba.dt_proj.bias", inner));
  CAIRN_TRY(LoadRates(loader));
  CAIRN_ASSIGN(skip_, loader.Raw("mamba.D", inner));
  CAIRN_ASSIGN(output_, loader.Matrix("mamba.out_proj", hidden_, inner, spec_.output_bias));
  return {};
}

void Mamba1Mixer::Project(const Pass& pass, const Linear& linear, const float* x, int64_t stride,
                          float* out, int64_t count, ActivationPrecision precision) const {
  Activations& activations = pass.work->activations(0);
  activations.Set(x, count, linear.matrix.columns(), stride);
  const MatMulTask task = linear.Into(out, precision);
  MatMul(activations, {&task, 1}, *pass.pool);
}

// Step widths of all channels, B and C.
void Mamba1Mixer::MakeSteps(const Pass& pass, const float* value, float* chosen,
                            float* steps) const {
  const int64_t inner = spec_.inner;
  const int64_t width = chosen_width();
  Project(pass, chosen_, value, inner, chosen, pass.tokens, kFinePrecision);
  if (spec_.inner_norms) {
    ForTokens(*pass.pool, pass.tokens, [&](int64_t t) {
      float* x = chosen + t * width;
      step_norm_.Apply(x, x);
      x += spec_.step_rank;
      input_norm_.Apply(x, x);
      output_norm_.Apply(x + spec_.state, x + spec_.state);
    });
  }
  Project(pass, step_, chosen, width, steps, pass.tokens, kFinePrecision);
  ForTokens(*pass.pool, pass.tokens, [&](int64_t t) {
    float* step = steps + t * inner;
    StepWidths(step, step_bias_.data(), {}, inner, step);
  });
}

// value[t] = what the state gives at token t.
void Mamba1Mixer::Scan(const Pass& pass, const float* chosen, const float* steps,
                       float* value) const {
  const int64_t inner = spec_.inner;
  const int64_t width = chosen_width();
  float* scratch = pass.work->Floats(kState, state_.elements);
  // A state of a narrower type is moved as a whole.
  const int64_t group = state_.dtype == DType::kF32 ? kGroup : inner;
  ForSpans(pass, [&](const BatchSpan& span, int64_t first) {
    auto scan = [&](int64_t index, int) {
      const int64_t channel = index * group;
      const auto move = [&](float* state, int64_t from, int64_t count) {
        const int64_t token = first + from;
        const float* inputs = chosen + token * width + spec_.step_rank;
        SelectiveScanTask task;
        task.channels = std::min(group, inner - channel);
        task.state_width = spec_.state;
        task.channel_stride = inner;
        task.state = state + channel;
        task.rates = rates_.data() + channel;
        task.skip = skip_.data() + channel;
        task.inputs = {value + token * inner + channel, inner};
        task.steps = {steps + token * inner + channel, inner};
        task.input_keys = {inputs, width};
        task.output_keys = {inputs + spec_.state, width};
        task.out = {value + token * inner + channel, inner};
        SelectiveScan(task, count);
      };
      MoveState(state_, span.state, scratch, static_cast<int64_t>(span.tokens.size()), move);
    };
    pass.pool->ParallelFor((inner + group - 1) / group, scan);
  });
}

void Mamba1Mixer::Run(const Pass& pass, const float* normed, std::span<const int64_t> rows,
                      float* out) {
  Workspace& work = *pass.work;
  const int64_t inner = spec_.inner;
  float* value = work.Floats(kValue, pass.tokens * inner);
  float* gate = work.Floats(kGate, pass.tokens * inner);
  float* scratch = work.Floats(kScratch, conv_.ScratchFloats(pass.tokens));
  float* chosen = work.Floats(kChosen, pass.tokens * chosen_width());
  float* steps = work.Floats(kStep, pass.tokens * inner);
  Activations& activations = work.activations(0);
  activations.Set(normed, pass.tokens, hidden_, hidden_);
  const std::array tasks = {value_.Into(value, kFinePrecision), gate_.Into(gate)};
  MatMul(activations, tasks, *pass.pool);
  ForSpans(pass, [&](const BatchSpan& span, int64_t first) {
    float* x = value + first * inner;
    conv_.Run(pass, span, tail_, x, scratch, x);
  });
  MakeSteps(pass, value, chosen, steps);
  Scan(pass, chosen, steps, value);
  if (rows.empty()) return;
  const auto count = static_cast<int64_t>(rows.size());
  KeepRows(value, inner, rows);
  KeepRows(gate, inner, rows);
  ForTokens(*pass.pool, count,
            [&](int64_t t) { TimesSilu(value + t * inner, gate + t * inner, inner); });
  Project(pass, output_, value, inner, out, count, ActivationPrecision::k8);
}

}  // namespace

Result<std::vector<float>> LoadDecayRates(const PartLoader& loader,
                                          std::span<const int64_t> shape) {
  CAIRN_ASSIGN(std::vector<float> rates, loader.Raw("mamba.A_log", shape));
  // GGUF files hold -exp(A_log) itself.
  if (loader.names().is_gguf()) return rates;
  NegativeExp(rates.data(), static_cast<int64_t>(rates.size()), rates.data());
  return rates;
}

MixerOr MakeMamba1(const LayerBuild& build, const MambaSpec& spec) {
  auto mixer = std::make_unique<Mamba1Mixer>(build, spec);
  CAIRN_TRY(mixer->Load(build.loader));
  return mixer;
}

}  // namespace cairn
