// What a parallel region costs, and what a busy neighbour does to it.
#include "cairn/base/thread_pool.h"

#include <benchmark/benchmark.h>

#include <cstdint>

namespace cairn {
namespace {

// About 1 ns of arithmetic per step that a compiler can't remove.
void Work(int64_t steps) {
  uint64_t x = 1;
  for (int64_t i = 0; i < steps; ++i) {
    x = x * 6364136223846793005 + 1442695040888963407;
    benchmark::DoNotOptimize(x);
  }
}

// Arguments: threads, indices, steps of work in all indices together.
void BM_Region(benchmark::State& state) {
  ThreadPool pool(static_cast<int>(state.range(0)));
  const int64_t indices = state.range(1);
  const int64_t steps = state.range(2) / indices;
  auto body = [&](int64_t, int) { Work(steps); };
  for (auto _ : state) pool.ParallelFor(indices, body);
}
BENCHMARK(BM_Region)
    ->ArgNames({"threads", "indices", "steps"})
    ->UseRealTime()
    ->ArgsProduct({{1, 2, 4}, {2, 16}, {0, 1'000, 10'000, 100'000}});

}  // namespace
}  // namespace cairn

BENCHMARK_MAIN();
