#include <doctest/doctest.h>

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

TEST_CASE("a mixture without experts is refused") {
  CHECK_EQ(ConfigError(SmallConfig("gemma4_text", R"("enable_moe_block": true)")),
           "config.json: num_experts is missing, expected at least 1 with enable_moe_block");
}

}  // namespace cairn
