#include <doctest/doctest.h>

#include <string>

#include "cairn/spec/families_for_tests.h"

namespace cairn {

namespace {

constexpr const char* kDelta = R"("linear_num_key_heads": 2, "linear_num_value_heads": 4,
    "linear_key_head_dim": 8, "linear_value_head_dim": 16, "linear_conv_kernel_dim": 4)";
constexpr int64_t kDeltaBytes = 4 * 8 * 16 * 4 + 3 * (2 * 2 * 8 + 4 * 16) * 2;

}  // namespace

TEST_CASE("Gated DeltaNet keeps a matrix a value head and a convolution's tail") {
  const ModelSpec model = ModelFromJson(SmallConfig("qwen3_next", kDelta));
  CHECK_EQ(KindsOf(model), "gated_delta gated_delta gated_delta full");
  CHECK_EQ(FixedBytes(model), 3 * kDeltaBytes);
  CHECK_EQ(BytesPerToken(model), 2 * 2 * 16 * 2);
}

TEST_CASE("the list of layers wins over the interval, and a state's type over the default") {
  const ModelSpec model = ModelFromJson(
      SmallConfig("qwen3_5_text", std::string(kDelta) + R"(, "full_attention_interval": 4,
          "mamba_ssm_dtype": "bfloat16", "layer_types": ["linear_attention", "full_attention",
          "full_attention", "full_attention"])"));
  CHECK_EQ(KindsOf(model), "gated_delta full full full");
  CHECK_EQ(FixedBytes(model), kDeltaBytes - 4 * 8 * 16 * 2);
}

TEST_CASE("value heads are a multiple of the key heads") {
  const std::string odd = std::string(kDelta) + R"(, "linear_num_value_heads": 5)";
  CHECK_EQ(ConfigError(SmallConfig("qwen3_next", odd)),
           "config.json: linear_num_value_heads is 5, expected a multiple of linear_num_key_heads "
           "(2)");
}

TEST_CASE("lightning attention has as many states as query heads") {
  const ModelSpec model =
      ModelFromJson(SmallConfig("minimax_m1", R"("attn_type_list": [0, 0, 1, 0])"));
  CHECK_EQ(KindsOf(model), "lightning lightning full lightning");
  CHECK_EQ(FixedBytes(model), 3 * 4 * 16 * 16 * 4);
}

TEST_CASE("Gated DeltaNet runs beside gated attention of which a quarter of each head turns") {
  const ModelSpec model = ModelFromJson(SmallConfig("qwen3_next", kDelta));
  CHECK_EQ(model.sizing_only, "");
  CHECK(model.norm_weight_plus_one);
  const auto& attention = std::get<AttentionSpec>(model.layers[3].mixer);
  CHECK_EQ(attention.output_gate, OutputGate::kChannels);
  CHECK_EQ(attention.rope.value().width, 4);
}

TEST_CASE("a convolution behind another activation than SiLU is sized, not run") {
  const std::string gelu = std::string(kDelta) + R"(, "hidden_act": "gelu")";
  CHECK_NE(ModelFromJson(SmallConfig("qwen3_next", gelu)).sizing_only.find("hidden_act"),
           std::string::npos);
}

TEST_CASE("MiniMax adds each branch to its normed input, with a factor for either") {
  const ModelSpec model = ModelFromJson(
      SmallConfig("minimax", R"("layer_types": ["linear_attention", "linear_attention",
          "full_attention", "linear_attention"], "linear_attn_alpha_factor": 1.5,
          "full_attn_beta_factor": 0.5, "mlp_alpha_factor": 2)"));
  CHECK_EQ(model.sizing_only, "");
  CHECK_EQ(model.layers[0].mixer_scale.keep, 1.5);
  CHECK_EQ(model.layers[2].mixer_scale.keep, 1);
  CHECK_EQ(model.layers[2].mixer_scale.add, 0.5);
  CHECK_EQ(model.layers[1].feed_forward_scale.keep, 2);
  CHECK(model.layers[3].feed_forward_scale.keeps_normed);
}

TEST_CASE("MiniMax with its first release's keys is sized, not run") {
  const ModelSpec model =
      ModelFromJson(SmallConfig("minimax", R"("layer_types": ["linear_attention",
          "linear_attention", "full_attention", "linear_attention"], "postnorm": true)"));
  CHECK_NE(model.sizing_only.find("postnorm"), std::string::npos);
}

}  // namespace cairn
