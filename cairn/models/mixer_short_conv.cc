// LFM2's gated convolution: C * conv(B * x), of three vectors [B | C | x] from one projection.
//
// The convolution's tail is all that it keeps. Thread safety: one call at a time.
#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "cairn/kernels/matmul.h"
#include "cairn/models/causal_conv.h"
#include "cairn/models/parts.h"
#include "cairn/models/token_loop.h"

namespace cairn {
namespace {

enum Slot { kInput, kOutputGate, kValue, kScratch };

void Multiply(float* x, const float* y, int64_t width) {
  for (int64_t i = 0; i < width; ++i) x[i] *= y[i];
}

class ShortConvMixer final : public Mixer {
 public:
  ShortConvMixer(const LayerBuild& build, const ShortConvSpec& spec)
      : spec_(spec), hidden_(build.model.hidden) {
    if (spec.kernel > 1) tail_ = FixedPlaceOf(build.layout, build.layer, "conv");
  }

  Status Load(const PartLoader& loader) {
    const int64_t channels = spec_.channels;
    RowChoice rows = {.total = 3 * channels, .count = channels};
    for (Linear* linear : {&input_gate_, &output_gate_, &value_}) {
      CAIRN_ASSIGN(*linear, loader.Rows("conv.in_proj", rows, hidden_, spec_.bias));
      rows.first += channels;
    }
    CAIRN_ASSIGN(conv_, CausalConv::Load(
                            loader, "conv.conv",
                            {.channels = channels, .kernel = spec_.kernel, .bias = spec_.bias}));
    CAIRN_ASSIGN(output_, loader.Matrix("conv.out_proj", hidden_, channels, spec_.bias));
    return {};
  }

  void Run(const Pass& pass, const float* normed, std::span<const int64_t> rows,
           float* out) override {
    Workspace& work = *pass.work;
    const int64_t channels = spec_.channels;
    const auto count = static_cast<int64_t>(rows.size());
    float* input = work.Floats(kInput, pass.tokens * channels);
    float* gate = work.Floats(kOutputGate, pass.tokens * channels);
    float* value = work.Floats(kValue, pass.tokens * channels);
    float* scratch = work.Floats(kScratch, conv_.ScratchFloats(pass.tokens));
    Activations& activations = work.activations(0);
    activations.Set(normed, pass.tokens, hidden_, hidden_);
    const std::array tasks = {input_gate_.Into(input, kFinePrecision),
                              output_gate_.Into(gate, kFinePrecision),
                              value_.Into(value, kFinePrecision)};
    MatMul(activations, tasks, *pass.pool);
    ForTokens(*pass.pool, pass.tokens,
              [&](int64_t t) { Multiply(value + t * channels, input + t * channels, channels); });
    ForSpans(pass, [&](const BatchSpan& span, int64_t first) {
      float* x = value + first * channels;
      conv_.Run(pass, span, tail_, x, scratch, x);
    });
    ForTokens(*pass.pool, pass.tokens,
              [&](int64_t t) { Multiply(value + t * channels, gate + t * channels, channels); });
    if (rows.empty()) return;
    KeepRows(value, channels, rows);
    activations.Set(value, count, channels, channels);
    const MatMulTask task = output_.Into(out);
    MatMul(activations, {&task, 1}, *pass.pool);
  }

 private:
  const ShortConvSpec& spec_;
  const int64_t hidden_;
  FixedPlace tail_;
  Linear input_gate_;   // B: [channels, hidden]
  Linear output_gate_;  // C
  Linear value_;        // x
  CausalConv conv_;
  Linear output_;  // [hidden, channels]
};

}  // namespace

MixerOr MakeShortConv(const LayerBuild& build, const ShortConvSpec& spec) {
  auto mixer = std::make_unique<ShortConvMixer>(build, spec);
  CAIRN_TRY(mixer->Load(build.loader));
  return mixer;
}

}  // namespace cairn
