#include "cairn/spec/families.h"

#include <doctest/doctest.h>

#include <cmath>
#include <fstream>
#include <iterator>
#include <string>

namespace cairn {
namespace {

std::string ReadFile(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  REQUIRE_MESSAGE(in.good(), path);
  return std::string(std::istreambuf_iterator<char>(in), {});
}

ModelSpec Golden(const std::string& name) {
  const std::string path = "tests/golden/" + name + "/config.json";
  const auto model = ModelSpecFromConfig(ReadFile(path), path);
  REQUIRE_MESSAGE(model.has_value(), model.error().message);
  return *model;
}

ModelSpec FromJson(const std::string& json) {
  const auto model = ModelSpecFromConfig(json, "config.json");
  REQUIRE_MESSAGE(model.has_value(), model.error().message);
  return *model;
}

const AttentionSpec& Attention(const ModelSpec& model, size_t layer) {
  return std::get<AttentionSpec>(model.layers[layer].mixer);
}
const GatedMlpSpec& Mlp(const ModelSpec& model, size_t layer) {
  return std::get<GatedMlpSpec>(model.layers[layer].feed_forward);
}

}  // namespace

TEST_CASE("a llama config gives plain attention, half-split rotation and an untied head") {
  const ModelSpec model = Golden("llama_mha");
  CHECK_EQ(model.family, "llama");
  CHECK_EQ(model.vocabulary, 256);
  CHECK_EQ(model.hidden, 64);
  CHECK_EQ(model.context_length, TokenCount(512));
  CHECK_EQ(model.norm_epsilon, 0.001);
  CHECK_FALSE(model.norm_weight_plus_one);
  CHECK_FALSE(model.tied_head);
  CHECK_EQ(model.embedding_scale, 1);
  REQUIRE_EQ(model.layers.size(), 4);
  const AttentionSpec& attention = Attention(model, 0);
  CHECK_EQ(attention.heads, 4);
  CHECK_EQ(attention.kv_heads, 4);
  CHECK_EQ(attention.key_width, 16);
  CHECK_EQ(attention.value_width, 16);
  CHECK_EQ(attention.scale, 0.25);
  CHECK_EQ(attention.lifetime, Lifetime::All());
  REQUIRE(attention.rope.has_value());
  CHECK_EQ(attention.rope->pairs, RopePairs::kHalfSplit);
  CHECK_EQ(attention.rope->width, 16);
  CHECK(std::holds_alternative<std::monostate>(attention.rope->scaling));
  CHECK_EQ(Mlp(model, 0).intermediate, 96);
  CHECK_EQ(Mlp(model, 0).activation, Activation::kSilu);
}

TEST_CASE("llama's variants are read: llama3 scaling, linear scaling, biases, wide heads, tying") {
  const ModelSpec grouped = Golden("llama_gqa");
  CHECK(grouped.tied_head);
  CHECK_EQ(Attention(grouped, 0).kv_heads, 2);
  const auto* llama3 = std::get_if<RopeLlama3>(&Attention(grouped, 0).rope->scaling);
  REQUIRE(llama3 != nullptr);
  CHECK_EQ(llama3->factor, 8);
  CHECK_EQ(llama3->original_context, 32);

  const ModelSpec single = Golden("llama_mqa");
  CHECK_EQ(Attention(single, 0).kv_heads, 1);
  CHECK_EQ(Attention(single, 0).key_width, 32);
  CHECK(Attention(single, 0).qkv_bias);
  CHECK(Attention(single, 0).output_bias);
  CHECK(Mlp(single, 0).bias);
  const auto* linear = std::get_if<RopeLinear>(&Attention(single, 0).rope->scaling);
  REQUIRE(linear != nullptr);
  CHECK_EQ(linear->factor, 4);
}

TEST_CASE("every mistral layer slides") {
  const ModelSpec model = Golden("mistral_swa");
  CHECK_EQ(model.family, "mistral");
  for (size_t i = 0; i < model.layers.size(); ++i) {
    CHECK_EQ(Attention(model, i).lifetime, Lifetime::Window(TokenCount(12)));
  }
}

TEST_CASE("smollm3 leaves out the rotation where no_rope_layers is 0") {
  const ModelSpec model = Golden("smollm3");
  REQUIRE_EQ(model.layers.size(), 6);
  for (size_t i = 0; i < 6; ++i) {
    CHECK_EQ(Attention(model, i).rope.has_value(), i % 3 != 2);
    CHECK_EQ(Attention(model, i).lifetime, Lifetime::All());
  }
  CHECK_EQ(Attention(model, 0).rope->base, 2000000);
}

TEST_CASE("gemma scales embeddings by the root of hidden and stores norm weights minus one") {
  const ModelSpec model = Golden("gemma");
  CHECK(model.norm_weight_plus_one);
  CHECK(model.tied_head);
  CHECK_EQ(model.embedding_scale, 8);
  CHECK_EQ(Attention(model, 0).key_width, 32);
  CHECK_EQ(Mlp(model, 0).activation, Activation::kGeluTanh);
  CHECK_FALSE(model.layers[0].branch_output_norms);
}

TEST_CASE("gemma2 caps scores and logits, slides on even layers and scales by its own scalar") {
  const ModelSpec model = Golden("gemma2");
  CHECK_EQ(model.logit_cap, 6);
  for (size_t i = 0; i < model.layers.size(); ++i) {
    CHECK_EQ(Attention(model, i).score_cap, 2);
    CHECK_EQ(Attention(model, i).scale, doctest::Approx(1 / std::sqrt(24.0)).epsilon(1e-15));
    CHECK_EQ(Attention(model, i).lifetime,
             i % 2 == 0 ? Lifetime::Window(TokenCount(8)) : Lifetime::All());
    CHECK(model.layers[i].branch_output_norms);
  }
}

TEST_CASE("gemma3 rotates sliding layers with the local base and full ones with the scaled one") {
  const ModelSpec model = Golden("gemma3_text");
  REQUIRE_EQ(model.layers.size(), 7);
  for (size_t i = 0; i < 7; ++i) {
    const AttentionSpec& attention = Attention(model, i);
    const bool full = i == 5;
    CHECK_EQ(attention.lifetime, full ? Lifetime::All() : Lifetime::Window(TokenCount(8)));
    CHECK_EQ(attention.rope->base, full ? 1000000 : 10000);
    CHECK_EQ(std::holds_alternative<RopeLinear>(attention.rope->scaling), full);
    CHECK(attention.query_key_norm);
    CHECK_EQ(attention.scale, doctest::Approx(1 / std::sqrt(20.0)).epsilon(1e-15));
  }
  CHECK_EQ(model.logit_cap, 0);
}

TEST_CASE("a multimodal config is its text part, with class defaults for what it leaves out") {
  const ModelSpec model = FromJson(R"({
      "model_type": "gemma3",
      "text_config": {"model_type": "gemma3_text", "hidden_size": 2560, "intermediate_size": 10240,
                      "num_hidden_layers": 34, "sliding_window": 1024,
                      "rope_scaling": {"factor": 8.0, "rope_type": "linear"}},
      "vision_config": {"hidden_size": 1152, "num_hidden_layers": 27}})");
  CHECK_EQ(model.family, "gemma3");
  CHECK_EQ(model.hidden, 2560);
  CHECK_EQ(model.vocabulary, 262208);
  CHECK(model.tied_head);
  CHECK_EQ(Attention(model, 0).heads, 8);
  CHECK_EQ(Attention(model, 0).kv_heads, 4);
  CHECK_EQ(Attention(model, 0).key_width, 256);
  CHECK_EQ(Attention(model, 0).rope->base, 10000);
  CHECK_EQ(Attention(model, 5).rope->base, 1000000);
  CHECK(std::holds_alternative<RopeLinear>(Attention(model, 5).rope->scaling));
}

