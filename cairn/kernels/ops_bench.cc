// The small operations between matrix products, one thread, at the widths of two small models.
//
// Counters: GB/s of floats taken in, and the share reached of the bound: those floats read at the
// bandwidth of the first-level cache, or of the whole vector's cache where it is larger. What
// computes an exponential or a tangent for each number stays far below it.
#include "cairn/kernels/ops.h"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <vector>

#include "cairn/kernels/attention_tile.h"
#include "cairn/kernels/limits_for_tests.h"

namespace cairn {
namespace {

using benchmark::Counter;

// A first-level cache holds so much.
constexpr int64_t kCachedBytes = int64_t{16} << 10;

void Report(benchmark::State& state, int64_t floats) {
  const int64_t bytes = floats * static_cast<int64_t>(sizeof(float));
  state.counters["GB/s"] =
      Counter(static_cast<double>(bytes) * 1e-9, Counter::kIsIterationInvariantRate);
  state.counters["share"] =
      Counter(OneThreadLimits::Get().Bound({}, bytes, std::max(bytes, kCachedBytes)),
              Counter::kIsIterationInvariantRate);
}

void BM_RmsNorm(benchmark::State& state) {
  const int64_t width = state.range(0);
  const std::vector<float> x(static_cast<size_t>(width), 0.5f);
  const std::vector<float> weight(x.size(), 1.5f);
  std::vector<float> out(x.size());
  for (auto _ : state) {
    RmsNorm(x.data(), weight.data(), 1e-5, width, out.data());
    benchmark::ClobberMemory();
  }
  Report(state, 3 * width);  // x twice, and the weight
}
BENCHMARK(BM_RmsNorm)->MinTime(0.05)->Arg(576)->Arg(640)->Arg(4096);

void BM_Rotate(benchmark::State& state) {
  const int64_t heads = state.range(0);
  const int64_t width = state.range(1);
  std::vector<float> x(static_cast<size_t>(heads * width), 0.5f);
  const std::vector<float> cosines(static_cast<size_t>(width / 2), 0.8f);
  const std::vector<float> sines(cosines.size(), 0.6f);
  for (auto _ : state) {
    RotateHalfSplit(x.data(), cosines.data(), sines.data(), width / 2, heads, width);
    benchmark::ClobberMemory();
  }
  Report(state, 2 * heads * width);
}
BENCHMARK(BM_Rotate)->MinTime(0.05)->Args({9, 64})->Args({4, 256});

void Gate(benchmark::State& state, void (*times)(float*, const float*, int64_t)) {
  const int64_t width = state.range(0);
  std::vector<float> gate(static_cast<size_t>(width));
  const std::vector<float> up(gate.size(), 1.0f);
  for (auto _ : state) {
    std::ranges::fill(gate, 0.5f);
    times(gate.data(), up.data(), width);
    benchmark::ClobberMemory();
  }
  Report(state, 2 * width);
}
void BM_SiluTimes(benchmark::State& state) { Gate(state, SiluTimes); }
void BM_GeluTanhTimes(benchmark::State& state) { Gate(state, GeluTanhTimes); }
void BM_AddTo(benchmark::State& state) { Gate(state, AddTo); }
BENCHMARK(BM_SiluTimes)->MinTime(0.05)->Arg(1536);
BENCHMARK(BM_GeluTanhTimes)->MinTime(0.05)->Arg(2048);
BENCHMARK(BM_AddTo)->MinTime(0.05)->Arg(576)->Arg(640);

void BM_TileSoftmax(benchmark::State& state) {
  std::vector<float> scores(kTileKeys);
  for (auto _ : state) {
    std::ranges::fill(scores, 0.5f);
    RowSoftmax softmax = {.largest = kNoScore, .sum = 0, .correction = 1};
    TileSoftmax(scores.data(), 0, kTileKeys, 0, state.range(0) != 0, softmax);
    benchmark::DoNotOptimize(softmax);
  }
  Report(state, 2 * kTileKeys);
}
BENCHMARK(BM_TileSoftmax)->MinTime(0.05)->ArgName("bf16")->Arg(0)->Arg(1);

void BM_LogSumExp(benchmark::State& state) {
  const std::vector<float> x(static_cast<size_t>(state.range(0)), 0.5f);
  for (auto _ : state) benchmark::DoNotOptimize(LogSumExp(x.data(), state.range(0)));
  Report(state, state.range(0));
}
BENCHMARK(BM_LogSumExp)->MinTime(0.05)->Arg(49152)->Arg(262144);

}  // namespace
}  // namespace cairn

BENCHMARK_MAIN();
