// Experts of a mixture on one thread: tokens grouped by expert, each expert's weights read once.
//
// Counters: Gop/s, GB/s of the weights that were read, and the share reached
// of the bound: operations at the machine's peak or those weights at its bandwidth, whichever takes
// longer. Arguments: experts, experts a token, tokens. Input 512, intermediate 1,024, q4_k.
#include <benchmark/benchmark.h>

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "cairn/kernels/limits_for_tests.h"
#include "cairn/kernels/matmul_test_weights.h"
#include "cairn/kernels/pack_arena.h"
#include "cairn/models/experts.h"

namespace cairn {
namespace {

constexpr int64_t kInput = 512;
constexpr int64_t kIntermediate = 1024;
constexpr DType kWeights = DType::kQ4_K;

// Tensors under their usual names, with the bytes they lie in.
class Weights {
 public:
  void Add(const std::string& name, int64_t experts, int64_t rows, int64_t columns) {
    bytes_.push_back(RandomWeights(kWeights, experts * rows, columns, 1));
    TensorInfo& tensor = tensors_.emplace_back();
    tensor.name = "model.layers.0.mlp.experts." + name + ".weight";
    tensor.dtype = kWeights;
    tensor.shape = {experts, rows, columns};
    tensor.bytes = bytes_.back();
  }
  std::unique_ptr<WeightFile> File() {
    return *WeightFile::Make(
        {.metadata = Metadata("benchmark"), .tensors = std::move(tensors_), .files = {}});
  }

 private:
  std::vector<std::vector<std::byte>> bytes_;  // each stays where it lies when others come
  std::vector<TensorInfo> tensors_;
};

// Experts that no rule prefers: every token its own few, spread evenly.
Picks SpreadPicks(int64_t experts, int64_t each, int64_t tokens) {
  Picks picks;
  for (int64_t i = 0; i < tokens * each; ++i) {
    picks.experts.push_back(static_cast<int32_t>(i * 7 % experts));
    picks.weights.push_back(1.0f / static_cast<float>(each));
  }
  return picks;
}

void BM_Experts(benchmark::State& state) {
  MixtureSpec spec;
  spec.experts = state.range(0);
  spec.experts_per_token = state.range(1);
  spec.intermediate = kIntermediate;
  const int64_t tokens = state.range(2);

  Weights weights;
  weights.Add("gate_proj", spec.experts, kIntermediate, kInput);
  weights.Add("up_proj", spec.experts, kIntermediate, kInput);
  weights.Add("down_proj", spec.experts, kInput, kIntermediate);
  const auto file = weights.File();
  ThreadPool pool(1);
  PackArena arena;
  const ModelSpec model;
  TensorLoader tensors(*file, model, arena, pool);
  auto experts = Experts::Load(PartLoader(tensors, LayerIndex(0)), spec, kInput);
  CAIRN_CHECK(experts.has_value());

  Workspace work;
  Pass pass;
  pass.tokens = tokens;
  pass.pool = &pool;
  pass.work = &work;
  const std::vector<float> x = RandomFloats(tokens * kInput, 2);
  std::vector<float> out(x.size());
  const Picks picks = SpreadPicks(spec.experts, spec.experts_per_token, tokens);
  const auto call = [&] { experts->Run(pass, x.data(), tokens, picks, out.data()); };

  WorkLog log;
  pool.set_work_log(&log);
  call();
  pool.set_work_log(nullptr);
  for (auto _ : state) call();
  using benchmark::Counter;
  const WorkDone& done = log[WorkKind::kMatrixProduct];
  const auto rate = [](double amount) {
    return Counter(amount, Counter::kIsIterationInvariantRate);
  };
  const auto operations =
      static_cast<double>(2 * 3 * kInput * kIntermediate * tokens * spec.experts_per_token);
  state.counters["Gop/s"] = rate(operations * 1e-9);
  state.counters["GB/s"] = rate(static_cast<double>(done.weight_bytes) * 1e-9);
  state.counters["share"] =
      rate(OneThreadLimits::Get().Bound(done.executed, done.weight_bytes, tensors.packed_bytes()));
}

BENCHMARK(BM_Experts)
    ->Args({8, 2, 1})
    ->Args({8, 2, 64})
    ->Args({64, 8, 1})
    ->Args({64, 8, 8})
    ->Args({64, 8, 64})
    ->Args({64, 8, 512});

}  // namespace
}  // namespace cairn

BENCHMARK_MAIN();
