#include <doctest/doctest.h>

#include <cmath>
#include <string>

#include "cairn/spec/families_for_tests.h"

namespace cairn {

TEST_CASE("the last layers read the last earlier layer of their own kind") {
  for (const char* type : {"gemma3n_text", "gemma4_text"}) {
    const ModelSpec model = ModelFromJson(
        SmallConfig(type, R"("sliding_window": 8, "num_kv_shared_layers": 2, "layer_types":
            ["full_attention", "sliding_attention", "full_attention", "sliding_attention"])"));
    CHECK_EQ(KindsOf(model), "full sliding reuse reuse");
    CHECK_EQ(std::get<SharedAttentionSpec>(model.layers[2].mixer).source, LayerIndex(0));
    CHECK_EQ(std::get<SharedAttentionSpec>(model.layers[3].mixer).source, LayerIndex(1));
    CHECK_EQ(BytesPerToken(model), 2 * 2 * 16 * 2);
  }
  CHECK_EQ(ConfigError(SmallConfig("gemma4_text",
                                   R"("sliding_window": 8, "num_kv_shared_layers": 2, "layer_types":
            ["full_attention", "full_attention", "full_attention", "sliding_attention"])")),
           "config.json: num_kv_shared_layers is 2, expected few enough to leave each kind a layer "
           "that keeps its own");
}

TEST_CASE("full layers of Gemma 4 have a width and KV heads of their own, and keep both K and V") {
  const ModelSpec model = ModelFromJson(SmallConfig(
      "gemma4_text", R"("sliding_window": 8, "global_head_dim": 32, "attention_k_eq_v": true,
          "num_global_key_value_heads": 1, "layer_types": ["sliding_attention",
          "sliding_attention", "sliding_attention", "full_attention"])"));
  CHECK_EQ(BytesPerToken(model), 2 * 1 * 32 * 2);
  CHECK_EQ(AttentionOf(model, 0).key_width, 16);
  CHECK(AttentionOf(model, 3).value_is_key);
}

TEST_CASE("Gemma 3n's streams, gates, rotations and inputs of layers are read") {
  const ModelSpec model = GoldenModel("gemma3n_text");
  CHECK_EQ(model.sizing_only, "");
  const auto& altup = std::get<AltUpSpec>(model.residual);
  CHECK_EQ(altup.streams, 3);
  CHECK_EQ(altup.low_rank, 8);
  CHECK(altup.scales_active);
  CHECK_EQ(altup.inputs.width, 16);
  CHECK_EQ(model.logit_cap, 8);
  CHECK_EQ(std::get<GatedMlpSpec>(model.layers[2].feed_forward).gate_sparsity, 0.6);
  CHECK_EQ(std::get<GatedMlpSpec>(model.layers[3].feed_forward).gate_sparsity, 0);
  CHECK_EQ(AttentionOf(model, 0).rope->base, 10000);
  CHECK_EQ(AttentionOf(model, 2).rope->base, 1000000);
  CHECK(AttentionOf(model, 2).value_norm);
}

TEST_CASE("Gemma 4's full layers turn a part of their pairs; experts lie beside a network") {
  const ModelSpec inputs = GoldenModel("gemma4_ple");
  CHECK_EQ(inputs.sizing_only, "");
  CHECK_EQ(std::get<PerLayerInputsSpec>(inputs.residual).inputs.width, 16);
  const auto& rope = *AttentionOf(inputs, 2).rope;
  CHECK_EQ(rope.width, 32);
  CHECK(std::get<RopeProportional>(rope.scaling) == RopeProportional{1, 4});
  CHECK_EQ(RopeFrequencies(rope)[3], 1 / std::pow(1e6f, 6.0f / 32));
  CHECK_EQ(RopeFrequencies(rope)[4], 0);
  CHECK_EQ(std::get<GatedMlpSpec>(inputs.layers[5].feed_forward).intermediate, 96);

  const ModelSpec experts = GoldenModel("gemma4_keqv_moe");
  CHECK_EQ(experts.sizing_only, "");
  CHECK_EQ(std::get<PerLayerInputsSpec>(experts.residual).inputs.width, 0);
  const auto& mixture = std::get<MixtureSpec>(experts.layers[0].feed_forward);
  CHECK(mixture.beside_network);
  CHECK_EQ(mixture.shared_intermediate, 48);
}

TEST_CASE("what of Gemma 3n and 4 can't be run is sized, and named") {
  const auto reason = [](const char* type, const std::string& keys) {
    return ModelFromJson(SmallConfig(type, keys)).sizing_only;
  };
  const std::string full = R"("sliding_window": 8, "global_head_dim": 16, "layer_types":
      ["sliding_attention", "full_attention", "full_attention", "full_attention"])";
  CHECK_EQ(reason("gemma4_text", full), "");
  const auto names = [&](const std::string& keys, const char* expected) {
    CAPTURE(keys);
    CHECK_NE(reason("gemma4_text", full + ", " + keys).find(expected), std::string::npos);
  };
  names(R"("use_bidirectional_attention": "all")", "use_bidirectional_attention");
  names(R"("hidden_activation": "mish")", "hidden_activation");
  names(R"("per_layer_config": {"1": {"head_dim": 16, "sliding_window": 4}})", "per_layer_config");
  names(R"("rope_parameters": {"full_attention": {"rope_type": "spiral"}})", "rope_type");
  CHECK_NE(reason("gemma3n_text", full + R"(, "hidden_size_per_layer_input": 0)")
               .find("hidden_size_per_layer_input"),
           std::string::npos);
  CHECK_NE(reason("gemma3n_text", full + R"(, "hidden_size_per_layer_input": 8,
          "activation_sparsity_pattern": [0, 0, 0, 1.5])")
               .find("activation_sparsity_pattern"),
           std::string::npos);
}

TEST_CASE("a mixture without experts is refused") {
  CHECK_EQ(ConfigError(SmallConfig("gemma4_text", R"("enable_moe_block": true)")),
           "config.json: num_experts is missing, expected at least 1 with enable_moe_block");
}

}  // namespace cairn
