#include "cairn/sizing/bounds_reads.h"

#include <doctest/doctest.h>

#include <string>

#include "cairn/spec/families_for_tests.h"
#include "cairn/spec/state_layout.h"

namespace cairn {
namespace {

constexpr StateCodecs kBF16 = {.keys = DType::kBF16, .values = DType::kBF16};

AttentionSpec Attention() {
  AttentionSpec attention;
  attention.heads = 8;
  attention.kv_heads = 2;
  attention.key_width = attention.value_width = 64;
  return attention;
}

ModelSpec ModelOf(std::vector<MixerSpec> mixers) {
  ModelSpec model;
  model.family = "test";
  model.hidden = 512;
  model.vocabulary = 1000;
  for (MixerSpec& mixer : mixers) {
    model.layers.push_back(
        {.mixer = std::move(mixer), .feed_forward = GatedMlpSpec{.intermediate = 1024}});
  }
  return model;
}

StateTraffic Traffic(const ModelSpec& model, int64_t context) {
  const auto traffic = TrafficOfStep(model, kBF16, TokenCount(context));
  REQUIRE_MESSAGE(traffic.has_value(), traffic.error().message);
  return *traffic;
}

constexpr int64_t kRow = 2 * 2 * 64 * 2;  // keys and values of two heads

}  // namespace

TEST_CASE("full attention reads all that it stores, and writes a row") {
  const StateTraffic traffic = Traffic(ModelOf({Attention(), Attention()}), 1000);
  CHECK_EQ(traffic.rows, Bytes(2 * 1000 * kRow));
  CHECK_EQ(traffic.stored, traffic.rows);
  CHECK_EQ(traffic.all_rows, traffic.rows);
  CHECK_EQ(traffic.row_written, Bytes(2 * kRow));
  CHECK_EQ(traffic.Read(), traffic.rows);
}

TEST_CASE("a window is read whole and no further") {
  AttentionSpec window = Attention();
  window.lifetime = Lifetime::Window(TokenCount(128));
  CHECK_EQ(Traffic(ModelOf({window}), 1000).rows, Bytes(128 * kRow));
  CHECK_EQ(Traffic(ModelOf({window}), 100).rows, Bytes(100 * kRow));
}

TEST_CASE("a layer that shares another's rows stores nothing and reads them again") {
  SharedAttentionSpec shared;
  shared.attention = Attention();
  shared.source = LayerIndex(0);
  const StateTraffic traffic = Traffic(ModelOf({Attention(), shared}), 1000);
  CHECK_EQ(traffic.stored, Bytes(1000 * kRow));
  CHECK_EQ(traffic.rows, Bytes(2 * 1000 * kRow));
}

TEST_CASE("an index leaves a query its picks, but all index keys are read") {
  LatentAttentionSpec latent;
  latent.heads = 16;
  latent.latent_width = 512;
  latent.rope_width = 64;
  latent.key_width = latent.value_width = 128;
  latent.index = SparseIndexSpec{.query_heads = 4, .width = 128};
  latent.picks = 2048;
  LatentAttentionSpec borrower = latent;
  borrower.index.reset();
  const StateTraffic traffic = Traffic(ModelOf({latent, borrower}), 32'768);
  CHECK_EQ(traffic.rows, Bytes(2 * 2048 * 576 * 2));
  CHECK_EQ(traffic.all_rows, Bytes(2 * 32'768 * 576 * 2));
  CHECK_EQ(traffic.index, Bytes(32'768 * 128 * 2));
  CHECK_EQ(traffic.stored, Bytes(2 * 32'768 * 576 * 2 + 32'768 * 128 * 2));
  // Shorter than the picks: everything.
  CHECK_EQ(Traffic(ModelOf({latent}), 1000).rows, Bytes(1000 * 576 * 2));
}

TEST_CASE("a recurrent state is read and written back") {
  DeltaRuleSpec delta;
  delta.key_heads = delta.value_heads = 4;
  delta.key_width = delta.value_width = 32;
  const StateTraffic traffic = Traffic(ModelOf({delta}), 5000);
  CHECK_EQ(traffic.fixed_read, Bytes(4 * 32 * 32 * 4));
  CHECK_EQ(traffic.fixed_written, traffic.fixed_read);
  CHECK_EQ(traffic.rows, Bytes(0));
  CHECK_EQ(traffic.Moved(), traffic.fixed_read * 2);
}

TEST_CASE("entries of compressed attention are picked, its window isn't") {
  CompressedAttentionSpec compressed;
  compressed.heads = 8;
  compressed.width = 512;
  compressed.window = Lifetime::Window(TokenCount(128));
  compressed.ratio = 4;
  compressed.picks = 512;
  const StateTraffic full = Traffic(ModelOf({compressed}), 65'536);
  compressed.picks = 0;
  const StateTraffic all = Traffic(ModelOf({compressed}), 65'536);
  CHECK_EQ(all.rows - full.rows, Bytes((65'536 / 4 - 512) * 512 * 2));
  CHECK_EQ(full.all_rows, all.rows);
}

TEST_CASE("every golden stores what its layout says and reads no less without an index") {
  for (const char* name : {"llama_gqa", "mistral_swa", "gemma2", "gemma3_text"}) {
    CAPTURE(name);
    const ModelSpec model = GoldenModel(name);
    const StateLayout layout = LayoutOf(model);
    for (const int64_t context : {0, 1, 17, 100, 5000}) {
      const StateTraffic traffic = Traffic(model, context);
      CHECK_EQ(traffic.stored,
               layout.SeenRowBytes(TokenCount(context)) + layout.fixed_content_bytes());
      CHECK_EQ(traffic.Read(), traffic.stored);
    }
  }
}

TEST_CASE("a context out of range is refused") {
  CHECK_FALSE(TrafficOfStep(ModelOf({Attention()}), kBF16, TokenCount(-1)).has_value());
  CHECK_FALSE(
      TrafficOfStep(ModelOf({Attention()}), kBF16, kMaxStateTokens + TokenCount(1)).has_value());
}

}  // namespace cairn
