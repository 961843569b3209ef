#include <doctest/doctest.h>

#include "cairn/spec/families_for_tests.h"

namespace cairn {

TEST_CASE("gemma scales embeddings by the root of hidden and stores norm weights minus one") {
  const ModelSpec model = GoldenModel("gemma");
  CHECK_EQ(model.family, "gemma");
  CHECK(model.norm_weight_plus_one);
  CHECK(model.tied_head);
  CHECK_EQ(model.embedding_scale, 8);
  CHECK_EQ(AttentionOf(model, 0).key_width, 32);
  CHECK_EQ(AttentionOf(model, 0).kv_heads, 1);
  CHECK_FALSE(AttentionOf(model, 0).query_key_norm);
  CHECK_EQ(MlpOf(model, 0).activation, Activation::kGeluTanh);
  CHECK_FALSE(model.layers[0].branch_output_norms);
}

TEST_CASE("gemma heads are 256 wide unless the config says so") {
  const ModelSpec model = ModelFromJson(SmallConfig("gemma", R"("head_dim": null)"));
  CHECK_EQ(AttentionOf(model, 0).key_width, 256);
}

TEST_CASE("old gemma files say gelu and mean its tanh form") {
  const auto activation = [](const std::string& more) {
    return MlpOf(ModelFromJson(SmallConfig("gemma", more)), 0).activation;
  };
  CHECK_EQ(activation(R"("hidden_act": "gelu")"), Activation::kGeluTanh);
  CHECK_EQ(activation(R"("hidden_act": "gelu", "hidden_activation": null)"), Activation::kGeluTanh);
  CHECK_EQ(activation(R"("hidden_act": "gelu", "hidden_activation": "gelu")"),
           Activation::kGeluErf);
  CHECK_EQ(ConfigError(SmallConfig("gemma", R"("hidden_act": "tanh")")),
           "config.json: hidden_act \"tanh\" is not supported; supported: silu, gelu, "
           "gelu_pytorch_tanh, relu2");
}

TEST_CASE("a gemma that sees the future is refused") {
  CHECK_EQ(ConfigError(SmallConfig("gemma", R"("use_bidirectional_attention": true)")),
           "config.json: use_bidirectional_attention true is not supported; supported: false");
}

TEST_CASE("a gemma GGUF holds norm weights with the one added and half-split pairs") {
  FakeGguf file("gemma");
  file.Set("attention.key_length", 32);
  file.Set("attention.value_length", 32);
  const ModelSpec model = file.Model();
  CHECK_FALSE(model.norm_weight_plus_one);
  CHECK_EQ(model.embedding_scale, 8);
  CHECK_EQ(AttentionOf(model, 0).key_width, 32);
  CHECK_EQ(AttentionOf(model, 0).rope->pairs, RopePairs::kHalfSplit);
  CHECK_EQ(MlpOf(model, 0).activation, Activation::kGeluTanh);
}

}  // namespace cairn
