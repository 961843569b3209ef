#include <doctest/doctest.h>

#include <cmath>
#include <set>
#include <string>

#include "cairn/spec/families.h"

namespace cairn {
namespace {

struct FakeFile {
  Metadata metadata{"m.gguf"};
  std::set<std::string, std::less<>> tensors;
  std::vector<float> rope_divisors;

  explicit FakeFile(const std::string& architecture) {
    metadata.Set("general.architecture", architecture);
    Set("block_count", 4);
    Set("context_length", 1024);
    Set("embedding_length", 64);
    Set("feed_forward_length", 96);
    Set("attention.head_count", 4);
    Set("attention.head_count_kv", 2);
    metadata.Set(architecture + ".attention.layer_norm_rms_epsilon", 1e-5);
    metadata.Set("tokenizer.ggml.tokens", std::vector<std::string>{"a", "b", "c"});
  }

  // <arch>.KEY
  void Set(const std::string& key, MetadataValue value) {
    metadata.Set(std::string(*metadata.String("general.architecture")) + "." + key,
                 std::move(value));
  }
  void Set(const std::string& key, int value) { Set(key, MetadataValue(int64_t{value})); }

  Result<ModelSpec> Read() const {
    return ModelSpecFromGguf(
        metadata, {.has = [this](std::string_view name) { return tensors.contains(name); },
                   .rope_divisors = rope_divisors});
  }
  ModelSpec MustRead() const {
    const auto model = Read();
    REQUIRE_MESSAGE(model.has_value(), model.error().message);
    return *model;
  }
  std::string Message() const {
    const auto model = Read();
    REQUIRE_FALSE(model.has_value());
    CHECK(model.error().IsBadInput());
    return model.error().message;
  }
};

const AttentionSpec& Attention(const ModelSpec& model, size_t layer) {
  return std::get<AttentionSpec>(model.layers[layer].mixer);
}

}  // namespace

TEST_CASE("a llama GGUF rotates interleaved pairs and ties the head when output.weight is absent") {
  FakeFile file("llama");
  const ModelSpec model = file.MustRead();
  CHECK_EQ(model.family, "llama");
  CHECK_EQ(model.vocabulary, 3);
  CHECK_EQ(model.hidden, 64);
  CHECK_EQ(model.context_length, TokenCount(1024));
  CHECK(model.tied_head);
  CHECK_FALSE(model.norm_weight_plus_one);
  REQUIRE_EQ(model.layers.size(), 4);
  const AttentionSpec& attention = Attention(model, 0);
  CHECK_EQ(attention.kv_heads, 2);
  CHECK_EQ(attention.key_width, 16);
  CHECK_EQ(attention.scale, 0.25);
  CHECK_EQ(attention.rope->pairs, RopePairs::kInterleaved);
  CHECK_EQ(attention.rope->base, 10000);
  CHECK_FALSE(attention.qkv_bias);

  file.tensors = {"output.weight", "blk.0.attn_q.bias", "blk.0.ffn_gate.bias"};
  const ModelSpec biased = file.MustRead();
  CHECK_FALSE(biased.tied_head);
  CHECK(Attention(biased, 3).qkv_bias);
  CHECK_FALSE(Attention(biased, 3).output_bias);
  CHECK(std::get<GatedMlpSpec>(biased.layers[3].feed_forward).bias);
}

TEST_CASE("a missing head_count_kv means as many as heads") {
  Metadata metadata("m.gguf");
  FakeFile file("llama");
  for (const auto& [key, value] : file.metadata.values()) {
    if (key != "llama.attention.head_count_kv") metadata.Set(key, value);
  }
  file.metadata = metadata;
  CHECK_EQ(Attention(file.MustRead(), 0).kv_heads, 4);
}

TEST_CASE("a window in a llama GGUF holds for every layer") {
  FakeFile file("llama");
  file.Set("attention.sliding_window", 256);
  CHECK_EQ(Attention(file.MustRead(), 3).lifetime, Lifetime::Window(TokenCount(256)));
  file.Set("attention.sliding_window", 1024);
  CHECK_EQ(Attention(file.MustRead(), 3).lifetime, Lifetime::All());
}

TEST_CASE("per-layer arrays count block_count entries, prediction layers last") {
  FakeFile file("llama");
  file.Set("attention.head_count_kv", MetadataValue(std::vector<int64_t>{1, 2, 4, 1}));
  file.Set("feed_forward_length", MetadataValue(std::vector<int64_t>{10, 20, 30, 40}));
  file.Set("nextn_predict_layers", 1);
  const ModelSpec model = file.MustRead();
  REQUIRE_EQ(model.layers.size(), 3);
  CHECK_EQ(Attention(model, 2).kv_heads, 4);
  CHECK_EQ(std::get<GatedMlpSpec>(model.layers[1].feed_forward).intermediate, 20);
}

TEST_CASE("the divisors of rope_freqs.weight are taken over, times a linear factor") {
  FakeFile file("llama");
  file.rope_divisors = {1, 1, 1, 1, 2, 4, 8, 8};
  const ModelSpec model = file.MustRead();
  const auto* divisors = std::get_if<RopeDivisors>(&Attention(model, 0).rope->scaling);
  REQUIRE(divisors != nullptr);
  CHECK_EQ(divisors->divisors, file.rope_divisors);

  file.metadata.Set("llama.rope.scaling.factor", 2.0);
  const ModelSpec scaled = file.MustRead();
  CHECK_EQ(std::get<RopeDivisors>(Attention(scaled, 0).rope->scaling).divisors[7], 16);

  file.rope_divisors = {1, 1};
  CHECK_EQ(file.Message(),
           "m.gguf: rope_freqs.weight has 2 values, expected 8, one per rotated pair");
  file.rope_divisors = {1, 1, 1, 1, 2, 4, 8, 0};
  CHECK_EQ(file.Message(), "m.gguf: rope_freqs.weight holds 0, expected positive numbers");
}

TEST_CASE("a yarn GGUF scales cos and sin by 0.1 ln factor + 1") {
  FakeFile file("llama");
  file.metadata.Set("llama.rope.scaling.type", std::string("yarn"));
  file.metadata.Set("llama.rope.scaling.factor", 4.0);
  file.metadata.Set("llama.rope.scaling.original_context_length", int64_t{256});
  const ModelSpec model = file.MustRead();
  const auto& yarn = std::get<RopeYarn>(Attention(model, 0).rope->scaling);
  CHECK_EQ(yarn.original_context, 256);
  CHECK_EQ(yarn.attention_factor, doctest::Approx(0.1 * std::log(4.0) + 1).epsilon(1e-12));
}

TEST_CASE("a smollm3 GGUF has no rotation on every fourth layer") {
  const ModelSpec model = FakeFile("smollm3").MustRead();
  for (size_t i = 0; i < 4; ++i) CHECK_EQ(Attention(model, i).rope.has_value(), i != 3);
  CHECK_EQ(Attention(model, 0).rope->pairs, RopePairs::kInterleaved);
}

TEST_CASE("a gemma GGUF holds norm weights with the one added") {
  FakeFile file("gemma");
  file.Set("attention.key_length", 32);
  file.Set("attention.value_length", 32);
  const ModelSpec model = file.MustRead();
  CHECK_FALSE(model.norm_weight_plus_one);
  CHECK_EQ(model.embedding_scale, 8);
  CHECK_EQ(Attention(model, 0).key_width, 32);
  CHECK_EQ(Attention(model, 0).rope->pairs, RopePairs::kHalfSplit);
  CHECK_EQ(std::get<GatedMlpSpec>(model.layers[0].feed_forward).activation, Activation::kGeluTanh);
}

TEST_CASE("a gemma2 GGUF slides on even layers with 4096 and caps at 50 and 30 unless it says so") {
  FakeFile file("gemma2");
  file.Set("context_length", 8192);
  const ModelSpec model = file.MustRead();
  CHECK_EQ(Attention(model, 0).lifetime, Lifetime::Window(TokenCount(4096)));
  CHECK_EQ(Attention(model, 1).lifetime, Lifetime::All());
  CHECK_EQ(Attention(model, 0).score_cap, 50);
  CHECK_EQ(model.logit_cap, 30);
}

TEST_CASE("gemma2 27b scales by the root of hidden over heads") {
  FakeFile file("gemma2");
  file.Set("block_count", 46);
  file.Set("embedding_length", 4608);
  file.Set("attention.head_count", 32);
  file.Set("attention.head_count_kv", 16);
  file.Set("attention.key_length", 128);
  file.Set("attention.value_length", 128);
  CHECK_EQ(Attention(file.MustRead(), 0).scale, doctest::Approx(1 / 12.0).epsilon(1e-15));
}

TEST_CASE("a gemma3 GGUF without a window has only full layers") {
  FakeFile file("gemma3");
  file.metadata.Set("gemma3.rope.freq_base", 1e6);
  for (size_t i = 0; i < 4; ++i) {
    CHECK_EQ(Attention(file.MustRead(), i).lifetime, Lifetime::All());
    CHECK_EQ(Attention(file.MustRead(), i).rope->base, 1e6);
  }
}

TEST_CASE("a gemma3 GGUF with a window slides five of six layers, scaling only the full ones") {
  FakeFile file("gemma3");
  file.Set("block_count", 8);
  file.Set("attention.sliding_window", 512);
  file.metadata.Set("gemma3.rope.freq_base", 1e6);
  file.metadata.Set("gemma3.rope.scaling.factor", 8.0);
  const ModelSpec model = file.MustRead();
  for (size_t i = 0; i < 8; ++i) {
    const bool full = i == 5;
    CHECK_EQ(Attention(model, i).lifetime,
             full ? Lifetime::All() : Lifetime::Window(TokenCount(512)));
    CHECK_EQ(Attention(model, i).rope->base, full ? 1e6 : 1e4);
    CHECK_EQ(std::holds_alternative<RopeLinear>(Attention(model, i).rope->scaling), full);
    CHECK_EQ(Attention(model, i).scale, 0.25);
  }
  file.Set("attention.sliding_window_pattern",
           MetadataValue(std::vector<int64_t>{0, 1, 0, 1, 0, 1, 0, 1}));
  CHECK_EQ(Attention(file.MustRead(), 0).lifetime, Lifetime::All());
  file.Set("attention.sliding_window_pattern", MetadataValue(std::vector<int64_t>{0, 1}));
  CHECK_EQ(file.Message(),
           "m.gguf: key gemma3.attention.sliding_window_pattern is an array of 2 integers, "
           "expected an integer or an array of 8 integers, one per layer");
}

TEST_CASE("an architecture without a row is an error that lists the rows") {
  FakeFile file("llama");
  file.metadata.Set("general.architecture", std::string("qwen2\n"));
  CHECK_EQ(file.Message(),
           "m.gguf: key general.architecture \"qwen2\\x0a\" is not supported; supported: llama, "
           "smollm3, gemma, gemma2, gemma3");
}

TEST_CASE("hostile GGUF dimensions are errors that name the key") {
  const auto message = [](const std::string& key, MetadataValue value) {
    FakeFile file("llama");
    file.Set(key, std::move(value));
    return file.Message();
  };
  CHECK_EQ(message("block_count", int64_t{0}),
           "m.gguf: key llama.block_count is 0, expected an integer from 1 to 512");
  CHECK_EQ(message("block_count", int64_t{600}),
           "m.gguf: key llama.block_count is 600, expected an integer from 1 to 512");
  CHECK_EQ(message("block_count", int64_t{-1}),
           "m.gguf: key llama.block_count is -1, expected an integer from 1 to 512");
  CHECK_EQ(message("block_count", std::string("4")),
           "m.gguf: key llama.block_count is a string, expected an integer");
  CHECK_EQ(message("attention.head_count", int64_t{0}),
           "m.gguf: key llama.attention.head_count is 0, expected an integer from 1 to 16384");
  CHECK_EQ(message("attention.head_count_kv", int64_t{3}),
           "m.gguf: key llama.attention.head_count_kv is 3, expected a divisor of "
           "attention.head_count (4)");
  CHECK_EQ(message("attention.head_count_kv", std::vector<int64_t>{2, 2}),
           "m.gguf: key llama.attention.head_count_kv is an array of 2 integers, expected an "
           "integer or an array of 4 integers, one per layer");
  CHECK_EQ(message("embedding_length", int64_t{65}),
           "m.gguf: key llama.attention.head_count is 4, expected a divisor of embedding_length "
           "(65), or attention.key_length");
  CHECK_EQ(message("attention.key_length", int64_t{15}),
           "m.gguf: key llama.rope.dimension_count is 15, expected the head's width 15, an even "
           "number");
  CHECK_EQ(message("rope.dimension_count", int64_t{8}),
           "m.gguf: key llama.rope.dimension_count is 8, expected the head's width 16, an even "
           "number");
  CHECK_EQ(message("context_length", int64_t{0}),
           "m.gguf: key llama.context_length is 0, expected an integer from 1 to 268435456");
  CHECK_EQ(message("nextn_predict_layers", int64_t{4}),
           "m.gguf: key llama.nextn_predict_layers is 4, expected an integer from 0 to 3");
  CHECK_EQ(message("attention.layer_norm_rms_epsilon", std::nan("")),
           "m.gguf: key llama.attention.layer_norm_rms_epsilon is nan, expected a number from "
           "1e-12 to 1");
  CHECK_EQ(message("expert_count", int64_t{8}),
           "m.gguf: key llama.expert_count is 8; only dense models are supported");
  CHECK_EQ(message("rope.scaling.type", std::string("longrope")),
           "m.gguf: key llama.rope.scaling.type \"longrope\" is not supported; supported: none, "
           "linear, yarn");
}

}  // namespace cairn
