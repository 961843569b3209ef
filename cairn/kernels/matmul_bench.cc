// Matrix products of the shapes of two small models, one thread.
//
// Counters: Gop/s (a multiply and an add are two), GB/s of packed weights, and the share reached of
// the bound: operations at the machine's peak or weights at its bandwidth, whichever takes longer
// (16-bit products count as the two of 8 bits that they take). Weights of one benchmark cycle
// through copies worth 64 MB, so that few tokens read them from memory, as a model does. Arguments:
// output rows, columns, tokens.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <vector>

#include "cairn/kernels/dequantize.h"
#include "cairn/kernels/limits_for_tests.h"
#include "cairn/kernels/matmul.h"
#include "cairn/kernels/matmul_test_weights.h"
#include "cairn/kernels/pack_arena.h"

namespace cairn {
namespace {

using benchmark::Counter;

void ReportRates(benchmark::State& state, int64_t operations, int64_t bytes) {
  state.counters["Gop/s"] =
      Counter(static_cast<double>(operations) * 1e-9, Counter::kIsIterationInvariantRate);
  state.counters["GB/s"] =
      Counter(static_cast<double>(bytes) * 1e-9, Counter::kIsIterationInvariantRate);
}

void RunProduct(benchmark::State& state, DType dtype, ActivationPrecision precision,
                int64_t working_set_bytes) {
  const int64_t rows = state.range(0);
  const int64_t columns = state.range(1);
  const int64_t tokens = state.range(2);
  ThreadPool pool(1);
  const auto source = RandomWeights(dtype, rows, columns, 1);
  PackArena arena;
  std::vector<PackedMatrix> copies;
  do {
    copies.push_back(PackedMatrix::Pack(dtype, source, rows, columns, pool, &arena));
  } while (copies.back().bytes() * static_cast<int64_t>(copies.size() + 1) < working_set_bytes);
  const auto x = RandomFloats(tokens * columns, 2);
  std::vector<float> y(static_cast<size_t>(tokens * rows));
  Activations activations;
  size_t next = 0;
  const auto call = [&] {
    activations.Set(x.data(), tokens, columns, columns);
    const MatMulTask task = {
        .matrix = &copies[next], .out = y.data(), .stride = rows, .precision = precision};
    MatMul(activations, std::span(&task, 1), pool);
    next = (next + 1) % copies.size();
  };
  WorkLog log;
  pool.set_work_log(&log);
  call();
  pool.set_work_log(nullptr);
  for (auto _ : state) call();
  ReportRates(state, 2 * tokens * rows * columns, copies[0].bytes());
  const WorkDone& done = log[WorkKind::kMatrixProduct];
  const int64_t read_from = copies[0].bytes() * static_cast<int64_t>(copies.size());
  state.counters["share"] =
      Counter(OneThreadLimits::Get().Bound(done.executed, done.weight_bytes, read_from),
              Counter::kIsIterationInvariantRate);
}

void BM_Product(benchmark::State& state, DType dtype) {
  RunProduct(state, dtype, ActivationPrecision::k8, kWorkingSetBytes);
}
void BM_PreciseProduct(benchmark::State& state, DType dtype) {
  RunProduct(state, dtype, ActivationPrecision::k16, kWorkingSetBytes);
}
void BM_CachedProduct(benchmark::State& state, DType dtype) {
  RunProduct(state, dtype, ActivationPrecision::k8, 0);
}

void BM_Quantize(benchmark::State& state) {
  const int64_t columns = state.range(0);
  const int64_t tokens = state.range(1);
  const auto x = RandomFloats(tokens * columns, 2);
  QuantizedRows rows;
  rows.Reset(tokens, columns, static_cast<int>(state.range(2)));
  for (auto _ : state) {
    for (int64_t i = 0; i < rows.tiles().count(); ++i) rows.QuantizeTile(i, x.data(), columns);
  }
  ReportRates(state, tokens * columns, tokens * columns * 4);
}
BENCHMARK(BM_Quantize)
    ->Args({576, 1, 1})
    ->Args({576, 64, 1})
    ->Args({2048, 512, 1})
    ->Args({2048, 512, 2});

void BM_Pack(benchmark::State& state, DType dtype) {
  ThreadPool pool(1);
  const auto source = RandomWeights(dtype, 16384, 1024, 1);
  for (auto _ : state) {
    benchmark::DoNotOptimize(PackedMatrix::Pack(dtype, source, 16384, 1024, pool));
  }
  ReportRates(state, 0, static_cast<int64_t>(source.size()));
}

void BM_Dequantize(benchmark::State& state, DType dtype) {
  const auto source = RandomWeights(dtype, 1, 1024, 1);
  std::vector<float> out(1024);
  for (auto _ : state) {
    DequantizeRow(dtype, source, out.data(), 1024);
    benchmark::ClobberMemory();
  }
  ReportRates(state, 1024, static_cast<int64_t>(source.size()));
}

void AllTokens(benchmark::internal::Benchmark* b, int64_t rows, int64_t columns) {
  for (const int64_t tokens : {1, 8, 64, 512}) b->Args({rows, columns, tokens});
}
void SmolShapes(benchmark::internal::Benchmark* b) {
  AllTokens(b, 576, 576);
  AllTokens(b, 1536, 576);
  AllTokens(b, 576, 1536);
}
void SmolOutput(benchmark::internal::Benchmark* b) { AllTokens(b, 49152, 576); }
void GemmaInputs(benchmark::internal::Benchmark* b) { AllTokens(b, 2048, 640); }
void GemmaDown(benchmark::internal::Benchmark* b) { AllTokens(b, 640, 2048); }
void GemmaOutput(benchmark::internal::Benchmark* b) {
  b->Args({262144, 640, 1})->Args({262144, 640, 8});
}

BENCHMARK_CAPTURE(BM_Product, q4_1, DType::kQ4_1)->Apply(SmolShapes);
BENCHMARK_CAPTURE(BM_Product, q8_0, DType::kQ8_0)->Apply(SmolOutput)->Apply(GemmaOutput);
BENCHMARK_CAPTURE(BM_Product, q5_0, DType::kQ5_0)->Apply(GemmaInputs);
BENCHMARK_CAPTURE(BM_Product, q4_k, DType::kQ4_K)->Apply(GemmaDown);
BENCHMARK_CAPTURE(BM_Product, q6_k, DType::kQ6_K)->Apply(GemmaDown);
BENCHMARK_CAPTURE(BM_Product, f32, DType::kF32)->Apply(GemmaInputs);
BENCHMARK_CAPTURE(BM_Product, f16, DType::kF16)->Apply(GemmaInputs);
BENCHMARK_CAPTURE(BM_Product, bf16, DType::kBF16)->Apply(GemmaInputs);
BENCHMARK_CAPTURE(BM_PreciseProduct, q4_1, DType::kQ4_1)->Apply(SmolShapes);
BENCHMARK_CAPTURE(BM_PreciseProduct, q8_0, DType::kQ8_0)->Apply(SmolOutput);
BENCHMARK_CAPTURE(BM_CachedProduct, q4_1, DType::kQ4_1)->Apply(SmolShapes);
BENCHMARK_CAPTURE(BM_CachedProduct, q8_0, DType::kQ8_0)->Apply(GemmaInputs);
BENCHMARK_CAPTURE(BM_CachedProduct, q5_0, DType::kQ5_0)->Apply(GemmaInputs);
BENCHMARK_CAPTURE(BM_CachedProduct, q6_k, DType::kQ6_K)->Apply(GemmaDown);

BENCHMARK_CAPTURE(BM_Pack, q8_0, DType::kQ8_0);
BENCHMARK_CAPTURE(BM_Pack, q4_1, DType::kQ4_1);
BENCHMARK_CAPTURE(BM_Pack, q5_0, DType::kQ5_0);
BENCHMARK_CAPTURE(BM_Pack, q4_k, DType::kQ4_K);
BENCHMARK_CAPTURE(BM_Pack, q6_k, DType::kQ6_K);
BENCHMARK_CAPTURE(BM_Pack, q3_k, DType::kQ3_K);
BENCHMARK_CAPTURE(BM_Pack, f16, DType::kF16);
BENCHMARK_CAPTURE(BM_Dequantize, q8_0, DType::kQ8_0);
BENCHMARK_CAPTURE(BM_Dequantize, q4_1, DType::kQ4_1);
BENCHMARK_CAPTURE(BM_Dequantize, q6_k, DType::kQ6_K);

}  // namespace
}  // namespace cairn

BENCHMARK_MAIN();
