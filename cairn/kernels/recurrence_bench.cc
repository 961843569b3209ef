// One layer's recurrences in the shapes of released models, one thread.
//
// Counters: Gop/s (a multiply and an add are two), and GB/s of state read and written once a call,
// the bound of a decode step. The argument is the tokens of a call. States of one benchmark cycle
// through copies worth 64 MB, so that a single token reads them from memory, as a model does.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "cairn/kernels/causal_conv.h"
#include "cairn/kernels/channel_recurrence.h"
#include "cairn/kernels/delta_rule.h"
#include "cairn/kernels/linear_attention.h"
#include "cairn/kernels/selective_scan.h"

namespace cairn {
namespace {

constexpr int64_t kWorkingSetBytes = int64_t{64} << 20;

using benchmark::Counter;
using Floats = std::vector<float>;

// States and rates of one layer; `operations` of a token, `state` floats that a call reads and
// writes.
struct Layer {
  int64_t state;
  int64_t operations;

  template <class Step>
  void Run(benchmark::State& bench, const Step& step) const {
    const int64_t tokens = bench.range(0);
    const int64_t copies = kWorkingSetBytes / (state * 4) + 1;
    Floats states(static_cast<size_t>(copies * state), 0.5f);
    int64_t next = 0;
    for (auto _ : bench) {
      step(states.data() + next * state, tokens);
      benchmark::ClobberMemory();
      next = (next + 1) % copies;
    }
    bench.counters["Gop/s"] = Counter(static_cast<double>(operations * tokens) * 1e-9,
                                      Counter::kIsIterationInvariantRate);
    bench.counters["GB/s"] =
        Counter(static_cast<double>(8 * state) * 1e-9, Counter::kIsIterationInvariantRate);
  }
};

// Rows of all tokens and heads hold the same small number: what is multiplied changes no speed.
struct Rows {
  explicit Rows(int64_t width) : values(static_cast<size_t>(width), 0.01f) {}
  TokenRows Of(int64_t first) const { return {values.data() + first, 0}; }
  Floats values;
};

constexpr int64_t kHeads = 32;

// Qwen3-Next's and Kimi Linear's layers: 32 heads of 128 x 128.
void BM_DeltaRule(benchmark::State& bench, DecayWidth decay_width) {
  constexpr int64_t kWidth = 128;
  const Rows rows(kHeads * kWidth);
  Floats out(kHeads * kWidth);
  const Layer layer = {kHeads * kWidth * kWidth, kHeads * kWidth * kWidth * 7};
  layer.Run(bench, [&](float* state, int64_t tokens) {
    for (int64_t h = 0; h < kHeads; ++h) {
      const DeltaRuleHead head = {.key_width = kWidth,
                                  .value_width = kWidth,
                                  .state = state + h * kWidth * kWidth,
                                  .queries = rows.Of(h * kWidth),
                                  .keys = rows.Of(h * kWidth),
                                  .values = rows.Of(h * kWidth),
                                  .betas = rows.Of(h),
                                  .decay_width = decay_width,
                                  .decays = rows.Of(h * kWidth),
                                  .out = {out.data() + h * kWidth, 0}};
      DeltaRule(head, tokens);
    }
  });
}

// Lightning attention of 32 heads of 128 x 128; Mamba 2 of 128 heads of 64 channels, state 128.
void BM_LinearAttention(benchmark::State& bench, int64_t heads, int64_t key_width,
                        int64_t value_width) {
  const Rows rows(heads * std::max(key_width, value_width));
  Floats out(static_cast<size_t>(heads * value_width));
  const int64_t size = key_width * value_width;
  const Layer layer = {heads * size, heads * size * 5};
  layer.Run(bench, [&](float* state, int64_t tokens) {
    for (int64_t h = 0; h < heads; ++h) {
      const LinearAttentionHead head = {.key_width = key_width,
                                        .value_width = value_width,
                                        .state = state + h * size,
                                        .queries = rows.Of(h * key_width),
                                        .keys = rows.Of(h * key_width),
                                        .values = rows.Of(h * value_width),
                                        .decays = rows.Of(h),
                                        .value_scales = rows.Of(h),
                                        .out = {out.data() + h * value_width, 0}};
      LinearAttention(head, tokens);
    }
  });
}

// Jamba's: 8192 channels of 16.
void BM_SelectiveScan(benchmark::State& bench) {
  constexpr int64_t kChannels = 8192;
  constexpr int64_t kStateWidth = 16;
  const Floats rates(kChannels * kStateWidth, -0.5f);
  const Rows rows(kChannels);
  Floats out(kChannels);
  const Layer layer = {kChannels * kStateWidth, kChannels * kStateWidth * 6};
  layer.Run(bench, [&](float* state, int64_t tokens) {
    const SelectiveScanTask task = {.channels = kChannels,
                                    .state_width = kStateWidth,
                                    .channel_stride = kChannels,
                                    .state = state,
                                    .rates = rates.data(),
                                    .skip = rows.values.data(),
                                    .inputs = rows.Of(0),
                                    .steps = rows.Of(0),
                                    .input_keys = rows.Of(0),
                                    .output_keys = rows.Of(0),
                                    .out = {out.data(), 0}};
    SelectiveScan(task, tokens);
  });
}

// Qwen3-Next's: 8192 channels, four taps.
void BM_CausalConv(benchmark::State& bench) {
  constexpr int64_t kChannels = 8192;
  const Floats weights(4 * kChannels, 0.5f);
  const Rows rows(kChannels);
  Floats out(kChannels);
  const Layer layer = {3 * kChannels, kChannels * 8};
  layer.Run(bench, [&](float* state, int64_t tokens) {
    const CausalConvTask task = {.channels = kChannels,
                                 .kernel = 4,
                                 .channel_stride = kChannels,
                                 .weights = weights.data(),
                                 .activation = ConvActivation::kSilu,
                                 .tail = state,
                                 .inputs = rows.Of(0),
                                 .out = {out.data(), 0}};
    CausalConv(task, tokens);
  });
}

void BM_RgLru(benchmark::State& bench) {
  constexpr int64_t kChannels = 2560;
  const Floats rates(kChannels, -0.5f);
  const Rows rows(kChannels);
  Floats out(kChannels);
  const Layer layer = {kChannels, kChannels * 4};
  layer.Run(bench, [&](float* state, int64_t tokens) {
    const RgLruTask task = {.channels = kChannels,
                            .state = state,
                            .rates = rates.data(),
                            .inputs = rows.Of(0),
                            .input_gates = rows.Of(0),
                            .recurrence_gates = rows.Of(0),
                            .out = {out.data(), 0}};
    RgLru(task, tokens);
  });
}

BENCHMARK_CAPTURE(BM_DeltaRule, head_decay, DecayWidth::kHead)->Arg(1)->Arg(16)->Arg(256);
BENCHMARK_CAPTURE(BM_DeltaRule, channel_decay, DecayWidth::kChannel)->Arg(1)->Arg(16)->Arg(256);
BENCHMARK_CAPTURE(BM_LinearAttention, lightning, 32, 128, 128)->Arg(1)->Arg(16)->Arg(256);
BENCHMARK_CAPTURE(BM_LinearAttention, mamba2, 128, 128, 64)->Arg(1)->Arg(16)->Arg(256);
BENCHMARK(BM_SelectiveScan)->Arg(1)->Arg(16)->Arg(256);
BENCHMARK(BM_CausalConv)->Arg(1)->Arg(16)->Arg(256);
BENCHMARK(BM_RgLru)->Arg(1)->Arg(16)->Arg(256);

}  // namespace
}  // namespace cairn

BENCHMARK_MAIN();
