// One draw from the logits of a large vocabulary. Its bound is one read of them; `share` is what
// of the speed of a plain sum over the same floats is reached (1 would be the bound), both in
// processor time.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <ctime>
#include <random>
#include <vector>

#include "cairn/engine/sampler.h"

namespace cairn {
namespace {

std::vector<float> Logits(int64_t vocabulary) {
  std::mt19937 random(1);
  std::normal_distribution<float> normal(0, 3);
  std::vector<float> logits(static_cast<size_t>(vocabulary));
  for (float& logit : logits) logit = normal(random);
  return logits;
}

double ProcessorMicroseconds() { return 1e6 * static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

// The fastest of some reads of all logits.
double ReadMicroseconds(const std::vector<float>& logits) {
  constexpr int kReads = 64;
  constexpr size_t kLanes = 32;
  double best_us = 1e9;
  for (int pass = 0; pass < 8; ++pass) {
    const double start_us = ProcessorMicroseconds();
    for (int read = 0; read < kReads; ++read) {
      float sums[kLanes] = {};
      for (size_t i = 0; i + kLanes <= logits.size(); i += kLanes) {
        for (size_t lane = 0; lane < kLanes; ++lane) sums[lane] += logits[i + lane];
      }
      benchmark::DoNotOptimize(sums);
      benchmark::ClobberMemory();
    }
    const double passed_us = ProcessorMicroseconds() - start_us;
    best_us = std::min(best_us, passed_us / kReads);
  }
  return best_us;
}

void Draw(benchmark::State& state, const SamplingOptions& options) {
  const std::vector<float> logits = Logits(state.range(0));
  std::vector<TokenId> history;
  for (int32_t i = 0; i < 512; ++i) history.emplace_back(i * 37);
  const double bound_us = ReadMicroseconds(logits);
  Sampler sampler(options);
  const double start_us = ProcessorMicroseconds();
  for (auto _ : state) benchmark::DoNotOptimize(sampler.Sample(logits, history));
  const double passed_us = ProcessorMicroseconds() - start_us;
  state.counters["bound_us"] = bound_us;
  state.counters["share"] = bound_us * static_cast<double>(state.iterations()) / passed_us;
  state.SetBytesProcessed(state.iterations() * state.range(0) * int64_t{sizeof(float)});
}

void Register(const char* name, const SamplingOptions& options) {
  for (const int64_t vocabulary : {49152, 262144}) {
    benchmark::RegisterBenchmark(name, Draw, options)
        ->Arg(vocabulary)
        ->Unit(benchmark::kMicrosecond);
  }
}

}  // namespace
}  // namespace cairn

int main(int argc, char** argv) {
  cairn::Register("greedy", {.temperature = 0});
  cairn::Register("greedy, penalty", {.temperature = 0, .repetition_penalty = 1.1});
  cairn::Register("top-k 40", {});
  cairn::Register("top-k 40, penalty", {.repetition_penalty = 1.1});
  cairn::Register("top-k 0", {.top_k = 0});
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
