// Attention of the shapes of two small models, one thread.
//
// Counters: Gop/s (a multiply and an add are two), GB/s of state, and the share reached of the
// bound: operations at the machine's peak or bytes at its bandwidth, whichever takes longer. A call
// reads one layer of a state of many layers, in turns, so that one token finds its rows in memory,
// as in a model. Arguments: tokens computed at once, tokens before them.
#include "cairn/kernels/attention.h"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <random>
#include <span>
#include <vector>

#include "cairn/kernels/limits_for_tests.h"
#include "cairn/kernels/state_rows.h"

namespace cairn {
namespace {

using benchmark::Counter;

constexpr AttentionShape kSmol = {
    .heads = 9, .kv_heads = 3, .key_width = 64, .value_width = 64, .scale = 0.125f};
constexpr AttentionShape kGemma = {
    .heads = 4, .kv_heads = 1, .key_width = 256, .value_width = 256, .scale = 0.0625f};

AttentionShape WithCodec(AttentionShape shape, DType codec) {
  shape.key_codec = codec;
  shape.value_codec = codec;
  return shape;
}

// Blocks as a state's are: the rows of all layers together.
class LayeredState {
 public:
  LayeredState(const AttentionShape& shape, int64_t tokens)
      : key_bytes_(shape.kv_heads * StateTileBytes(shape.key_codec, shape.key_width)),
        layer_bytes_(key_bytes_ +
                     shape.kv_heads * StateTileBytes(shape.value_codec, shape.value_width)) {
    const int64_t blocks = (tokens + kTileRows - 1) / kTileRows;
    layers_ = std::max<int64_t>(1, kWorkingSetBytes / (blocks * layer_bytes_));
    const int64_t block_bytes = layers_ * layer_bytes_;
    storage_ = AlignedBuffer(static_cast<size_t>(blocks * block_bytes));
    storage_.PreferHugePages();
    const std::vector<std::byte> slot = RandomSlot(shape);
    for (int64_t i = 0; i < blocks * layers_; ++i) {
      std::ranges::copy(slot, storage_.data() + i * layer_bytes_);
    }
    for (int64_t b = 0; b < blocks; ++b) blocks_.push_back(storage_.data() + b * block_bytes);
  }

  int64_t layers() const { return layers_; }
  int64_t row_bytes() const { return layer_bytes_ / kTileRows; }
  AttentionSpan Span(int64_t layer) const {
    AttentionSpan span;
    span.blocks = blocks_;
    span.key_offset = layer * layer_bytes_;
    span.value_offset = span.key_offset + key_bytes_;
    return span;
  }

 private:
  std::vector<std::byte> RandomSlot(const AttentionShape& shape) const {
    std::mt19937 random(1);
    std::normal_distribution<float> normal(0, 1);
    std::vector<float> row(
        static_cast<size_t>(shape.kv_heads * std::max(shape.key_width, shape.value_width)));
    std::vector<std::byte> slot(static_cast<size_t>(layer_bytes_));
    for (int64_t r = 0; r < kTileRows; ++r) {
      for (float& x : row) x = normal(random);
      StoreRowTransposed(shape.key_codec, row.data(), shape.kv_heads, shape.key_width, r,
                         slot.data());
      StoreRow(shape.value_codec, row.data(), shape.kv_heads, shape.value_width, r,
               slot.data() + key_bytes_);
    }
    return slot;
  }

