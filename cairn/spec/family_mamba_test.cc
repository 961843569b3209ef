#include <doctest/doctest.h>

#include <string>

#include "cairn/spec/families_for_tests.h"

namespace cairn {

TEST_CASE("Mamba's width is its own key, and expand only without it") {
  const std::string sizes = R"("state_size": 16, "conv_kernel": 4, "expand": 16)";
  const ModelSpec model = ModelFromJson(SmallConfig("falcon_mamba", sizes));
  CHECK_EQ(KindsOf(model), "mamba1 mamba1 mamba1 mamba1");
  CHECK_EQ(FixedBytes(model), 4 * (96 * 16 * 4 + 3 * 96 * 2));
  CHECK_EQ(BytesPerToken(model), 0);
  const ModelSpec expanded =
      ModelFromJson(SmallConfig("mamba", sizes + R"(, "intermediate_size": null)"));
  CHECK_EQ(std::get<MambaSpec>(expanded.layers[0].mixer).inner, 16 * 64);
}

TEST_CASE("Mamba 2 is heads x width, whatever expand says") {
  const ModelSpec model = ModelFromJson(SmallConfig("mamba2", R"("num_heads": 6, "head_dim": 8,
      "state_size": 16, "n_groups": 2, "conv_kernel": 4, "expand": 1.5)"));
  CHECK_EQ(FixedBytes(model), 4 * (48 * 16 * 4 + 3 * (48 + 2 * 2 * 16) * 2));
}

TEST_CASE("Jamba's attention comes once a period") {
  const ModelSpec model = ModelFromJson(SmallConfig("jamba", R"("attn_layer_period": 4,
      "attn_layer_offset": 2, "mamba_d_state": 16, "mamba_d_conv": 4, "mamba_expand": 2)"));
  CHECK_EQ(KindsOf(model), "mamba1 mamba1 full mamba1");
  CHECK_EQ(FixedBytes(model), 3 * (128 * 16 * 4 + 3 * 128 * 2));
  CHECK_EQ(ConfigError(SmallConfig("jamba", R"("attn_layer_period": 2, "attn_layer_offset": 2)")),
           "config.json: attn_layer_offset is 2, expected less than attn_layer_period");
}

TEST_CASE("a list of Jamba's layers wins over the period") {
  const std::string sizes = R"("attn_layer_period": 4, "attn_layer_offset": 2, "mamba_d_state": 16,
      "mamba_d_conv": 4, "mamba_expand": 2, )";
  for (const char* key : {"layers_block_type", "layer_types"}) {
    const auto listed = [&](const std::string& list) {
      return SmallConfig("jamba", sizes + '"' + key + R"(": )" + list);
    };
    CHECK_EQ(KindsOf(ModelFromJson(listed(R"(["attention", "mamba", "mamba", "attention"])"))),
             "full mamba1 mamba1 full");
    CHECK_NE(ConfigError(listed(R"(["attention", "moe", "mamba", "mamba"])")).find(key),
             std::string::npos);
    CHECK_NE(ConfigError(listed(R"(["mamba"])")).find("a list of 4 strings"), std::string::npos);
  }
}

TEST_CASE("Zamba keeps a cache for each use of its shared block, heads twice as wide") {
  const ModelSpec model = ModelFromJson(R"({"model_type": "zamba", "hidden_size": 64,
      "num_hidden_layers": 9, "num_attention_heads": 4, "attn_layer_period": 6,
      "attn_layer_offset": 4})");
  CHECK_EQ(KindsOf(model),
           "mamba1 mamba1 mamba1+full mamba1 mamba1 mamba1 mamba1 mamba1+full mamba1");
  CHECK_EQ(BytesPerToken(model), 2 * 2 * 4 * 32 * 2);
}

}  // namespace cairn
