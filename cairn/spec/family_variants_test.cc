#include <doctest/doctest.h>

#include <string>

#include "cairn/spec/families_for_tests.h"

namespace cairn {

TEST_CASE("Llama 4's layers that rotate see their chunk, every fourth sees everything") {
  const std::string chunk = R"("attention_chunk_size": 64)";
  CHECK_EQ(KindsOf(ModelFromJson(SmallConfig("llama4_text", chunk + R"(, "no_rope_layers": [])"))),
           "chunked chunked chunked full");
  const ModelSpec model =
      ModelFromJson(SmallConfig("llama4_text", chunk + R"(, "no_rope_layers": [0, 1, 1, 1])"));
  CHECK_EQ(KindsOf(model), "full chunked chunked chunked");
  CHECK_EQ(AttentionOf(model, 1).lifetime, Lifetime::Chunk(TokenCount(64)));
}

TEST_CASE("cross-attention keeps nothing of the text") {
  const ModelSpec model =
      ModelFromJson(SmallConfig("mllama_text_model", R"("cross_attention_layers": [1])"));
  CHECK_EQ(KindsOf(model), "full cross full full");
  CHECK_EQ(BytesPerToken(model), 3 * 2 * 2 * 16 * 2);
  CHECK_EQ(ConfigError(SmallConfig("mllama_text_model", R"("cross_attention_layers": [1, 1])")),
           "config.json: cross_attention_layers is a list of 2, expected each layer at most once");
}

TEST_CASE("cross-layer sharing halves what is kept, if it is switched on") {
  const std::string factor = R"("cla_share_factor": 2, "use_cla": )";
  const ModelSpec model = ModelFromJson(SmallConfig("hunyuan", factor + "true"));
  CHECK_EQ(KindsOf(model), "full reuse full reuse");
  CHECK_EQ(std::get<SharedAttentionSpec>(model.layers[3].mixer).source, LayerIndex(2));
  CHECK_EQ(BytesPerToken(model), 2 * 2 * 2 * 16 * 2);
  CHECK_EQ(KindsOf(ModelFromJson(SmallConfig("hunyuan", factor + "false"))), "full full full full");
}

TEST_CASE("sliding layers may have heads and widths of their own") {
  const ModelSpec mimo = ModelFromJson(SmallConfig("mimo_v2_flash", R"("v_head_dim": 8,
      "swa_num_key_value_heads": 4, "swa_v_head_dim": 8, "sliding_window": 128,
      "hybrid_layer_pattern": [0, 1, 1, 0])"));
  CHECK_EQ(KindsOf(mimo), "full sliding sliding full");
  CHECK_EQ(BytesPerToken(mimo), 2 * 2 * (16 + 8) * 2);
  CHECK_EQ(AttentionOf(mimo, 1).kv_heads, 4);
  const ModelSpec baichuan = ModelFromJson(R"({"model_type": "baichuan_m1", "hidden_size": 64,
      "num_hidden_layers": 2, "num_attention_heads": 2, "num_key_value_heads": 1,
      "num_swa_attention_heads": 4, "num_swa_key_value_heads": 2, "sliding_window": 64,
      "sliding_window_layers": [1], "conv_window": 2})");
  CHECK_EQ(KindsOf(baichuan), "full sliding");
  CHECK_EQ(AttentionOf(baichuan, 1).key_width, 16);
  CHECK_EQ(FixedBytes(baichuan), 2 * (2 * 32 + 2 * 2 * 16));
}

TEST_CASE("sparse reading keeps index keys beside everything") {
  const ModelSpec model = ModelFromJson(SmallConfig("minimax_m3", R"("sparse_attention_config":
      {"sparse_index_dim": 8, "sparse_attention_freq": [0, 1, 1, 1]})"));
  CHECK_EQ(KindsOf(model), "full full+index full+index full+index");
  CHECK_EQ(BytesPerToken(model), 2 * (4 * 2 * 2 * 16 + 3 * 8));
}

}  // namespace cairn
