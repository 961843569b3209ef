// Latent attention of the shapes of released models, one thread, one token at a time.
//
// Counters: Gop/s (a multiply and an add are two), GB/s of rows, and the share reached of the
// bound: operations at this machine's peak of float32 or bytes at its bandwidth, whichever takes
// longer; both are measured here first. Arguments: rows before the token, rows it picks (0: all).
#include "cairn/kernels/row_attention.h"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <vector>

#include "cairn/kernels/attention_tile.h"
#include "cairn/kernels/machine_peak.h"
#include "cairn/kernels/matmul_test_weights.h"
#include "cairn/kernels/state_rows.h"

namespace cairn {
namespace {

using benchmark::Counter;

// A state of many layers is read from memory, not from a cache.
constexpr int64_t kWorkingSetBytes = int64_t{64} << 20;

// DeepSeek V2 Lite, GLM-4.7-Flash, DeepSeek V3.
RowAttentionShape Latent(int64_t heads, DType codec) {
  return {.heads = heads, .width = 576, .value_width = 512, .scale = 0.07f, .codec = codec};
}

// The fewest seconds that one call of `body` took.
template <class Body>
double FewestSeconds(const Body& body) {
  double fewest = 1e9;
  for (int i = 0; i < 20; ++i) {
    const auto start = std::chrono::steady_clock::now();
    body();
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    fewest = std::min(fewest, taken.count());
  }
  return fewest;
}

struct Limits {
  double operations_per_s;
  double bytes_per_s;
};

const Limits& MeasuredLimits() {
  static const Limits limits = [] {
    constexpr int64_t kPasses = 2000;
    AlignedBuffer operands(2 * kPeakOperandBytes);
    std::fill_n(operands.data(), operands.size(), std::byte{0});
    const auto* a = operands.As<float>();
    const double peak_s = FewestSeconds([&] {
      benchmark::DoNotOptimize(
          F32PeakSum(a, a + kPeakOperandBytes / static_cast<int64_t>(sizeof(float)), kPasses));
    });
    AlignedBuffer stream(static_cast<size_t>(kWorkingSetBytes));
    std::fill_n(stream.data(), stream.size(), std::byte{1});
    const double stream_s = FewestSeconds([&] {
      benchmark::DoNotOptimize(
          StreamSum({stream.As<uint64_t>(), stream.size() / sizeof(uint64_t)}));
    });
    return Limits{static_cast<double>(kPasses * PeakOperations(sizeof(float))) / peak_s,
                  static_cast<double>(kWorkingSetBytes) / stream_s};
  }();
  return limits;
}

void BM_RowAttention(benchmark::State& state, const RowAttentionShape& shape) {
  const int64_t depth = state.range(0);
  const int64_t picked = state.range(1);
  const int64_t tile_bytes = StateTileBytes(shape.codec, shape.width);
  const int64_t blocks = depth / kTileRows + 1;
  const int64_t layers = std::max<int64_t>(1, kWorkingSetBytes / (blocks * tile_bytes));
  AlignedBuffer storage(static_cast<size_t>(blocks * layers * tile_bytes));
  const std::vector<float> row = RandomFloats(shape.width, 1);
  for (int64_t r = 0; r < blocks * layers * kTileRows; ++r) {
    StoreRow(shape.codec, row.data(), 1, shape.width, r % kTileRows,
             storage.data() + r / kTileRows * tile_bytes);
  }
  std::vector<std::byte*> table;
  for (int64_t b = 0; b < blocks; ++b) table.push_back(storage.data() + b * layers * tile_bytes);
  const std::vector<float> queries = RandomFloats(shape.heads * shape.width, 2);
  std::vector<float> out(static_cast<size_t>(shape.heads * shape.value_width));
  std::vector<int32_t> picks;
  for (int64_t i = 0; i < picked; ++i) picks.push_back(static_cast<int32_t>(i * depth / picked));
  const auto count = static_cast<int32_t>(picked);
  ThreadPool pool(1);
  RowAttentionScratch scratch;
  int64_t layer = 0;
  for (auto _ : state) {
    RowAttentionSpan span = {.blocks = table,
                             .offset = layer * tile_bytes,
                             .first_position = depth,
                             .tokens = 1,
                             .queries = queries.data(),
                             .out = out.data()};
    if (picked > 0) {
      span.picks = picks.data();
      span.picks_stride = picked;
      span.pick_counts = &count;
    }
    RowAttention(shape, {&span, 1}, scratch, pool);
    layer = (layer + 1) % layers;
  }
  const auto rows = static_cast<double>(picked > 0 ? picked : depth + 1);
  const double operations =
      2 * rows * static_cast<double>(shape.heads * (shape.width + shape.value_width));
  const double bytes = rows * static_cast<double>(tile_bytes) / kTileRows;
  const Limits& limits = MeasuredLimits();
  const double bound_s = std::max(operations / limits.operations_per_s, bytes / limits.bytes_per_s);
  const auto rate = [](double amount) {
    return Counter(amount, Counter::kIsIterationInvariantRate);
  };
  state.counters["Gop/s"] = rate(operations * 1e-9);
  state.counters["GB/s"] = rate(bytes * 1e-9);
  state.counters["of_bound"] = rate(bound_s);
}

void Depths(benchmark::internal::Benchmark* benchmark) {
  benchmark->Args({64, 0})->Args({4096, 0})->Args({16384, 0})->Args({16384, 2048});
}

BENCHMARK_CAPTURE(BM_RowAttention, heads16_f16, Latent(16, DType::kF16))->Apply(Depths);
BENCHMARK_CAPTURE(BM_RowAttention, heads16_bf16, Latent(16, DType::kBF16))->Apply(Depths);
BENCHMARK_CAPTURE(BM_RowAttention, heads16_f32, Latent(16, DType::kF32))->Apply(Depths);
BENCHMARK_CAPTURE(BM_RowAttention, heads16_q8_0, Latent(16, DType::kQ8_0))->Apply(Depths);
BENCHMARK_CAPTURE(BM_RowAttention, heads20_f16, Latent(20, DType::kF16))->Apply(Depths);
BENCHMARK_CAPTURE(BM_RowAttention, heads128_f16, Latent(128, DType::kF16))->Apply(Depths);

}  // namespace
}  // namespace cairn

BENCHMARK_MAIN();
