#include <doctest/doctest.h>

#include "cairn/spec/families_for_tests.h"

namespace cairn {

TEST_CASE("a llama config gives plain attention, half-split rotation and an untied head") {
  const ModelSpec model = GoldenModel("llama_mha");
  CHECK_EQ(model.family, "llama");
  CHECK_EQ(model.vocabulary, 256);
  CHECK_EQ(model.hidden, 64);
  CHECK_EQ(model.context_length, TokenCount(512));
  CHECK_EQ(model.norm_epsilon, 0.001);
  CHECK_FALSE(model.norm_weight_plus_one);
  CHECK_FALSE(model.tied_head);
  CHECK_EQ(model.embedding_scale, 1);
  CHECK_EQ(model.logit_cap, 0);
  REQUIRE_EQ(model.layers.size(), 4);
  CHECK_FALSE(model.layers[0].branch_output_norms);
  const AttentionSpec& attention = AttentionOf(model, 0);
  CHECK_EQ(attention.heads, 4);
  CHECK_EQ(attention.kv_heads, 4);
  CHECK_EQ(attention.key_width, 16);
  CHECK_EQ(attention.value_width, 16);
  CHECK_EQ(attention.scale, 0.25);
  CHECK_EQ(attention.lifetime, Lifetime::All());
  REQUIRE(attention.rope.has_value());
  CHECK_EQ(attention.rope->pairs, RopePairs::kHalfSplit);
  CHECK_EQ(attention.rope->width, 16);
  CHECK_EQ(attention.rope->base, 10000);
  CHECK(std::holds_alternative<std::monostate>(attention.rope->scaling));
  CHECK_EQ(MlpOf(model, 0).intermediate, 96);
  CHECK_EQ(MlpOf(model, 0).activation, Activation::kSilu);
}

TEST_CASE("llama's variants are read: grouped heads, biases, wide heads, tying") {
  const ModelSpec grouped = GoldenModel("llama_gqa");
  CHECK(grouped.tied_head);
  CHECK_EQ(AttentionOf(grouped, 0).kv_heads, 2);
  CHECK_FALSE(AttentionOf(grouped, 0).qkv_bias);

  const ModelSpec single = GoldenModel("llama_mqa");
  CHECK_EQ(AttentionOf(single, 0).kv_heads, 1);
  CHECK_EQ(AttentionOf(single, 0).key_width, 32);
  CHECK(AttentionOf(single, 0).qkv_bias);
  CHECK(AttentionOf(single, 0).output_bias);
  CHECK(MlpOf(single, 0).bias);
}

TEST_CASE("the first llama files leave out KV heads and call the context max_sequence_length") {
  const ModelSpec model = ModelFromJson(R"({"model_type": "llama", "hidden_size": 64,
      "intermediate_size": 96, "num_hidden_layers": 2, "num_attention_heads": 4, "vocab_size": 9,
      "max_sequence_length": 2048})");
  CHECK_EQ(AttentionOf(model, 1).kv_heads, 4);
  CHECK_EQ(AttentionOf(model, 1).key_width, 16);
  CHECK_EQ(model.context_length, TokenCount(2048));
  CHECK_EQ(model.norm_epsilon, 1e-6);
}

TEST_CASE("llama ignores a sliding_window, as its reference does") {
  const ModelSpec model = ModelFromJson(SmallConfig("llama", R"("sliding_window": 128)"));
  CHECK_EQ(AttentionOf(model, 0).lifetime, Lifetime::All());
}

TEST_CASE("a llama GGUF rotates interleaved pairs; its tensors tell tying and biases") {
  FakeGguf file("llama");
  const ModelSpec model = file.Model();
  CHECK_EQ(model.family, "llama");
  CHECK_EQ(model.vocabulary, 3);
  CHECK_EQ(model.hidden, 64);
  CHECK_EQ(model.context_length, TokenCount(1024));
  CHECK_EQ(model.norm_epsilon, 1e-5);
  CHECK(model.tied_head);
  CHECK_FALSE(model.norm_weight_plus_one);
  REQUIRE_EQ(model.layers.size(), 4);
  const AttentionSpec& attention = AttentionOf(model, 0);
  CHECK_EQ(attention.heads, 4);
  CHECK_EQ(attention.kv_heads, 2);
  CHECK_EQ(attention.key_width, 16);
  CHECK_EQ(attention.scale, 0.25);
  CHECK_EQ(attention.rope->pairs, RopePairs::kInterleaved);
  CHECK_EQ(attention.rope->base, 10000);
  CHECK_FALSE(attention.qkv_bias);
  CHECK_EQ(MlpOf(model, 0).activation, Activation::kSilu);

  file.tensors = {"output.weight", "blk.0.attn_q.bias", "blk.0.ffn_gate.bias"};
  const ModelSpec biased = file.Model();
  CHECK_FALSE(biased.tied_head);
  CHECK(AttentionOf(biased, 3).qkv_bias);
  CHECK_FALSE(AttentionOf(biased, 3).output_bias);
  CHECK(MlpOf(biased, 3).bias);
}

TEST_CASE("a window in a llama GGUF holds for every layer") {
  FakeGguf file("llama");
  file.Set("attention.sliding_window", 256);
  for (size_t i = 0; i < 4; ++i) {
    CHECK_EQ(AttentionOf(file.Model(), i).lifetime, Lifetime::Window(TokenCount(256)));
  }
  file.Set("attention.sliding_window", -1);
  CHECK_EQ(file.Message(),
           "m.gguf: key llama.attention.sliding_window is -1, expected an integer from 0 to "
           "268435456");
}

TEST_CASE("a llama GGUF with experts is sized, and says why it can't be run") {
  FakeGguf file("llama");
  file.Set("expert_count", 8);
  CHECK_EQ(file.Model().sizing_only,
           "m.gguf: key llama.expert_count is 8; only dense models are supported");
}

}  // namespace cairn
