#include <doctest/doctest.h>

#include <string>

#include "cairn/spec/families_for_tests.h"

namespace cairn {

namespace {

std::string Latent(const std::string& type, const std::string& more = "") {
  return SmallConfig(type, R"("kv_lora_rank": 32, "qk_rope_head_dim": 8, "qk_nope_head_dim": 16,
      "v_head_dim": 16, "q_lora_rank": null)" +
                               (more.empty() ? "" : ", " + more));
}

}  // namespace

TEST_CASE("latent attention keeps one row of latent and rotated key, whatever the heads") {
  for (const char* type : {"deepseek_v2", "deepseek_v3", "kimi_k2", "glm4_moe_lite", "minicpm3"}) {
    const ModelSpec model = ModelFromJson(Latent(type));
    CHECK_EQ(KindsOf(model), "mla mla mla mla");
    CHECK_EQ(BytesPerToken(model), 4 * (32 + 8) * 2);
  }
  const ModelSpec twice = ModelFromJson(Latent("longcat_flash"));
  CHECK_EQ(BytesPerToken(twice), 8 * (32 + 8) * 2);
}

TEST_CASE("without a latent rank deepseek_v2 is plain attention") {
  const std::string json = SmallConfig("deepseek_v2", R"("kv_lora_rank": null, "use_mla": false)");
  CHECK_EQ(KindsOf(ModelFromJson(json)), "full full full full");
  CHECK_EQ(ConfigError(SmallConfig("deepseek_v3")),
           "config.json: kv_lora_rank is missing, expected an integer from 1 to 4194304");
}

TEST_CASE("index keys are one head wide, and only where a layer has its own") {
  const std::string index = R"("index_head_dim": 8, "index_n_heads": 4)";
  CHECK_EQ(BytesPerToken(ModelFromJson(Latent("deepseek_v32", index))), 4 * (40 + 8) * 2);
  const ModelSpec shared = ModelFromJson(
      Latent("glm_moe_dsa", index + R"(, "indexer_types": ["full", "shared", "shared", "full"])"));
  CHECK_EQ(KindsOf(shared), "mla+index mla mla mla+index");
  CHECK_EQ(BytesPerToken(shared), (4 * 40 + 2 * 8) * 2);
  CHECK_EQ(
      KindsOf(ModelFromJson(Latent("glm_moe_dsa", index + R"(, "index_topk_pattern": "FSSF")"))),
      "mla+index mla mla mla+index");
}

TEST_CASE("LongCat's two networks a layer are counted, one of them beside experts") {
  CHECK_FALSE(ModelFromJson(Latent("longcat_flash")).uncounted.empty());
  const ModelSpec model = ModelFromJson(Latent("longcat_flash", R"("ffn_hidden_size": 96,
      "expert_ffn_hidden_size": 24, "n_routed_experts": 8, "zero_expert_num": 4, "moe_topk": 3)"));
  CHECK(model.uncounted.empty());
  const auto& mixture = std::get<MixtureSpec>(model.layers[2].feed_forward);
  CHECK_EQ(mixture.shared_intermediate, 96);
  CHECK_EQ(mixture.other_parameters, 4 * (64 + 1));
  CHECK_EQ(MlpOf(model, 3).intermediate, 96);
}

}  // namespace cairn