TEST_CASE("the outer config ties the head when the text part doesn't say") {
  const std::string text =
      R"("text_config": {"model_type": "llama", "max_position_embeddings": 4096})";
  CHECK_FALSE(FromJson(R"({"model_type": "llava", )" + text + "}").tied_head);
  CHECK(
      FromJson(R"({"model_type": "llava", "tie_word_embeddings": true, )" + text + "}").tied_head);
}

TEST_CASE("null turns off what a class default would turn on") {
  const std::string base = R"("model_type": "mistral", "hidden_size": 64, "intermediate_size": 96,
      "num_hidden_layers": 1, "num_attention_heads": 4, "num_key_value_heads": 2,
      "vocab_size": 256, "max_position_embeddings": 32768)";
  CHECK_EQ(Attention(FromJson("{" + base + R"(, "sliding_window": null})"), 0).lifetime,
           Lifetime::All());
  CHECK_EQ(Attention(FromJson("{" + base + "}"), 0).lifetime, Lifetime::Window(TokenCount(4096)));
}

TEST_CASE("a window that can't bind within the context is no window") {
  const std::string base = R"("model_type": "mistral", "hidden_size": 64, "intermediate_size": 96,
      "num_hidden_layers": 1, "num_attention_heads": 4, "num_key_value_heads": 2,
      "vocab_size": 256, "max_position_embeddings": 32768)";
  CHECK_EQ(Attention(FromJson("{" + base + R"(, "sliding_window": 32768})"), 0).lifetime,
           Lifetime::All());
  CHECK_EQ(Attention(FromJson("{" + base + R"(, "sliding_window": 32767})"), 0).lifetime,
           Lifetime::Window(TokenCount(32767)));
}

