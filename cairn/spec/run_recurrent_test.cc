#include "cairn/spec/run_recurrent.h"

#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <variant>

#include "cairn/spec/families_for_tests.h"

namespace cairn {
namespace {

template <class Spec>
const Spec& MixerOf(const ModelSpec& model, size_t layer) {
  return std::get<Spec>(model.layers[layer].mixer);
}

}  // namespace

TEST_CASE("LFM2 turns heads about another base and can be run; its experts can't yet") {
  const std::string keys = R"("conv_L_cache": 3, "full_attn_idxs": [2], "norm_eps": 0.001)";
  const ModelSpec model = ModelFromJson(SmallConfig("lfm2", keys));
  CHECK_EQ(model.sizing_only, "");
  CHECK_EQ(model.norm_epsilon, 0.001);
  CHECK_EQ(AttentionOf(model, 2).rope->base, 1e6);
  CHECK_NE(ModelFromJson(SmallConfig("lfm2_moe", keys)).sizing_only, "");
}

TEST_CASE("Mamba needs no context length, and biases are its config's") {
  const ModelSpec model = ModelFromJson(R"({"model_type": "mamba", "hidden_size": 64,
      "num_hidden_layers": 2, "vocab_size": 256, "use_bias": true, "use_conv_bias": false})");
  CHECK_EQ(model.sizing_only, "");
  CHECK(MixerOf<MambaSpec>(model, 1).input_bias);
  CHECK_FALSE(MixerOf<MambaSpec>(model, 1).conv_bias);
  CHECK_NE(ModelFromJson(SmallConfig("mamba", R"("hidden_act": "gelu")")).sizing_only, "");
}

TEST_CASE("Mamba 2's step widths are bounded by its config, for which Infinity is no bound") {
  const std::string heads = R"("num_heads": 8, "head_dim": 16, "state_size": 20)";
  const auto limits = [&](const std::string& value) {
    return ModelFromJson(SmallConfig("mamba2", heads + R"(, "time_step_limit": )" + value));
  };
  for (const char* open : {"[0.5, Infinity]", R"([0.5, {"__float__": "Infinity"}])"}) {
    const ModelSpec model = limits(open);
    CHECK_EQ(model.sizing_only, "");
    CHECK_EQ(MixerOf<MambaSpec>(model, 0).step_low, 0.5);
    CHECK(std::isinf(MixerOf<MambaSpec>(model, 0).step_high));
  }
  CHECK_EQ(MixerOf<MambaSpec>(limits("[0.0, 2.0]"), 0).step_high, 2);
  for (const char* wrong : {"[2.0, 1.0]", "[1.0]", "7", R"(["x", 1.0])", "[NaN, 1.0]"}) {
    CAPTURE(wrong);
    CHECK_NE(limits(wrong).sizing_only.find("time_step_limit"), std::string::npos);
  }
}

TEST_CASE("Jamba's attention doesn't turn, its picks aren't normalised") {
  const ModelSpec model = ModelFromJson(
      SmallConfig("jamba", R"("attn_layer_period": 2, "attn_layer_offset": 1, "num_experts": 4,
      "num_experts_per_tok": 2, "expert_layer_period": 2, "expert_layer_offset": 1)"));
  CHECK_EQ(model.sizing_only, "");
  CHECK_FALSE(AttentionOf(model, 1).rope.has_value());
  CHECK(MixerOf<MambaSpec>(model, 0).inner_norms);
  CHECK_FALSE(std::get<MixtureSpec>(model.layers[1].feed_forward).router.normalise);
}

TEST_CASE("Nemotron-H routes like DeepSeek V3 and squares its activations") {
  const std::string keys = R"("hybrid_override_pattern": "ME*-", "mamba_num_heads": 6,
      "mamba_head_dim": 16, "ssm_state_size": 20, "n_routed_experts": 6, "num_experts_per_tok": 2,
      "moe_intermediate_size": 32, "routed_scaling_factor": 2.5, "time_step_min": 0.25)";
  const ModelSpec model = ModelFromJson(SmallConfig("nemotron_h", keys));
  CHECK_EQ(model.sizing_only, "");
  CHECK_EQ(MixerOf<MambaSpec>(model, 0).step_low, 0.25);
  const auto& mixture = std::get<MixtureSpec>(model.layers[1].feed_forward);
  CHECK_EQ(mixture.router.score, RouterSpec::Score::kSigmoid);
  CHECK(mixture.router.choice_bias);
  CHECK(mixture.router.normalise);
  CHECK_EQ(mixture.router.scale, 2.5);
  CHECK_EQ(mixture.activation, Activation::kReluSquared);
  CHECK_NE(ModelFromJson(SmallConfig("nemotron_h", keys + R"(, "n_group": 4)")).sizing_only, "");
}

TEST_CASE("Falcon-H1 multiplies whatever its config has a multiplier for") {
  const ModelSpec model = ModelFromJson(
      SmallConfig("falcon_h1", R"("mamba_n_heads": 6, "mamba_d_head": 16, "mamba_d_ssm": 96,
      "mamba_d_state": 20, "mamba_n_groups": 2, "embedding_multiplier": 1.5,
      "lm_head_multiplier": 0.5, "key_multiplier": 0.75, "ssm_in_multiplier": 1.25,
      "ssm_multipliers": [1, 2, 3, 4, 5], "mlp_multipliers": [0.5, 2], "mamba_rms_norm": true,
      "mamba_norm_before_gate": false)"));
  CHECK_EQ(model.sizing_only, "");
  CHECK_EQ(model.embedding_scale, 1.5);
  CHECK_EQ(model.logit_factor, 0.5);
  const auto& both = MixerOf<AttentionBesideMambaSpec>(model, 3);
  CHECK_EQ(both.attention.key_factor, 0.75);
  CHECK(both.attention.rope.has_value());
  CHECK_EQ(both.mamba.input_factor, 1.25);
  CHECK_EQ(both.mamba.part_factors[4], 5);
  CHECK(both.mamba.gated_norm);
  CHECK_FALSE(both.mamba.gates_after_norm);
  CHECK_EQ(MlpOf(model, 0).gate_factor, 0.5);
  CHECK_EQ(MlpOf(model, 0).output_factor, 2);
}

TEST_CASE("RWKV 4 halves its residual every few layers") {
  const ModelSpec model = ModelFromJson(R"({"model_type": "rwkv", "hidden_size": 64,
      "num_hidden_layers": 4, "vocab_size": 256, "context_length": 512, "rescale_every": 2})");
  CHECK_EQ(model.sizing_only, "");
  CHECK_EQ(model.norm, NormKind::kLayer);
  CHECK(model.embedding_norm);
  CHECK_EQ(model.layers[0].feed_forward_scale.keep, 1);
  CHECK_EQ(model.layers[1].mixer_scale.add, 1);
  CHECK_EQ(model.layers[1].feed_forward_scale.keep, 0.5);
  CHECK_EQ(model.layers[1].feed_forward_scale.add, 0.5);
  CHECK_EQ(model.layers[2].mixer_scale.add, 0.5);
  CHECK_NE(ModelFromJson(SmallConfig("rwkv5")).sizing_only, "");
}

}  // namespace cairn
