#include <doctest/doctest.h>

#include <string>
#include <variant>

#include "cairn/spec/families_for_tests.h"

namespace cairn {

namespace {

constexpr const char* kKda = R"("kv_lora_rank": 32, "qk_rope_head_dim": 8, "qk_nope_head_dim": 16,
    "v_head_dim": 16, "linear_num_heads": 4, "linear_head_dim": 16, "linear_conv_kernel_dim": 4)";
constexpr int64_t kKdaBytes = 4 * 16 * 16 * 4 + 3 * 3 * 4 * 16 * 2;

}  // namespace

TEST_CASE("KDA's layers are counted from one and keep a matrix a head") {
  const std::string latent = R"("kv_lora_rank": 32, "qk_rope_head_dim": 8, "qk_nope_head_dim": 16,
      "v_head_dim": 16, "linear_attn_config": {"num_heads": 4, "head_dim": 16,
      "short_conv_kernel_size": 4, "full_attn_layers": [4], "kda_layers": )";
  const ModelSpec model = ModelFromJson(SmallConfig("kimi_linear", latent + "[1, 2, 3]}"));
  CHECK_EQ(KindsOf(model), "kda kda kda mla");
  CHECK_EQ(FixedBytes(model), 3 * (4 * 16 * 16 * 4 + 3 * 3 * 4 * 16 * 2));
  CHECK_EQ(ConfigError(SmallConfig("kimi_linear", latent + "[1, 2]}")),
           "config.json: linear_attn_config.kda_layers is a list of 2, expected exactly the layers "
           "that full_attn_layers leaves");
}

TEST_CASE("Bailing's groups end with a latent layer, and a last group that is cut is latent") {
  const std::string keys = std::string(kKda) + R"(, "num_hidden_layers": 5)";
  const ModelSpec model =
      ModelFromJson(SmallConfig("bailing_hybrid", keys + R"(, "layer_group_size": 2)"));
  CHECK_EQ(KindsOf(model), "kda mla kda mla mla");
  CHECK_EQ(FixedBytes(model), 2 * kKdaBytes);
  CHECK_EQ(ConfigError(SmallConfig("bailing_hybrid", keys)),
           "config.json: layer_group_size is missing, expected an integer from 1 to 512");
}

TEST_CASE("GLM 5 next keeps a gate beside each index key that is pooled") {
  const std::string keys = std::string(kKda) + R"(, "index_head_dim": 8, "index_n_heads": 4)";
  const ModelSpec plain = ModelFromJson(SmallConfig("glm5_next_text", keys));
  CHECK_EQ(KindsOf(plain), "kda kda kda mla+index");
  CHECK_EQ(BytesPerToken(plain), 2 * (40 + 8));
  const ModelSpec pooled =
      ModelFromJson(SmallConfig("glm5_next_text", keys + R"(, "index_kpool": 4)"));
  CHECK_EQ(BytesPerToken(pooled), 2 * (40 + 8 + 9));
}

TEST_CASE("Kimi Linear's decays are free, Bailing's are bounded unless the file says otherwise") {
  const std::string keys = std::string(kKda) + R"(, "layer_group_size": 2)";
  const auto bound = [](const ModelSpec& model) {
    CHECK_EQ(model.sizing_only, "");
    return std::get<DeltaRuleSpec>(model.layers[0].mixer).decay_bound;
  };
  CHECK_EQ(bound(ModelFromJson(SmallConfig("kimi_linear", keys))), 0);
  CHECK_EQ(bound(ModelFromJson(SmallConfig("bailing_hybrid", keys))), -5);
  const std::string other = keys + R"(, "kda_lower_bound": -3)";
  CHECK_EQ(bound(ModelFromJson(SmallConfig("bailing_hybrid", other))), -3);
  const std::string free = keys + R"(, "kda_safe_gate": false)";
  CHECK_EQ(bound(ModelFromJson(SmallConfig("bailing_hybrid", free))), 0);
}

}  // namespace cairn
