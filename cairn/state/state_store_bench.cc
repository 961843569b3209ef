// What the store itself costs in a decode step, a fork and a first write; shapes of real models.
#include <benchmark/benchmark.h>

#include <utility>
#include <vector>

#include "cairn/base/check.h"
#include "cairn/state/state_store.h"

namespace cairn {
namespace {

LayerState KeysAndValues(int64_t heads, int64_t width, Lifetime lifetime) {
  Rows keys;
  keys.name = "keys";
  keys.heads = heads;
  keys.width = width;
  keys.lifetime = lifetime;
  keys.order = RowOrder::kTransposedTiles;
  Rows values = keys;
  values.name = "values";
  values.order = RowOrder::kRowMajor;
  return {{keys, values}};
}

// SmolLM2 135M: one class, 360 KiB a block.
StateSpec OneClass() {
  return {std::vector<LayerState>(30, KeysAndValues(3, 64, Lifetime::All()))};
}

// Gemma 3 270M: three layers see everything, fifteen a window of 512.
StateSpec TwoClasses() {
  StateSpec spec;
  for (int i = 0; i < 18; ++i) {
    const Lifetime lifetime = i % 6 == 5 ? Lifetime::All() : Lifetime::Window(TokenCount(512));
    spec.layers.push_back(KeysAndValues(1, 256, lifetime));
  }
  return spec;
}

std::unique_ptr<StateStore> MakeStore(StateSpec spec) {
  auto layout = StateLayout::Make(std::move(spec));
  CAIRN_CHECK(layout.has_value());
  auto store = StateStore::Make(*std::move(layout), {.budget = Bytes(int64_t{1} << 30)});
  CAIRN_CHECK(store.has_value());
  return *std::move(store);
}

void Add(StateStore& store, SequenceId id, int64_t tokens) {
  CAIRN_CHECK(store.Prepare(id, TokenCount(tokens)).has_value());
  benchmark::DoNotOptimize(store.View(id));
  store.Commit(id, TokenCount(tokens));
}

// One token more, up to 4,096, again and again; blocks are zeroed but not written.
void DecodeStep(benchmark::State& state, const StateSpec& spec) {
  const auto store = MakeStore(spec);
  SequenceId id = *store->Create();
  for (auto _ : state) {
    if (store->Length(id) == TokenCount(4096)) {
      store->Release(id);
      id = *store->Create();
    }
    Add(*store, id, 1);
  }
}
BENCHMARK_CAPTURE(DecodeStep, one_class, OneClass());
BENCHMARK_CAPTURE(DecodeStep, two_classes, TwoClasses());

void ForkAndRelease(benchmark::State& state) {
  const auto store = MakeStore(OneClass());
  const SequenceId id = *store->Create();
  Add(*store, id, state.range(0));
  for (auto _ : state) store->Release(*store->Fork(id));
}
BENCHMARK(ForkAndRelease)->Arg(100)->Arg(1000);

// A fork, and its first token: one block is copied.
void ForkAndWrite(benchmark::State& state) {
  const auto store = MakeStore(OneClass());
  const SequenceId id = *store->Create();
  Add(*store, id, state.range(0));
  for (auto _ : state) {
    const SequenceId fork = *store->Fork(id);
    Add(*store, fork, 1);
    store->Release(fork);
  }
}
BENCHMARK(ForkAndWrite)->Arg(100)->Arg(1000);

}  // namespace
}  // namespace cairn

BENCHMARK_MAIN();
