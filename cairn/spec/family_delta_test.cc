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

}  // namespace cairn
