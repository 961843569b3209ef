#include <doctest/doctest.h>

#include <string>

#include "cairn/spec/families_for_tests.h"

namespace cairn {

TEST_CASE("old and new spellings of a dimension mean the same and must agree") {
  const std::string old = R"({"model_type": "gpt_neox", "n_embd": 64, "n_layer": 2, "n_head": 4,
      "n_positions": 128, "vocab_size": 256, "n_inner": 96})";
  const ModelSpec model = ModelFromJson(old);
  CHECK_EQ(model.hidden, 64);
  CHECK_EQ(model.layers.size(), 2);
  CHECK_EQ(model.context_length, TokenCount(128));
  CHECK_EQ(AttentionOf(model, 0).kv_heads, 4);
  CHECK_EQ(AttentionOf(model, 0).key_width, 16);
  CHECK_EQ(ConfigError(SmallConfig("gpt_neox", R"("n_layer": 5)")),
           "config.json: n_layer is 5, expected 4, as num_hidden_layers says");
}

TEST_CASE("a model is sized without vocabulary, network or context, but not counted") {
  const ModelSpec model = ModelFromJson(R"({"model_type": "qwen3", "hidden_size": 64,
      "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2})");
  CHECK_EQ(BytesPerToken(model), 2 * 2 * 2 * 16 * 2);
  CHECK_EQ(model.context_length, TokenCount(0));
  CHECK_FALSE(model.uncounted.empty());
  CHECK_EQ(ModelFromJson(SmallConfig("qwen3")).uncounted, "");
}

TEST_CASE("what the state is computed from is never made up") {
  CHECK_EQ(ConfigError(R"({"model_type": "qwen3"})"), "config.json: num_hidden_layers is missing");
  CHECK_EQ(ConfigError(R"({"model_type": "qwen3", "num_hidden_layers": 2})"),
           "config.json: num_attention_heads is missing");
  CHECK_EQ(
      ConfigError(R"({"model_type": "qwen3", "num_hidden_layers": 2, "num_attention_heads": 4})"),
      "config.json: hidden_size is missing");
  CHECK_EQ(ConfigError(SmallConfig("qwen3", R"("num_key_value_heads": 3)")),
           "config.json: num_key_value_heads is 3, expected a divisor of num_attention_heads (4)");
  CHECK_EQ(ConfigError(SmallConfig("qwen3", R"("num_hidden_layers": -1)")),
           "config.json: num_hidden_layers is -1, expected an integer from 1 to 512");
  CHECK_EQ(ConfigError(SmallConfig("qwen3", R"("num_attention_heads": 16384, "head_dim": 16384,
                                               "num_key_value_heads": 1)")),
           "config.json: num_attention_heads is 16384, expected at most 4194304 channels in all "
           "heads");
}

TEST_CASE("a null is as good as nothing, and KV heads default to the heads") {
  const ModelSpec model = ModelFromJson(SmallConfig("qwen3", R"("num_key_value_heads": null)"));
  CHECK_EQ(AttentionOf(model, 0).kv_heads, 4);
}

}  // namespace cairn
