#include <doctest/doctest.h>

#include <string>

#include "cairn/spec/families_for_tests.h"

namespace cairn {

TEST_CASE("a list beats a period, a period beats the class default, a switch beats the number") {
  const std::string window = R"("sliding_window": 128)";
  CHECK_EQ(KindsOf(ModelFromJson(SmallConfig("cohere2", window))), "sliding sliding sliding full");
  CHECK_EQ(KindsOf(ModelFromJson(SmallConfig("cohere2", window + R"(, "layer_switch": 2)"))),
           "sliding full sliding full");
  CHECK_EQ(KindsOf(ModelFromJson(
               SmallConfig("exaone4", window + R"(, "sliding_window_pattern": "LG")"))),
           "sliding full sliding full");
  CHECK_EQ(KindsOf(ModelFromJson(SmallConfig(
               "cohere2", window + R"(, "layer_switch": 2, "layer_types": ["full_attention",
                   "full_attention", "full_attention", "sliding_attention"])"))),
           "full full full sliding");
  CHECK_EQ(KindsOf(ModelFromJson(SmallConfig("qwen2", window + R"(, "max_window_layers": 1)"))),
           "full full full full");
  CHECK_EQ(KindsOf(ModelFromJson(SmallConfig(
               "qwen2", window + R"(, "max_window_layers": 1, "use_sliding_window": true)"))),
           "full sliding sliding sliding");
}

TEST_CASE("a window that the context can't fill is none") {
  CHECK_EQ(KindsOf(ModelFromJson(SmallConfig("phi3", R"("sliding_window": 32768)"))),
           "full full full full");
  CHECK_EQ(KindsOf(ModelFromJson(SmallConfig("phi3", R"("sliding_window": 32767)"))),
           "sliding sliding sliding sliding");
  CHECK_EQ(KindsOf(ModelFromJson(SmallConfig("phi3", R"("sliding_window": null)"))),
           "full full full full");
}

TEST_CASE("experts stand in the layers that a list, a period or a first dense run leaves them") {
  const auto mixtures = [](const std::string& more) {
    std::string kinds;
    const ModelSpec model =
        ModelFromJson(SmallConfig("deepseek", R"("n_routed_experts": 8)" + more));
    for (const LayerSpec& layer : model.layers) {
      kinds += std::holds_alternative<MixtureSpec>(layer.feed_forward) ? 'E' : 'd';
    }
    return kinds;
  };
  CHECK_EQ(mixtures(""), "EEEE");
  CHECK_EQ(mixtures(R"(, "first_k_dense_replace": 1)"), "dEEE");
  CHECK_EQ(mixtures(R"(, "moe_layer_freq": [0, 1, 0, 1])"), "dEdE");
  CHECK_EQ(mixtures(R"(, "moe_layer_freq": 2)"), "EdEd");
  CHECK_EQ(mixtures(R"(, "decoder_sparse_step": 2)"), "dEdE");
  CHECK_EQ(mixtures(R"(, "mlp_only_layers": [0, 3])"), "dEEd");
  CHECK_EQ(mixtures(R"(, "expert_layer_period": 2, "expert_layer_offset": 1)"), "dEdE");
  CHECK_EQ(mixtures(R"(, "mlp_layer_types": ["dense", "sparse", "sparse", "dense"])"), "dEEd");
}

TEST_CASE("experts of a token are read under every spelling, and are no more than there are") {
  const auto per_token = [](const std::string& more) {
    const ModelSpec model = ModelFromJson(SmallConfig("qwen3_moe", R"("num_experts": 8)" + more));
    return std::get<MixtureSpec>(model.layers[0].feed_forward).experts_per_token;
  };
  CHECK_EQ(per_token(""), 0);
  CHECK_EQ(per_token(R"(, "num_experts_per_tok": 2)"), 2);
  CHECK_EQ(per_token(R"(, "num_experts_per_token": 3)"), 3);
  CHECK_EQ(per_token(R"(, "experts_per_token": 4)"), 4);
  CHECK_EQ(per_token(R"(, "moe_topk": [5, 5, 5, 5])"), 5);
  CHECK_EQ(per_token(R"(, "moe_topk": [5, 5, 5, 6])"), 0);
  CHECK_EQ(ConfigError(SmallConfig("qwen3_moe", R"("num_experts": 8, "num_experts_per_tok": 9)")),
           "config.json: num_experts_per_tok is 9, expected an integer from 0 to 8");
}

TEST_CASE("rules that make no sense are refused with their key") {
  CHECK_EQ(ConfigError(SmallConfig("exaone4", R"("sliding_window_pattern": "LX")")),
           "config.json: sliding_window_pattern is \"LX\", expected letters L and G");
  CHECK_EQ(ConfigError(SmallConfig("cohere2", R"("layer_types": ["full_attention"])")),
           "config.json: layer_types is a list of 1, expected a list of 4 strings");
  CHECK_EQ(ConfigError(SmallConfig("qwen3_moe", R"("num_experts": 65536,
                                                   "moe_intermediate_size": 65536)")),
           "config.json: moe_intermediate_size is 65536, expected at most 536870912 rows in all "
           "experts");
}

TEST_CASE("a list of layers counts in families whose class has no windows, too") {
  const std::string types = R"("sliding_window": 512, "layer_types": ["sliding_attention",
      "full_attention", "sliding_attention", "full_attention"])";
  for (const char* type : {"llama", "mistral", "mixtral", "olmo2", "granite", "internlm2"}) {
    CAPTURE(type);
    CHECK_EQ(KindsOf(ModelFromJson(SmallConfig(type, types))), "sliding full sliding full");
    const std::string off = types + R"(, "use_sliding_window": false)";
    CHECK_EQ(KindsOf(ModelFromJson(SmallConfig(type, off))), "full full full full");
    CHECK_EQ(ConfigError(SmallConfig(type, R"("layer_types": ["full_attention"])")),
             "config.json: layer_types is a list of 1, expected a list of 4 strings");
  }
  CHECK_NE(ModelFromJson(SmallConfig("llama", types)).sizing_only, "");
}

TEST_CASE("a switch turns windows off in every family") {
  const std::string off = R"("sliding_window": 512, "use_sliding_window": false)";
  for (const char* type : {"mistral", "mixtral", "phi3", "starcoder2", "qwen2"}) {
    CAPTURE(type);
    CHECK_EQ(KindsOf(ModelFromJson(SmallConfig(type, off))), "full full full full");
  }
}

TEST_CASE("a layer that slides needs a window, unless a switch turns windows off") {
  const std::string types = R"("layer_types": ["sliding_attention", "full_attention",
      "full_attention", "full_attention"])";
  CHECK_EQ(ConfigError(SmallConfig("gpt_oss", types)), "config.json: sliding_window is missing");
  CHECK_EQ(KindsOf(ModelFromJson(SmallConfig("qwen2", types + R"(, "use_sliding_window": false)"))),
           "full full full full");
}

}  // namespace cairn
