// Storing rows of state per codec, one thread: one token's keys (transposed) and values.
//
// Counters: GB/s of floats taken in, and the share reached of the bound: the floats read at the
// bandwidth of the first-level cache. Arguments: KV heads, width.
#include "cairn/kernels/state_rows.h"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <random>
#include <vector>

#include "cairn/kernels/limits_for_tests.h"

namespace cairn {
namespace {

using benchmark::Counter;
using Store = void (*)(DType, const float*, int64_t, int64_t, int64_t, std::byte*);

// A first-level cache holds so much.
constexpr int64_t kCachedBytes = int64_t{16} << 10;

void Run(benchmark::State& state, Store store, DType codec) {
  const int64_t heads = state.range(0);
  const int64_t width = state.range(1);
  std::mt19937 random(1);
  std::normal_distribution<float> normal(0, 1);
  std::vector<float> row(static_cast<size_t>(heads * width));
  std::ranges::generate(row, [&] { return normal(random); });
  std::vector<std::byte> tiles(static_cast<size_t>(heads * StateTileBytes(codec, width)));
  int64_t at = 0;
  for (auto _ : state) {
    store(codec, row.data(), heads, width, at, tiles.data());
    at = (at + 1) % kTileRows;
    benchmark::ClobberMemory();
  }
  const auto bytes = heads * width * static_cast<int64_t>(sizeof(float));
  state.counters["GB/s"] =
      Counter(static_cast<double>(bytes) * 1e-9, Counter::kIsIterationInvariantRate);
  state.counters["share"] = Counter(OneThreadLimits::Get().Bound({}, bytes, kCachedBytes),
                                    Counter::kIsIterationInvariantRate);
}

void BM_Values(benchmark::State& state, DType codec) { Run(state, StoreRow, codec); }
void BM_Keys(benchmark::State& state, DType codec) { Run(state, StoreRowTransposed, codec); }

void Shapes(benchmark::internal::Benchmark* b) {
  b->ArgNames({"heads", "width"})->MinTime(0.05)->Args({3, 64})->Args({1, 256});
}

BENCHMARK_CAPTURE(BM_Keys, f32, DType::kF32)->Apply(Shapes);
BENCHMARK_CAPTURE(BM_Keys, f16, DType::kF16)->Apply(Shapes);
BENCHMARK_CAPTURE(BM_Keys, bf16, DType::kBF16)->Apply(Shapes);
BENCHMARK_CAPTURE(BM_Keys, q8_0, DType::kQ8_0)->Apply(Shapes);
BENCHMARK_CAPTURE(BM_Keys, q4_0, DType::kQ4_0)->Apply(Shapes);
BENCHMARK_CAPTURE(BM_Keys, lm4, DType::kLM4)->Apply(Shapes);
BENCHMARK_CAPTURE(BM_Keys, lm5, DType::kLM5)->Apply(Shapes);
BENCHMARK_CAPTURE(BM_Values, f32, DType::kF32)->Apply(Shapes);
BENCHMARK_CAPTURE(BM_Values, f16, DType::kF16)->Apply(Shapes);
BENCHMARK_CAPTURE(BM_Values, bf16, DType::kBF16)->Apply(Shapes);
BENCHMARK_CAPTURE(BM_Values, q8_0, DType::kQ8_0)->Apply(Shapes);
BENCHMARK_CAPTURE(BM_Values, q4_0, DType::kQ4_0)->Apply(Shapes);
BENCHMARK_CAPTURE(BM_Values, lm4, DType::kLM4)->Apply(Shapes);
BENCHMARK_CAPTURE(BM_Values, lm5, DType::kLM5)->Apply(Shapes);

}  // namespace
}  // namespace cairn

BENCHMARK_MAIN();