  int64_t key_bytes_;
  int64_t layer_bytes_;
  int64_t layers_ = 1;
  AlignedBuffer storage_;
  std::vector<std::byte*> blocks_;
};

void BM_Attention(benchmark::State& state, const AttentionShape& plain, DType codec) {
  const AttentionShape shape = WithCodec(plain, codec);
  const int64_t tokens = state.range(0);
  const int64_t depth = state.range(1);
  const LayeredState rows(shape, depth + tokens);
  const int64_t query_stride = shape.heads * shape.key_width;
  const int64_t out_stride = shape.heads * shape.value_width;
  std::vector<float> queries(static_cast<size_t>(tokens * query_stride), 0.1f);
  std::vector<float> out(static_cast<size_t>(tokens * out_stride));
  ThreadPool pool(1);
  AttentionScratch scratch;
  int64_t layer = 0;
  const auto call = [&] {
    AttentionSpan span = rows.Span(layer);
    span.first_position = depth;
    span.tokens = tokens;
    span.queries = queries.data();
    span.out = out.data();
    Attention(shape, {&span, 1}, query_stride, out_stride, scratch, pool);
    layer = (layer + 1) % rows.layers();
  };
  WorkLog log;
  pool.set_work_log(&log);
  call();
  pool.set_work_log(nullptr);
  for (auto _ : state) call();

  const OperationCounts& operations = log[WorkKind::kAttention].operations;
  int64_t sum = 0;
  for (const int64_t count : operations.counts) sum += count;
  const int64_t bytes = (depth + tokens) * rows.row_bytes();
  const auto rate = [](double amount) {
    return Counter(amount, Counter::kIsIterationInvariantRate);
  };
  state.counters["Gop/s"] = rate(static_cast<double>(sum) * 1e-9);
  state.counters["GB/s"] = rate(static_cast<double>(bytes) * 1e-9);
  state.counters["share"] = rate(OneThreadLimits::Get().Bound(operations, bytes, kWorkingSetBytes));
}

void Sizes(benchmark::internal::Benchmark* b) {
  b->ArgNames({"tokens", "depth"})->MinTime(0.05);
  for (const int64_t depth : {512, 4096, 16384}) b->Args({1, depth});
  for (const int64_t tokens : {2, 4, 8, 16}) b->Args({tokens, 4096});
  for (const int64_t depth : {0, 4096}) b->Args({512, depth});
}

BENCHMARK_CAPTURE(BM_Attention, smol_f32, kSmol, DType::kF32)->Apply(Sizes);
BENCHMARK_CAPTURE(BM_Attention, smol_f16, kSmol, DType::kF16)->Apply(Sizes);
BENCHMARK_CAPTURE(BM_Attention, smol_bf16, kSmol, DType::kBF16)->Apply(Sizes);
BENCHMARK_CAPTURE(BM_Attention, smol_q8_0, kSmol, DType::kQ8_0)->Apply(Sizes);
BENCHMARK_CAPTURE(BM_Attention, smol_q4_0, kSmol, DType::kQ4_0)->Apply(Sizes);
BENCHMARK_CAPTURE(BM_Attention, smol_lm4, kSmol, DType::kLM4)->Apply(Sizes);
BENCHMARK_CAPTURE(BM_Attention, smol_lm3, kSmol, DType::kLM3)->Apply(Sizes);
BENCHMARK_CAPTURE(BM_Attention, gemma_f32, kGemma, DType::kF32)->Apply(Sizes);
BENCHMARK_CAPTURE(BM_Attention, gemma_f16, kGemma, DType::kF16)->Apply(Sizes);
BENCHMARK_CAPTURE(BM_Attention, gemma_bf16, kGemma, DType::kBF16)->Apply(Sizes);
BENCHMARK_CAPTURE(BM_Attention, gemma_q8_0, kGemma, DType::kQ8_0)->Apply(Sizes);
BENCHMARK_CAPTURE(BM_Attention, gemma_q4_0, kGemma, DType::kQ4_0)->Apply(Sizes);
BENCHMARK_CAPTURE(BM_Attention, gemma_lm4, kGemma, DType::kLM4)->Apply(Sizes);
BENCHMARK_CAPTURE(BM_Attention, gemma_lm3, kGemma, DType::kLM3)->Apply(Sizes);

}  // namespace
}  // namespace cairn

BENCHMARK_MAIN();