TEST_CASE("old gemma files say gelu and mean its tanh form") {
  const std::string base = R"("model_type": "gemma", "hidden_size": 64, "intermediate_size": 96,
      "num_hidden_layers": 1, "num_attention_heads": 4, "num_key_value_heads": 2,
      "vocab_size": 256, "max_position_embeddings": 512, "hidden_act": "gelu")";
  CHECK_EQ(Mlp(FromJson("{" + base + "}"), 0).activation, Activation::kGeluTanh);
  CHECK_EQ(Mlp(FromJson("{" + base + R"(, "hidden_activation": "gelu"})"), 0).activation,
           Activation::kGeluErf);
}

TEST_CASE("the state keeps transposed keys and row-major values of every KV head") {
  const StateSpec state =
      StateSpecOf(Golden("gemma3_text"), {.keys = DType::kBF16, .values = DType::kQ8_0});
  REQUIRE_EQ(state.layers.size(), 7);
  REQUIRE_EQ(state.layers[0].components.size(), 2);
  const Rows& keys = std::get<Rows>(state.layers[0].components[0]);
  CHECK_EQ(keys.name, "keys");
  CHECK_EQ(keys.heads, 2);
  CHECK_EQ(keys.width, 16);
  CHECK_EQ(keys.codec, DType::kBF16);
  CHECK_EQ(keys.order, RowOrder::kTransposedTiles);
  CHECK_EQ(keys.position, PositionApplied::kWhenStored);
  CHECK_EQ(keys.lifetime, Lifetime::Window(TokenCount(8)));
  const Rows& values = std::get<Rows>(state.layers[0].components[1]);
  CHECK_EQ(values.name, "values");
  CHECK_EQ(values.codec, DType::kQ8_0);
  CHECK_EQ(values.order, RowOrder::kRowMajor);
  CHECK_EQ(values.position, PositionApplied::kNone);
  CHECK_EQ(std::get<Rows>(state.layers[5].components[0]).lifetime, Lifetime::All());
}

TEST_CASE("keys without a rotation keep no position") {
  const StateSpec state = StateSpecOf(Golden("smollm3"), {});
  CHECK_EQ(std::get<Rows>(state.layers[2].components[0]).position, PositionApplied::kNone);
  CHECK_EQ(std::get<Rows>(state.layers[0].components[0]).position, PositionApplied::kWhenStored);
}

}  // namespace cairn
