#include <doctest/doctest.h>

#include <string>
#include <variant>

#include "cairn/spec/families_for_tests.h"

namespace cairn {

TEST_CASE("lightning attention has as many states as query heads") {
  const ModelSpec model =
      ModelFromJson(SmallConfig("minimax_m1", R"("attn_type_list": [0, 0, 1, 0])"));
  CHECK_EQ(KindsOf(model), "lightning lightning full lightning");
  CHECK_EQ(FixedBytes(model), 3 * 4 * 16 * 16 * 4);
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

namespace {

constexpr const char* kExperts = R"("num_local_experts": 4, "num_experts_per_tok": 2)";

std::string FirstRelease(const std::string& more) {
  return SmallConfig("minimax_text_01",
                     std::string(kExperts) + R"(, "attn_type_list": [0, 0, 1, 0])" + more);
}

// Why a converted file with `more` is sized, not run.
std::string Reason(const std::string& more) {
  return ModelFromJson(SmallConfig("minimax", std::string(kExperts) + R"(, "layer_types":
      ["linear_attention", "linear_attention", "full_attention", "linear_attention"])" +
                                                  more))
      .sizing_only;
}

}  // namespace

TEST_CASE("MiniMax's first release says the same with other keys, and turns part of each head") {
  const ModelSpec model = ModelFromJson(FirstRelease(R"(, "postnorm": true, "rotary_dim": 8,
      "layernorm_linear_attention_alpha": 1.5, "layernorm_linear_attention_beta": 1.25,
      "layernorm_full_attention_alpha": 3.5, "layernorm_full_attention_beta": 0.5,
      "layernorm_mlp_alpha": 2, "layernorm_mlp_beta": 0.75, "shared_intermediate_size": 0,
      "shared_moe_mode": "sigmoid", "sliding_window": null)"));
  CHECK_EQ(model.sizing_only, "");
  CHECK_EQ(KindsOf(model), "lightning lightning full lightning");
  CHECK_EQ(model.layers[0].mixer_scale.keep, 1.5);
  CHECK_EQ(model.layers[0].mixer_scale.add, 1.25);
  CHECK_EQ(model.layers[2].mixer_scale.keep, 3.5);
  CHECK_EQ(model.layers[2].mixer_scale.add, 0.5);
  CHECK_EQ(model.layers[3].feed_forward_scale.keep, 2);
  CHECK_EQ(model.layers[3].feed_forward_scale.add, 0.75);
  CHECK(model.layers[3].feed_forward_scale.keeps_normed);
  CHECK_EQ(AttentionOf(model, 2).rope.value().width, 8);
  CHECK_EQ(AttentionOf(model, 2).rope.value().base, 1000000);
}

TEST_CASE("MiniMax's first release keeps the residual unless its file says that norms come after") {
  const ModelSpec model = ModelFromJson(FirstRelease(""));
  CHECK_EQ(model.sizing_only, "");
  CHECK_FALSE(model.layers[0].mixer_scale.keeps_normed);
  CHECK_EQ(AttentionOf(model, 2).rope.value().width, 16);
}

TEST_CASE("MiniMax with keys whose meaning isn't certain is sized, not run") {
  CHECK_EQ(Reason(""), "");
  CHECK_EQ(Reason(R"(, "postnorm": true, "rotary_dim": 16)"), "");
  CHECK_NE(Reason(R"(, "postnorm": false)").find("postnorm"), std::string::npos);
  CHECK_NE(Reason(R"(, "rotary_dim": 8)").find("rotary_dim"), std::string::npos);
  CHECK_NE(Reason(R"(, "sliding_window": 8)").find("sliding_window"), std::string::npos);
  CHECK_NE(Reason(R"(, "shared_intermediate_size": 96)").find("shared_intermediate_size"),
           std::string::npos);
  CHECK_NE(Reason(R"(, "mlp_beta_factor": 2, "layernorm_mlp_beta": 1)").find("layernorm_mlp_beta"),
           std::string::npos);
  CHECK_NE(Reason(R"(, "layer_types": null)").find("layer_types"), std::string::npos);
  CHECK_NE(ModelFromJson(FirstRelease(R"(, "rotary_dim": 7)")).sizing_only.find("rotary_dim"),
           std::string::npos);
}

}  // namespace cairn
