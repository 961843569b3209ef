#include "cairn/sizing/weight_parts.h"

#include <doctest/doctest.h>

#include <string>

#include "cairn/sizing/parameters.h"
#include "cairn/spec/families_for_tests.h"

namespace cairn {
namespace {

// 4 layers, 64 channels, 4 heads and 2 KV heads of 16, 96 channels inside, 256 words.
ModelSpec SmallLlama() {
  ModelSpec model;
  model.vocabulary = 256;
  model.hidden = 64;
  AttentionSpec attention;
  attention.heads = 4;
  attention.kv_heads = 2;
  attention.key_width = attention.value_width = 16;
  model.layers.assign(4, {.mixer = attention, .feed_forward = GatedMlpSpec{.intermediate = 96}});
  return model;
}

ModelSpec SmallMixture() {
  ModelSpec model = SmallLlama();
  for (LayerSpec& layer : model.layers) {
    layer.feed_forward = MixtureSpec{.experts = 8,
                                     .experts_per_token = 2,
                                     .intermediate = 32,
                                     .shared_intermediate = 64,
                                     .router_bias = true,
                                     .shared_gate = true};
  }
  return model;
}

Parallelism Cards(int tp, int pp = 1, int ep = 1) {
  Parallelism cards;
  cards.tp = tp;
  cards.pp = pp;
  cards.ep = ep;
  return cards;
}

WeightTree TreeOf(const ModelSpec& model) {
  const auto tree = WeightsOf(model);
  REQUIRE(tree.has_value());
  return *tree;
}

std::vector<RankWeights> RanksOf(const ModelSpec& model, const Parallelism& parallel) {
  auto ranks = WeightsOfRanks(model, parallel);
  REQUIRE_MESSAGE(ranks.has_value(), ranks.error().message);
  return *std::move(ranks);
}

}  // namespace

TEST_CASE("parts of a dense model are what its shapes say") {
  const WeightParts parts = TreeOf(SmallLlama()).Sum();
  CHECK_EQ(parts[WeightPart::kEmbedding], 256 * 64);
  CHECK_EQ(parts[WeightPart::kHead], 256 * 64);
  CHECK_EQ(parts[WeightPart::kMixer], 4 * (64 * 64 + 2 * 64 * 32 + 64 * 64));
  CHECK_EQ(parts[WeightPart::kDense], 4 * 3 * 64 * 96);
  CHECK_EQ(parts[WeightPart::kNorms], (4 * 2 + 1) * 64);
  CHECK_EQ(parts[WeightPart::kExperts], 0);
}

TEST_CASE("parts of a mixture are its router, its experts and its shared expert") {
  const WeightParts parts = TreeOf(SmallMixture()).Sum();
  CHECK_EQ(parts[WeightPart::kRouter], 4 * 8 * (64 + 1));
  CHECK_EQ(parts[WeightPart::kExperts], 4 * 8 * 3 * 64 * 32);
  CHECK_EQ(parts[WeightPart::kShared], 4 * (3 * 64 * 64 + 64));
  CHECK_EQ(parts[WeightPart::kDense], 0);
  CHECK_EQ(parts[WeightPart::kOther], 0);
}

TEST_CASE("parts add up to the parameters, for every golden") {
  for (const char* name : {"llama_mha", "llama_gqa", "llama_mqa", "mistral_swa", "smollm3", "gemma",
                           "gemma2", "gemma3_text"}) {
    CAPTURE(name);
    const ModelSpec model = GoldenModel(name);
    CHECK_EQ(ElementCount(TreeOf(model).Sum().Total()), *ParameterCount(model));
  }
  CHECK_EQ(ElementCount(TreeOf(SmallMixture()).Sum().Total()), *ParameterCount(SmallMixture()));
}

TEST_CASE("a tied head has no weights of its own, but on another stage it is a copy") {
  ModelSpec model = SmallLlama();
  model.tied_head = true;
  CHECK_EQ(TreeOf(model).Sum()[WeightPart::kHead], 0);
  const auto ranks = RanksOf(model, Cards(1, 2));
  CHECK_EQ(ranks[0].tree.Sum()[WeightPart::kHead], 0);
  CHECK_EQ(ranks[0].tree.Sum()[WeightPart::kEmbedding], 256 * 64);
  CHECK_EQ(ranks[1].tree.Sum()[WeightPart::kHead], 256 * 64);
  CHECK_EQ(ranks[1].tree.Sum()[WeightPart::kEmbedding], 0);
}

TEST_CASE("tensor parallel cards divide matrices and repeat norms and routers") {
  const WeightParts half = RanksOf(SmallLlama(), Cards(2)).front().tree.Sum();
  CHECK_EQ(half[WeightPart::kEmbedding], 128 * 64);
  CHECK_EQ(half[WeightPart::kMixer], 4 * (64 * 64 + 2 * 64 * 32 + 64 * 64) / 2);
  CHECK_EQ(half[WeightPart::kDense], 4 * 3 * 64 * 48);
  CHECK_EQ(half[WeightPart::kNorms], (4 * 2 + 1) * 64);
  const WeightParts mixed = RanksOf(SmallMixture(), Cards(2)).front().tree.Sum();
  CHECK_EQ(mixed[WeightPart::kRouter], 4 * 8 * 65);
  CHECK_EQ(mixed[WeightPart::kExperts], 4 * 8 * 3 * 64 * 16);
  CHECK_EQ(mixed[WeightPart::kShared], 4 * (3 * 64 * 32 + 64));
}

TEST_CASE("KV heads that run out are repeated, so that four cards hold more than the model") {
  const WeightParts quarter = RanksOf(SmallLlama(), Cards(4)).front().tree.Sum();
  // One query head of 4, one KV head of 2.
  CHECK_EQ(quarter[WeightPart::kMixer], 4 * (64 * 16 + 2 * 64 * 16 + 16 * 64));
}

TEST_CASE("expert parallel cards hold whole experts") {
  const WeightParts parts = RanksOf(SmallMixture(), Cards(4, 1, 4)).front().tree.Sum();
  CHECK_EQ(parts[WeightPart::kExperts], 4 * 2 * 3 * 64 * 32);
  // Two groups of experts, each divided by two cards.
  const WeightParts both = RanksOf(SmallMixture(), Cards(4, 1, 2)).front().tree.Sum();
  CHECK_EQ(both[WeightPart::kExperts], 4 * 4 * 3 * 64 * 16);
  const auto refused = WeightsOfRanks(SmallMixture(), Cards(16, 1, 16));
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().IsBadInput());
}

