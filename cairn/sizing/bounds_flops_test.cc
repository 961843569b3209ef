#include "cairn/sizing/bounds_flops.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <utility>

namespace cairn {
namespace {

// Counted one by one.
double CountedPairs(const Lifetime& lifetime, int64_t tokens, int64_t most) {
  double pairs = 0;
  for (int64_t i = 0; i < tokens; ++i) {
    int64_t seen = i + 1;
    if (lifetime.kind == Lifetime::Kind::kWindow) seen = std::min(seen, lifetime.tokens.value());
    if (lifetime.kind == Lifetime::Kind::kChunk) seen = i % lifetime.tokens.value() + 1;
    if (most > 0) seen = std::min(seen, most);
    pairs += static_cast<double>(seen);
  }
  return pairs;
}

ModelSpec ModelOf(MixerSpec mixer) {
  ModelSpec model;
  model.vocabulary = 100;
  model.hidden = 64;
  model.layers.push_back({.mixer = std::move(mixer), .feed_forward = NoFeedForward{}});
  return model;
}

AttentionSpec Attention() {
  AttentionSpec attention;
  attention.heads = 4;
  attention.kv_heads = 2;
  attention.key_width = 16;
  attention.value_width = 8;
  return attention;
}

}  // namespace

TEST_CASE("pairs of queries and keys are as many as counting them one by one gives") {
  for (const int64_t tokens : {0, 1, 7, 8, 9, 64, 65, 100}) {
    for (const int64_t most : {0, 1, 5, 8, 200}) {
      for (const Lifetime& lifetime :
           {Lifetime::All(), Lifetime::Window(TokenCount(8)), Lifetime::Chunk(TokenCount(8))}) {
        CAPTURE(tokens);
        CAPTURE(most);
        CHECK_EQ(VisiblePairs(lifetime, TokenCount(tokens), most),
                 CountedPairs(lifetime, tokens, most));
      }
    }
  }
}

TEST_CASE("a prompt costs 2 per weight and token, 2 x heads x widths per pair, and one head") {
  const Flops flops = PrefillFlops(ModelOf(Attention()), 1000, TokenCount(10), TokenCount(0));
  CHECK_EQ(flops.matrices, 2 * 1000 * 10);
  CHECK_EQ(flops.attention, 55 * 2 * 4 * (16 + 8));
  CHECK_EQ(flops.head, 2 * 100 * 64);
  CHECK_EQ(flops.Total(), 20'000 + 55 * 192 + 12'800);
}

TEST_CASE("a cached prefix leaves the rest of the prompt, which attends to it") {
  const ModelSpec model = ModelOf(Attention());
  const Flops whole = PrefillFlops(model, 1000, TokenCount(100), TokenCount(0));
  const Flops first = PrefillFlops(model, 1000, TokenCount(60), TokenCount(0));
  const Flops rest = PrefillFlops(model, 1000, TokenCount(100), TokenCount(60));
  CHECK_EQ(rest.matrices, whole.matrices - first.matrices);
  CHECK_EQ(rest.attention, whole.attention - first.attention);
  CHECK_EQ(PrefillFlops(model, 1000, TokenCount(60), TokenCount(60)).Total(), 0);
}

TEST_CASE("windows and picks bound attention, index keys are scored for every pair") {
  AttentionSpec window = Attention();
  window.lifetime = Lifetime::Window(TokenCount(4));
  CHECK_EQ(PrefillFlops(ModelOf(window), 0, TokenCount(10), TokenCount(0)).attention,
           (10 + 6 * 4) * 192);
  AttentionSpec sparse = Attention();
  sparse.picks = 4;
  sparse.index = SparseIndexSpec{.query_heads = 2, .width = 8};
  const Flops flops = PrefillFlops(ModelOf(sparse), 0, TokenCount(10), TokenCount(0));
  CHECK_EQ(flops.attention, (10 + 6 * 4) * 192);
  CHECK_EQ(flops.index, 55 * 2 * 2 * 8);
}

TEST_CASE("of pooled keys whole pools are picked, and the open pool is read besides") {
  for (const auto& [pool, picks] : {std::pair(4, 8), {3, 8}, {5, 5}, {16, 40}}) {
    AttentionSpec pooled = Attention();
    pooled.index = SparseIndexSpec{.query_heads = 1, .width = 1, .pool = pool};
    pooled.picks = picks;
    double pairs = 0;
    for (int64_t seen = 1; seen <= 100; ++seen) {
      const double read =
          static_cast<double>(std::min<int64_t>(seen / pool, picks / pool) * pool + seen % pool);
      pairs += read;
      CAPTURE(pool);
      CAPTURE(seen);
      const Flops prompt = PrefillFlops(ModelOf(pooled), 0, TokenCount(seen), TokenCount(0));
      CHECK_EQ(prompt.attention, pairs * 2 * 4 * (16 + 8));
      const Flops step = DecodeFlops(ModelOf(pooled), 0, TokenCount(seen - 1));
      CHECK_EQ(step.attention, read * 2 * 4 * (16 + 8));
    }
  }
}

TEST_CASE("MLA reads a prompt with expanded heads and decodes on the latent row") {
  LatentAttentionSpec latent;
  latent.heads = 4;
  latent.latent_width = 32;
  latent.rope_width = 8;
  latent.key_width = 16;
  latent.value_width = 12;
  const ModelSpec model = ModelOf(latent);
  CHECK_EQ(PrefillFlops(model, 0, TokenCount(10), TokenCount(0)).attention,
           55 * 2 * 4 * (16 + 8 + 12));
  CHECK_EQ(DecodeFlops(model, 0, TokenCount(9)).attention, 10 * 2 * 4 * (32 + 8 + 32));
}

TEST_CASE("entries of compressed attention count once they are whole") {
  CompressedAttentionSpec compressed;
  compressed.heads = 2;
  compressed.width = 8;
  compressed.window = Lifetime::Window(TokenCount(2));
  compressed.ratio = 4;
  // Window: 1 + 2 x 9 pairs. Entries of queries 1..10: 0 0 0 1 1 1 1 2 2 2 = 10.
  CHECK_EQ(PrefillFlops(ModelOf(compressed), 0, TokenCount(10), TokenCount(0)).attention,
           (19 + 10) * 2 * 2 * 16);
  compressed.picks = 1;
  CHECK_EQ(PrefillFlops(ModelOf(compressed), 0, TokenCount(10), TokenCount(0)).attention,
           (19 + 7) * 2 * 2 * 16);
}

TEST_CASE("recurrences cost the same for every token") {
  DeltaRuleSpec delta;
  delta.key_heads = 2;
  delta.value_heads = 4;
  delta.key_width = 8;
  delta.value_width = 16;
  const ModelSpec model = ModelOf(delta);
  CHECK_EQ(PrefillFlops(model, 0, TokenCount(10), TokenCount(0)).recurrence, 10 * 6 * 4 * 8 * 16);
  CHECK_EQ(DecodeFlops(model, 0, TokenCount(1'000'000)).recurrence, 6 * 4 * 8 * 16);
}

}  // namespace cairn
