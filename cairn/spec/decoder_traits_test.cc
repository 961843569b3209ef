#include <doctest/doctest.h>

#include <string>

#include "cairn/spec/families_for_tests.h"

namespace cairn {

TEST_CASE("a row of traits is read into every layer") {
  const ModelSpec model = ModelFromJson(SmallConfig("gpt_oss", R"("sliding_window": 8,
      "num_local_experts": 4)"));
  CHECK_EQ(model.family, "gpt_oss");
  CHECK_EQ(KindsOf(model), "sliding full sliding full");
  const AttentionSpec& attention = AttentionOf(model, 0);
  CHECK(attention.qkv_bias);
  CHECK(attention.output_bias);
  CHECK_EQ(attention.other_parameters, 4);
  const auto& mixture = std::get<MixtureSpec>(model.layers[0].feed_forward);
  CHECK_EQ(mixture.experts, 4);
  CHECK_EQ(mixture.intermediate, 96);
  CHECK(mixture.expert_bias);
  CHECK(mixture.router_bias);
}

TEST_CASE("a choice follows the config's key, or the family") {
  CHECK_FALSE(AttentionOf(ModelFromJson(SmallConfig("qwen3")), 0).qkv_bias);
  CHECK(AttentionOf(ModelFromJson(SmallConfig("qwen3", R"("attention_bias": true)")), 0).qkv_bias);
  CHECK(AttentionOf(ModelFromJson(SmallConfig("qwen2", R"("attention_bias": false)")), 0).qkv_bias);
}

}  // namespace cairn
