#include <doctest/doctest.h>

#include <string>

#include "cairn/spec/families_for_tests.h"

namespace cairn {

TEST_CASE("Falcon's KV heads are one with multi_query, and num_kv_heads only in its new form") {
  const auto heads = [](const std::string& more) {
    return AttentionOf(ModelFromJson(SmallConfig("falcon", more)), 0).kv_heads;
  };
  CHECK_EQ(heads(R"("multi_query": true, "num_kv_heads": 4)"), 1);
  CHECK_EQ(heads(R"("multi_query": true, "num_kv_heads": 2, "new_decoder_architecture": true)"), 2);
  CHECK_EQ(heads(R"("multi_query": false)"), 4);
}

TEST_CASE("without a number of heads there is none of KV heads") {
  const std::string headless = R"("num_attention_heads": null, "multi_query": false)";
  for (const char* type : {"falcon", "gpt_bigcode"}) {
    CHECK_EQ(ConfigError(SmallConfig(type, headless)),
             "config.json: num_attention_heads is missing");
  }
}

TEST_CASE("other spellings of one KV head, or of some") {
  CHECK_EQ(AttentionOf(ModelFromJson(SmallConfig("gpt_bigcode")), 0).kv_heads, 1);
  CHECK_EQ(
      AttentionOf(ModelFromJson(SmallConfig("gpt_bigcode", R"("multi_query": false)")), 0).kv_heads,
      4);
  CHECK_EQ(AttentionOf(ModelFromJson(SmallConfig("mpt", R"("attn_config": {"kv_n_heads": 2})")), 0)
               .kv_heads,
           2);
  const ModelSpec dbrx = ModelFromJson(SmallConfig("dbrx", R"("attn_config": {"kv_n_heads": 2},
      "ffn_config": {"ffn_hidden_size": 32, "moe_num_experts": 4})"));
  CHECK_EQ(AttentionOf(dbrx, 0).kv_heads, 2);
  CHECK_EQ(std::get<MixtureSpec>(dbrx.layers[0].feed_forward).experts, 4);
}

TEST_CASE("GPT-2's network is four times as wide where nothing is written") {
  const ModelSpec model = ModelFromJson(R"({"model_type": "gpt2", "n_embd": 64, "n_layer": 2,
      "n_head": 4, "n_positions": 128, "n_inner": null, "vocab_size": 256})");
  CHECK_EQ(std::get<MlpSpec>(model.layers[0].feed_forward).intermediate, 256);
  CHECK_EQ(model.other_parameters, 128 * 64);
}

}  // namespace cairn
