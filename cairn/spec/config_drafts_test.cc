#include "cairn/spec/config_drafts.h"

#include <doctest/doctest.h>

#include <string>

#include "cairn/spec/families_for_tests.h"

namespace cairn {
namespace {

std::string DraftKinds(const std::string& type, const std::string& keys) {
  ModelSpec drafts = ModelFromJson(SmallConfig(type, keys));
  drafts.layers = drafts.draft_layers;
  return KindsOf(drafts);
}

}  // namespace

TEST_CASE("draft layers are counted by any of three spellings and are part of no size") {
  CHECK_EQ(DraftKinds("qwen2", ""), "");
  CHECK_EQ(DraftKinds("qwen2", R"("num_nextn_predict_layers": 0)"), "");
  CHECK_EQ(DraftKinds("mimo", R"("num_nextn_predict_layers": 1)"), "full");
  CHECK_EQ(DraftKinds("qwen2", R"("mtp_num_hidden_layers": 2)"), "full full");
  CHECK_EQ(DraftKinds("minimax_m2", R"("num_mtp_modules": 3, "mtp_transformer_layers": 1)"),
           "full full full");
  const ModelSpec without = ModelFromJson(SmallConfig("qwen2"));
  const ModelSpec with = ModelFromJson(SmallConfig("qwen2", R"("mtp_num_hidden_layers": 2)"));
  CHECK_EQ(BytesPerToken(with), BytesPerToken(without));
  CHECK_EQ(ConfigError(SmallConfig("qwen2", R"("num_nextn_predict_layers": -1)")),
           "config.json: num_nextn_predict_layers is -1, expected an integer from 0 to 64");
}

TEST_CASE("a hybrid's draft layer attends, as its last attending layer does") {
  CHECK_EQ(DraftKinds("qwen3_next", R"("linear_num_key_heads": 2, "linear_num_value_heads": 4,
               "linear_key_head_dim": 8, "linear_value_head_dim": 16, "linear_conv_kernel_dim": 4,
               "num_nextn_predict_layers": 1)"),
           "full");
}

TEST_CASE("listed draft blocks are like the model's own") {
  const std::string keys = R"("hybrid_override_pattern": "M-*E", "mamba_num_heads": 6,
      "mamba_head_dim": 8, "ssm_state_size": 16, "n_routed_experts": 4, "moe_intermediate_size": 32,
      "num_nextn_predict_layers": 1)";
  CHECK_EQ(DraftKinds("nemotron_h", keys + R"(, "mtp_layers_block_type": ["attention", "moe"])"),
           "full none");
  CHECK_EQ(DraftKinds("nemotron_h", keys + R"(, "mtp_hybrid_override_pattern": "*E")"),
           "full none");
}

TEST_CASE("DeepSeek V4's draft layer has the last ratio of the list") {
  CHECK_EQ(DraftKinds("deepseek_v4", R"("sliding_window": 16, "num_nextn_predict_layers": 1,
               "compress_ratios": [128, 128, 128, 128, 0])"),
           "sliding");
}

}  // namespace cairn
