#include <doctest/doctest.h>

#include <string>
#include <variant>

#include "cairn/spec/families_for_tests.h"

namespace cairn {

namespace {

constexpr const char* kKda = R"("kv_lora_rank": 32, "qk_rope_head_dim": 8, "qk_nope_head_dim": 16,
    "v_head_dim": 16, "linear_num_heads": 4, "linear_head_dim": 16, "linear_conv_kernel_dim": 4)";
std::string Glm5Config(const std::string& more = "") {
  const std::string keys = std::string(kKda) + R"(, "qk_rope_head_dim": 0, "q_lora_rank": 32,
      "index_head_dim": 8, "index_n_heads": 4, "index_topk": 12, "index_kpool": 4,
      "n_routed_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 24,
      "n_shared_experts": 1, "mlp_layer_types": ["dense", "sparse", "sparse", "sparse"],
      "swiglu_limit": 1.5, "rms_norm_eps": 0.002)";
  return SmallConfig("glm5_next_text", keys + (more.empty() ? "" : ", " + more));
}

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

TEST_CASE("GLM 5 next keeps a gate beside each index key, by which keys are pooled") {
  const std::string keys = std::string(kKda) + R"(, "index_head_dim": 8, "index_n_heads": 4)";
  const auto index_of = [](const ModelSpec& model) {
    CHECK_EQ(KindsOf(model), "kda kda kda mla+index");
    CHECK_EQ(BytesPerToken(model), 2 * (40 + 8 + 9));
    return *std::get<LatentAttentionSpec>(model.layers[3].mixer).index;
  };
  CHECK_EQ(index_of(ModelFromJson(SmallConfig("glm5_next_text", keys))).pool, 16);
  const std::string small = keys + R"(, "index_kpool": 4)";
  CHECK_EQ(index_of(ModelFromJson(SmallConfig("glm5_next_text", small))).pool, 4);
}

TEST_CASE(
    "GLM 5 next reads whole pools and the tokens behind them, and ends in a mean of streams") {
  const ModelSpec model = ModelFromJson(Glm5Config());
  CHECK_EQ(model.sizing_only, "");
  const auto& latent = std::get<LatentAttentionSpec>(model.layers[3].mixer);
  CHECK_EQ(latent.picks, 12 + 3);
  CHECK_EQ(latent.index->pool, 4);
  CHECK_EQ(latent.rank_norm_epsilon, 0.002);
  CHECK_FALSE(latent.rope.has_value());
  const auto& mixture = std::get<MixtureSpec>(model.layers[1].feed_forward);
  CHECK_EQ(mixture.shared_activation, Activation::kClippedSilu);
  CHECK_EQ(mixture.clip.limit, 1.5);
  CHECK_EQ(mixture.router.score, RouterSpec::Score::kSigmoid);
  CHECK_EQ(std::get<GatedMlpSpec>(model.layers[0].feed_forward).clip.limit, 1.5);
  const auto& streams = std::get<HyperConnectionsSpec>(model.residual);
  CHECK_EQ(streams.streams, 4);
  CHECK(streams.ends_in_mean);
}

TEST_CASE("GLM 5 next's decays are bounded unless the file says null") {
  const auto bound = [](const std::string& more) {
    const ModelSpec model = ModelFromJson(Glm5Config(more));
    CHECK_EQ(model.sizing_only, "");
    return std::get<DeltaRuleSpec>(model.layers[0].mixer).decay_bound;
  };
  CHECK_EQ(bound(""), -5);
  CHECK_EQ(bound(R"("linear_lower_bound": -2)"), -2);
  CHECK_EQ(bound(R"("linear_lower_bound": null)"), 0);
  const std::string nested = R"("linear_attn_config": {"num_heads": 4, "head_dim": 16)";
  CHECK_EQ(bound(nested + R"(, "gate_lower_bound": -3})"), -3);
  CHECK_EQ(bound(nested + R"(, "gate_lower_bound": null})"), -5);
  CHECK_EQ(bound(nested + R"(, "gate_lower_bound": null, "safe_gate": false})"), 0);
}

TEST_CASE("variants of GLM 5 next that can't be run are named") {
  const auto reason = [](const std::string& more) {
    return ModelFromJson(Glm5Config(more)).sizing_only;
  };
  CHECK_EQ(reason(R"("index_topk": 10)"),
           "config.json: index_topk is 10, expected a multiple of index_kpool (4)");
  CHECK_EQ(reason(R"("index_kpool_always_select_tail": false)"),
           "config.json: index_kpool_always_select_tail false is not supported; supported: true");
  CHECK_EQ(reason(R"("index_kpool_always_select_tail": false, "index_kpool": 1)"), "");
  CHECK_EQ(reason(R"("qk_rope_head_dim": 8)"),
           "config.json: qk_rope_head_dim 8 is not supported; supported: 0");
  CHECK_EQ(reason(R"("mlp_layer_types": null)"), "config.json: mlp_layer_types is missing");
  CHECK_EQ(reason(R"("indexer_types": ["full", "full", "full", "shared"])"),
           "config.json: indexer_types a list of 4 is not supported; supported: an index in the "
           "first layer");
}

TEST_CASE("Kimi K3 gates and bounds its layers, and attends to whole blocks of them") {
  const std::string keys = R"("kv_lora_rank": 32, "qk_rope_head_dim": 8, "qk_nope_head_dim": 16,
      "v_head_dim": 16, "q_lora_rank": 24, "mla_use_output_gate": true, "attn_res_block_size": 3,
      "num_experts": 8, "num_experts_per_token": 2, "moe_intermediate_size": 16,
      "routed_expert_hidden_size": 32, "latent_moe_use_norm": true, "activation_situ_beta": 4,
      "activation_situ_linear_beta": 25, "linear_attn_config": {"num_heads": 4, "head_dim": 16,
      "gate_lower_bound": -5, "use_full_rank_gate": true, "full_attn_layers": [4]})";
  const ModelSpec model =
      ModelFromJson(SmallConfig("kimi_linear", keys + R"(, "hidden_act": "situ")"));
  CHECK_EQ(model.sizing_only, "");
  CHECK_EQ(model.uncounted, "");
  CHECK_EQ(std::get<AttendedBlocksSpec>(model.residual).block, 3);
  CHECK_EQ(std::get<DeltaRuleSpec>(model.layers[0].mixer).decay_bound, -5);
  CHECK_EQ(std::get<LatentAttentionSpec>(model.layers[3].mixer).output_gate,
           OutputGate::kOwnChannels);
  const auto& mixture = std::get<MixtureSpec>(model.layers[1].feed_forward);
  CHECK(mixture.latent_norm);
  CHECK_EQ(mixture.latent, 32);
  CHECK_EQ(mixture.shared_activation, Activation::kSitu);
  CHECK_EQ(mixture.clip.limit, 4);
  CHECK_EQ(mixture.clip.up_limit, 25);
  const auto refusal = [&](const std::string& key) {
    return ModelFromJson(SmallConfig("kimi_linear", keys + ", " + key)).sizing_only;
  };
  CHECK_NE(refusal(R"("hidden_act": "gelu")").find("hidden_act"), std::string::npos);
  CHECK_NE(refusal(R"("mla_use_nope": false)").find("mla_use_nope"), std::string::npos);
  CHECK_NE(refusal(R"("moe_router_activation_func": "softmax")").find("softmax"),
           std::string::npos);
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