TEST_CASE("MLA's latent projections are whole on each card") {
  ModelSpec model = SmallLlama();
  LatentAttentionSpec latent;
  latent.heads = 4;
  latent.query_rank = 24;
  latent.latent_width = 32;
  latent.rope_width = 8;
  latent.key_width = 16;
  latent.value_width = 16;
  model.layers.assign(1, {.mixer = latent, .feed_forward = GatedMlpSpec{.intermediate = 96}});
  const int64_t down = 64 * 24 + 24 + 64 * (32 + 8) + 32;
  const int64_t heads = 24 * 4 * 24 + 32 * 4 * 32 + 4 * 16 * 64;
  CHECK_EQ(TreeOf(model).Sum()[WeightPart::kMixer], down + heads);
  CHECK_EQ(RanksOf(model, Cards(2)).front().tree.Sum()[WeightPart::kMixer], down + heads / 2);
}

TEST_CASE("cards together hold at least the model") {
  for (const ModelSpec& model : {SmallLlama(), SmallMixture()}) {
    const int64_t whole = TreeOf(model).Sum().Total();
    for (const int tp : {1, 2, 3, 4, 8}) {
      for (const int pp : {1, 2, 3}) {
        int64_t sum = 0;
        for (const RankWeights& rank : RanksOf(model, Cards(tp, pp))) {
          sum += rank.tree.Sum().Total() * tp;
        }
        CAPTURE(tp);
        CAPTURE(pp);
        CHECK_GE(sum, whole);
        if (tp == 1) CHECK_EQ(sum, whole);
      }
    }
  }
}

TEST_CASE("experts touched: one token k of them, many tokens all") {
  CHECK_EQ(ExpertsTouched(128, 8, 1), doctest::Approx(8));
  CHECK_EQ(ExpertsTouched(8, 2, 2), doctest::Approx(8 * (1 - 0.75 * 0.75)));
  // 128 x (1 - (15/16)^64), by hand 125.94.
  CHECK_EQ(ExpertsTouched(128, 8, 64), doctest::Approx(125.9423).epsilon(1e-5));
  CHECK_EQ(ExpertsTouched(128, 8, 1e9), doctest::Approx(128));
  CHECK_EQ(ExpertsTouched(4, 4, 1), doctest::Approx(4));
  CHECK_EQ(ExpertsTouched(0, 0, 5), 0);
}

TEST_CASE("active weights count k of E experts; multiplied ones leave out the tables") {
  const ModelSpec model = SmallMixture();
  const WeightTree tree = TreeOf(model);
  const int64_t all = tree.Sum().Total();
  CHECK_EQ(*ActiveParameters(model, tree), all - 4 * 6 * 3 * 64 * 32);
  CHECK_EQ(*MultipliedParameters(model, tree), all - 4 * 6 * 3 * 64 * 32 - 2 * 256 * 64 - 9 * 64);
  ModelSpec silent = model;
  std::get<MixtureSpec>(silent.layers[2].feed_forward).experts_per_token = 0;
  CHECK_FALSE(ActiveParameters(silent, TreeOf(silent)).has_value());
}

TEST_CASE("a model whose weights aren't described has no parts") {
  ModelSpec model = SmallLlama();
  model.uncounted = "its projections aren't described";
  CHECK_FALSE(WeightsOf(model).has_value());
}

}  // namespace cairn
