#include "cairn/spec/decoder_shape.h"

#include <doctest/doctest.h>

#include <cmath>

#include "cairn/spec/families_for_tests.h"

namespace cairn {

TEST_CASE("hostile dimensions of a config are errors that name key, value and what is right") {
  const auto error = [](const std::string& more) {
    return ConfigError(SmallConfig("llama", more));
  };
  CHECK_EQ(error(R"("num_hidden_layers": 0)"),
           "config.json: num_hidden_layers is 0, expected an integer from 1 to 512");
  CHECK_EQ(error(R"("num_hidden_layers": 600)"),
           "config.json: num_hidden_layers is 600, expected an integer from 1 to 512");
  CHECK_EQ(error(R"("num_hidden_layers": -32)"),
           "config.json: num_hidden_layers is -32, expected an integer from 1 to 512");
  CHECK_EQ(error(R"("num_hidden_layers": "32")"),
           "config.json: num_hidden_layers is \"32\", expected an integer from 1 to 512");
  CHECK_EQ(error(R"("num_hidden_layers": null)"),
           "config.json: num_hidden_layers is missing, expected an integer from 1 to 512");
  CHECK_EQ(error(R"("num_attention_heads": 0)"),
           "config.json: num_attention_heads is 0, expected an integer from 1 to 16384");
  CHECK_EQ(error(R"("num_key_value_heads": 0)"),
           "config.json: num_key_value_heads is 0, expected an integer from 1 to 16384");
  CHECK_EQ(error(R"("num_key_value_heads": 3)"),
           "config.json: num_key_value_heads is 3, expected a divisor of num_attention_heads (4)");
  CHECK_EQ(error(R"("num_key_value_heads": 8)"),
           "config.json: num_key_value_heads is 8, expected a divisor of num_attention_heads (4)");
  CHECK_EQ(error(R"("hidden_size": 9223372036854775807)"),
           "config.json: hidden_size is 9223372036854775807, expected an integer from 1 to "
           "1048576");
  CHECK_EQ(error(R"("hidden_size": 65, "head_dim": null)"),
           "config.json: num_attention_heads is 4, expected a divisor of hidden_size (65), or a "
           "head_dim");
  CHECK_EQ(error(R"("head_dim": 15)"),
           "config.json: head width 15 can't be rotated in pairs, expected an even head_dim");
  CHECK_EQ(error(R"("num_attention_heads": 16384, "head_dim": 16384)"),
           "config.json: num_attention_heads is 16384, expected at most 4194304 channels in all "
           "heads");
  CHECK_EQ(error(R"("vocab_size": 1e9)"),
           "config.json: vocab_size is 1000000000.0, expected an integer from 1 to 16777216");
  CHECK_EQ(error(R"("max_position_embeddings": 0)"),
           "config.json: max_position_embeddings is 0, expected an integer from 1 to 268435456");
  CHECK_EQ(error(R"("rms_norm_eps": 0)"),
           "config.json: rms_norm_eps is 0, expected a number from 1e-12 to 1");
  CHECK_EQ(error(R"("hidden_act": ["silu"])"),
           "config.json: hidden_act is a list of 1, expected a string");
}

TEST_CASE("null KV heads are as many as heads, an absent key is an error where it isn't MHA") {
  const ModelSpec model = ModelFromJson(SmallConfig("gemma2", R"("num_key_value_heads": null)"));
  CHECK_EQ(AttentionOf(model, 0).kv_heads, 4);
  CHECK_EQ(ConfigError(R"({"model_type": "gemma2", "hidden_size": 64, "intermediate_size": 96,
      "num_hidden_layers": 4, "num_attention_heads": 4, "vocab_size": 256,
      "max_position_embeddings": 512})"),
           "config.json: num_key_value_heads is missing, expected an integer from 1 to 16384");
}

TEST_CASE("a missing head_count_kv means as many as heads") {
  FakeGguf file("llama");
  file.Remove("attention.head_count_kv");
  CHECK_EQ(AttentionOf(file.Model(), 0).kv_heads, 4);
}

