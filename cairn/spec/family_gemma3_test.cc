#include <doctest/doctest.h>

#include <cmath>

#include "cairn/spec/families_for_tests.h"

namespace cairn {

TEST_CASE("gemma3 rotates sliding layers with the local base and full ones with the scaled one") {
  const ModelSpec model = GoldenModel("gemma3_text");
  CHECK_EQ(model.family, "gemma3");
  CHECK_EQ(model.logit_cap, 0);
  REQUIRE_EQ(model.layers.size(), 7);
  for (size_t i = 0; i < 7; ++i) {
    const AttentionSpec& attention = AttentionOf(model, i);
    const bool full = i == 5;
    CHECK_EQ(attention.lifetime, full ? Lifetime::All() : Lifetime::Window(TokenCount(8)));
    CHECK_EQ(attention.rope->base, full ? 1000000 : 10000);
    CHECK_EQ(std::holds_alternative<RopeLinear>(attention.rope->scaling), full);
    CHECK(attention.query_key_norm);
    CHECK_EQ(attention.score_cap, 0);
    CHECK_EQ(attention.scale, doctest::Approx(1 / std::sqrt(20.0)).epsilon(1e-15));
    CHECK(model.layers[i].branch_output_norms);
  }
}

TEST_CASE("gemma3's older spelling means the same") {
  const ModelSpec model = ModelFromJson(SmallConfig("gemma3_text", R"(
      "sliding_window_pattern": 2, "sliding_window": 512, "rope_theta": 500000,
      "rope_local_base_freq": 20000, "rope_scaling": {"rope_type": "linear", "factor": 8.0})"));
  for (size_t i = 0; i < 4; ++i) {
    const AttentionSpec& attention = AttentionOf(model, i);
    const bool full = i % 2 == 1;
    CHECK_EQ(attention.lifetime, full ? Lifetime::All() : Lifetime::Window(TokenCount(512)));
    CHECK_EQ(attention.rope->base, full ? 500000 : 20000);
    CHECK_EQ(std::holds_alternative<RopeLinear>(attention.rope->scaling), full);
  }
}

TEST_CASE("a list of layer types wins over the pattern and has one entry a layer") {
  const std::string types = R"("sliding_window_pattern": 2, "sliding_window": 512,
      "layer_types": ["full_attention", "full_attention", "sliding_attention")";
  const ModelSpec model =
      ModelFromJson(SmallConfig("gemma3_text", types + R"(, "full_attention"])"));
  CHECK_EQ(AttentionOf(model, 0).lifetime, Lifetime::All());
  CHECK_EQ(AttentionOf(model, 2).lifetime, Lifetime::Window(TokenCount(512)));
  CHECK_EQ(ConfigError(SmallConfig("gemma3_text", types + "]")),
           "config.json: layer_types is a list of 3, expected a list of 4 strings");
  CHECK_EQ(ConfigError(SmallConfig("gemma3_text", types + R"(, "mamba"])")),
           "config.json: layer_types[3] is \"mamba\", expected sliding_attention or "
           "full_attention");
}

TEST_CASE("a gemma3 GGUF without a window has only full layers") {
  FakeGguf file("gemma3");
  file.Set("rope.freq_base", 1e6);
  for (const int window : {-1, 0}) {
    if (window == 0) file.Set("attention.sliding_window", 0);
    for (size_t i = 0; i < 4; ++i) {
      CHECK_EQ(AttentionOf(file.Model(), i).lifetime, Lifetime::All());
      CHECK_EQ(AttentionOf(file.Model(), i).rope->base, 1e6);
    }
  }
}

TEST_CASE("a gemma3 GGUF with a window slides five of six layers, scaling only the full ones") {
  FakeGguf file("gemma3");
  file.Set("block_count", 8);
  file.Set("attention.sliding_window", 512);
  file.Set("rope.freq_base", 1e6);
  file.Set("rope.scaling.factor", 8.0);
  const ModelSpec model = file.Model();
  CHECK_FALSE(model.norm_weight_plus_one);
  for (size_t i = 0; i < 8; ++i) {
    const bool full = i == 5;
    CHECK_EQ(AttentionOf(model, i).lifetime,
             full ? Lifetime::All() : Lifetime::Window(TokenCount(512)));
    CHECK_EQ(AttentionOf(model, i).rope->base, full ? 1e6 : 1e4);
    CHECK_EQ(AttentionOf(model, i).rope->pairs, RopePairs::kHalfSplit);
    CHECK_EQ(std::holds_alternative<RopeLinear>(AttentionOf(model, i).rope->scaling), full);
    CHECK_EQ(AttentionOf(model, i).scale, 0.25);
  }
  file.Set("rope.freq_base_swa", 0.0);
  CHECK_EQ(file.Message(),
           "m.gguf: key gemma3.rope.freq_base_swa is 0, expected a number from 1 to "
           "1000000000000000");
}

TEST_CASE("a GGUF of gemma3 27b scales by the root of hidden over heads") {
  FakeGguf file("gemma3");
  file.Set("block_count", 62);
  file.Set("embedding_length", 5376);
  file.Set("attention.head_count", 32);
  file.Set("attention.head_count_kv", 16);
  file.Set("attention.key_length", 128);
  file.Set("attention.value_length", 128);
  CHECK_EQ(AttentionOf(file.Model(), 0).scale,
           doctest::Approx(1 / std::sqrt(168.0)).epsilon(1e-15));
}

}  // namespace cairn
