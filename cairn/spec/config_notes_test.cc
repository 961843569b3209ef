#include "cairn/spec/config_notes.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "cairn/spec/families_for_tests.h"

namespace cairn {
namespace {

bool Notes(const ModelSpec& model, const std::string& words) {
  return std::ranges::any_of(
      model.notes, [&](const std::string& note) { return note.find(words) != std::string::npos; });
}

bool Notes(const std::string& type, const std::string& keys, const std::string& words) {
  return Notes(ModelFromJson(SmallConfig(type, keys)), words);
}

}  // namespace

TEST_CASE("a plain config that says everything has no notes") {
  CHECK_EQ(ModelFromJson(SmallConfig("llama", R"("tie_word_embeddings": false)")).notes.size(), 0);
}

TEST_CASE("a window that isn't used is noted with the reason") {
  CHECK(Notes("qwen2", R"("sliding_window": 4096, "use_sliding_window": false)",
              "sliding_window is 4096 and isn't used: use_sliding_window is false"));
  CHECK(Notes("mistral", R"("sliding_window": 65536)", "it can't bind within 32768 tokens"));
  CHECK(Notes("cohere2", R"("sliding_window": 64, "layer_types": ["full_attention",
              "full_attention", "full_attention", "full_attention"])",
              "layer_types names no sliding layer"));
  CHECK(Notes("olmo2", R"("sliding_window": 64)", "no layer of this model slides"));
  CHECK_FALSE(Notes("mistral", R"("sliding_window": 64)", "isn't used"));
  CHECK_FALSE(Notes("qwen2", R"("sliding_window": null)", "isn't used"));
}

TEST_CASE("heads and widths that a formula gets wrong are noted") {
  CHECK(Notes("qwen3", R"("head_dim": 32)", "32 channels wide, not hidden size / heads (64 / 4)"));
  CHECK_FALSE(Notes("qwen3", "", "hidden size / heads"));
  CHECK(Notes("llama", R"("num_key_value_heads": null)", "as many as heads: 4"));
  CHECK(Notes("llama", R"("num_attention_heads": 12, "num_key_value_heads": 6)",
              "6 KV heads can't be split evenly"));
  CHECK(Notes("falcon", R"("multi_query": true, "num_kv_heads": 4)",
              "num_kv_heads is 4 but 1 is kept"));
  CHECK(Notes("mimo_v2", R"("v_head_dim": 8, "hybrid_layer_pattern": [0, 1, 1, 0])",
              "Keys are 16 and values 8"));
}

TEST_CASE("chunks, latent rows, index keys and open windows are noted") {
  CHECK(Notes("llama4_text", R"("attention_chunk_size": 128)",
              "3 layers attend within chunks of 128"));
  const std::string latent = R"("kv_lora_rank": 32, "qk_rope_head_dim": 8,
      "qk_nope_head_dim": 16, "v_head_dim": 16, "index_head_dim": 8, "index_n_heads": 4)";
  CHECK(Notes("deepseek_v32", latent, "one row of 32 + 8 channels for all heads"));
  CHECK(Notes("deepseek_v32", latent, "4 layers pick rows to read by index keys"));
  CHECK(Notes("deepseek_v4", R"("index_head_dim": 8, "index_n_heads": 4, "sliding_window": 16,
              "compress_ratios": [0, 4, 128, 4])",
              "3 layers compress"));
}

TEST_CASE("a shape has neither a family's defaults nor a file") {
  const ModelSpec model = ModelFromJson(
      R"({"model_type": "shape", "layers": 4, "heads": 4, "kv_heads": 2, "head_dim": 16})");
  for (const std::string& note : model.notes) {
    CHECK_EQ(note.find("family"), std::string::npos);
    CHECK_EQ(note.find("file"), std::string::npos);
  }
}

TEST_CASE("layers that keep nothing, share, or keep a state a request are noted") {
  CHECK(Notes("gemma3n_text", R"("sliding_window": 64, "num_kv_shared_layers": 1, "layer_types":
              ["sliding_attention", "full_attention", "full_attention", "full_attention"])",
              "The last 1 layer of 4 read"));
  CHECK(Notes("hunyuan", R"("use_cla": true)", "In all 2 layers of 4 read"));
  CHECK(Notes("rwkv7", R"("num_heads": null)", "4 layers of 4 keep a state of fixed size"));
  CHECK(Notes("nemotron_h", R"("hybrid_override_pattern": "*-*-")", "2 layers of 4 keep nothing"));
}

TEST_CASE("draft layers, ties, scaled rotations and types are noted") {
  CHECK(Notes("qwen2", R"("num_nextn_predict_layers": 1)", "is 1 layer for drafting tokens"));
  CHECK(Notes("minimax_m2", R"("num_nextn_predict_layers": 1, "num_mtp_modules": 7)", "disagree"));
  CHECK(Notes("gemma", "", "tie_word_embeddings is absent: by default this family ties"));
  CHECK(Notes("llama", "", "by default this family doesn't tie"));
  CHECK(Notes("llama", R"("rope_scaling": {"rope_type": "yarn", "factor": 4.0,
              "original_max_position_embeddings": 8192})",
              "Trained on 8192 tokens; the rotation is scaled to reach 32768"));
  CHECK(Notes("llama", R"("torch_dtype": "float32")", "torch_dtype is float32"));
  CHECK(Notes("llama", R"("quantization_config": {"kv_cache_scheme": {"num_bits": 8}})",
              "a cache of 8 bits"));
  CHECK(Notes("bloom", R"("max_position_embeddings": null)", "No context length is named"));
  CHECK(Notes(ModelFromJson(R"({"model_type": "llava", "tie_word_embeddings": true,
              "text_config": {"model_type": "llama", "tie_word_embeddings": false}})"),
              "false inside the text part and true outside"));
}

}  // namespace cairn