TEST_CASE("per-layer arrays count block_count entries, prediction layers last") {
  FakeGguf file("llama");
  file.Set("attention.head_count_kv", MetadataValue(std::vector<int64_t>{1, 2, 4, 1}));
  file.Set("feed_forward_length", MetadataValue(std::vector<int64_t>{10, 20, 30, 40}));
  file.Set("nextn_predict_layers", 1);
  const ModelSpec model = file.Model();
  REQUIRE_EQ(model.layers.size(), 3);
  CHECK_EQ(AttentionOf(model, 0).kv_heads, 1);
  CHECK_EQ(AttentionOf(model, 2).kv_heads, 4);
  CHECK_EQ(MlpOf(model, 1).intermediate, 20);
}

TEST_CASE("the vocabulary is the token list's, or vocab_size of a file without one") {
  FakeGguf file("llama");
  file.Set("vocab_size", 77);
  CHECK_EQ(file.Model().vocabulary, 3);
  file.metadata.Set("tokenizer.ggml.tokens", std::vector<std::string>{});
  CHECK_EQ(file.Message(),
           "m.gguf: key tokenizer.ggml.tokens has 0 entries, expected 1 to 16777216");
  Metadata no_tokens("m.gguf");
  for (const auto& [key, value] : file.metadata.values()) {
    if (key != "tokenizer.ggml.tokens") no_tokens.Set(key, value);
  }
  file.metadata = no_tokens;
  CHECK_EQ(file.Model().vocabulary, 77);
  file.Remove("vocab_size");
  CHECK_EQ(file.Message(), "m.gguf: key llama.vocab_size is missing");
}

TEST_CASE("hostile dimensions of a GGUF are errors that name key, value and what is right") {
  const auto error = [](const std::string& key, MetadataValue value) {
    FakeGguf file("llama");
    file.Set(key, std::move(value));
    return file.Message();
  };
  CHECK_EQ(error("block_count", int64_t{0}),
           "m.gguf: key llama.block_count is 0, expected an integer from 1 to 512");
  CHECK_EQ(error("block_count", int64_t{600}),
           "m.gguf: key llama.block_count is 600, expected an integer from 1 to 512");
  CHECK_EQ(error("block_count", int64_t{-1}),
           "m.gguf: key llama.block_count is -1, expected an integer from 1 to 512");
  CHECK_EQ(error("block_count", std::string("4")),
           "m.gguf: key llama.block_count is a string, expected an integer");
  CHECK_EQ(error("attention.head_count", int64_t{0}),
           "m.gguf: key llama.attention.head_count is 0, expected an integer from 1 to 16384");
  CHECK_EQ(error("attention.head_count_kv", int64_t{3}),
           "m.gguf: key llama.attention.head_count_kv is 3, expected a divisor of "
           "attention.head_count (4)");
  CHECK_EQ(error("attention.head_count_kv", std::vector<int64_t>{2, 2}),
           "m.gguf: key llama.attention.head_count_kv is an array of 2 integers, expected an "
           "integer or an array of 4 integers, one per layer");
  CHECK_EQ(error("embedding_length", int64_t{65}),
           "m.gguf: key llama.attention.head_count is 4, expected a divisor of embedding_length "
           "(65), or attention.key_length");
  CHECK_EQ(error("attention.key_length", int64_t{1} << 40),
           "m.gguf: key llama.attention.key_length is 1099511627776, expected an integer from 1 "
           "to 16384");
  CHECK_EQ(error("context_length", int64_t{0}),
           "m.gguf: key llama.context_length is 0, expected an integer from 1 to 268435456");
  CHECK_EQ(error("nextn_predict_layers", int64_t{4}),
           "m.gguf: key llama.nextn_predict_layers is 4, expected an integer from 0 to 3");
  CHECK_EQ(error("attention.layer_norm_rms_epsilon", std::nan("")),
           "m.gguf: key llama.attention.layer_norm_rms_epsilon is nan, expected a number from "
           "1e-12 to 1");
}

}  // namespace cairn
