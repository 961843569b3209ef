#include "cairn/sizing/profile_geometry.h"

#include <doctest/doctest.h>

#include "cairn/sizing/profile_models_for_tests.h"

namespace cairn {
namespace {

using Kind = LayerCache::Kind;

std::vector<LayerCache> Caches(const MixerSpec& mixer, int64_t tp, const DraftLayers& drafts = {}) {
  ModelSpec model;
  AddLayers(model, 1, mixer);
  auto caches = CachesOfRank(model, tp, drafts);
  REQUIRE_MESSAGE(caches.has_value(), caches.error().message);
  return *std::move(caches);
}

}  // namespace

TEST_CASE("heads are divided by the ranks, or repeated when there are too few") {
  CHECK_EQ(Caches(Heads(8, 128), 1).front().heads, 8);
  CHECK_EQ(Caches(Heads(8, 128), 4).front().heads, 2);
  CHECK_EQ(Caches(Heads(2, 128), 8).front().heads, 1);
  ModelSpec model;
  AddLayers(model, 1, Heads(8, 128));
  const auto caches = CachesOfRank(model, 3);
  REQUIRE_FALSE(caches.has_value());
  CHECK(caches.error().IsBadInput());
}

TEST_CASE("latent rows and index keys are whole on each rank") {
  const auto caches = Caches(Latent(true), 8);
  REQUIRE_EQ(caches.size(), 2);
  CHECK_EQ(caches[0].kind, Kind::kLatent);
  CHECK_EQ(caches[0].key_width + caches[0].value_width, 576);
  CHECK_EQ(caches[1].kind, Kind::kIndex);
  CHECK_EQ(caches[1].key_width, 128);
}

TEST_CASE("states are divided by their heads and channels") {
  const LayerCache delta = Caches(DeltaRule(16, 48), 2).front();
  CHECK_EQ(delta.conv_channels, 5120);
  CHECK_EQ(delta.conv_columns, 3);
  CHECK_EQ(delta.recurrent_elements, 24 * 128 * 128);
  MambaSpec mamba = {.version = 2, .inner = 4096, .state = 128, .conv_kernel = 4};
  mamba.groups = 8;
  CHECK_EQ(Caches(mamba, 4).front().conv_channels, 1024 + 2 * 2 * 128);
  mamba.groups = 1;  // one for each rank
  CHECK_EQ(Caches(mamba, 4).front().conv_channels, 1024 + 2 * 128);
  ModelSpec model;
  AddLayers(model, 1, DeltaRule(16, 48));
  CHECK_FALSE(CachesOfRank(model, 5).has_value());
}

TEST_CASE("a layer has as many caches as its mixer keeps") {
  AttentionBesideMambaSpec both;
  both.attention = Heads(8, 128);
  both.mamba = {.version = 1, .inner = 64, .state = 16, .conv_kernel = 4};
  CHECK_EQ(Caches(both, 1).size(), 2);
  CHECK(Caches(NoMixer{}, 1).empty());
  CHECK(Caches(SharedAttentionSpec{}, 1).empty());
  CHECK_EQ(Caches(Heads(1, 64, 100), 1).front().window, 100);
}

TEST_CASE("prediction layers are like the last full attention, a drafter's as they are told") {
  const auto predicted = Caches(Latent(true), 1, {.prediction_layers = 2});
  REQUIRE_EQ(predicted.size(), 6);
  CHECK(predicted.back().draft);
  CHECK_EQ(predicted.back().layer, LayerIndex(2));
  const auto drafted =
      Caches(Heads(8, 128), 2, {.drafter_layers = 3, .kv_heads = 4, .head_dim = 64, .window = 512});
  REQUIRE_EQ(drafted.size(), 4);
  CHECK_EQ(drafted.back().kind, Kind::kSliding);
  CHECK_EQ(drafted.back().heads, 2);
  CHECK_EQ(drafted.back().key_width, 64);
  ModelSpec states;
  AddLayers(states, 1, DeltaRule(16, 48));
  CHECK_FALSE(CachesOfRank(states, 1, {.prediction_layers = 1}).has_value());
  CHECK_FALSE(CachesOfRank(states, 1, {.drafter_layers = 1}).has_value());
  CHECK(CachesOfRank(states, 1, {.drafter_layers = 1, .kv_heads = 8, .head_dim = 64}).has_value());
}

TEST_CASE("types are read as frameworks spell them") {
  CHECK_EQ(FloatBytes("kv_dtype", "bfloat16").value(), 2);
  CHECK_EQ(FloatBytes("kv_dtype", "fp8_e5m2").value(), 1);
  CHECK_FALSE(FloatBytes("kv_dtype", "").has_value());
}

}  // namespace cairn
