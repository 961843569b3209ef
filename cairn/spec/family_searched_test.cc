#include <doctest/doctest.h>

#include <string>

#include "cairn/spec/families_for_tests.h"

namespace cairn {

TEST_CASE("OpenELM's layers have heads and networks of their own") {
  const ModelSpec model =
      ModelFromJson(R"({"model_type": "openelm", "model_dim": 64, "head_dim": 16,
      "num_transformer_layers": 2, "num_query_heads": [4, 6], "num_kv_heads": [1, 2],
      "ffn_multipliers": [1.0, 2.0], "ffn_dim_divisor": 32, "vocab_size": 256,
      "max_context_length": 512})");
  CHECK_EQ(BytesPerToken(model), (1 + 2) * 2 * 16 * 2);
  CHECK_EQ(MlpOf(model, 0).intermediate, 64);
  CHECK_EQ(MlpOf(model, 1).intermediate, 128);
}

TEST_CASE("pruned attention keeps nothing, the rest as many KV heads as its block says") {
  const std::string wide = R"("ffn": {"ffn_mult": 2.0})";
  const ModelSpec model = ModelFromJson(R"({"model_type": "nemotron-nas", "hidden_size": 1024,
      "num_hidden_layers": 3, "num_attention_heads": 8, "num_key_value_heads": null,
      "vocab_size": 256, "max_position_embeddings": 512, "block_configs": [
      {"attention": {"n_heads_in_group": 4}, )" +
                                        wide + R"(},
      {"attention": {"no_op": true, "n_heads_in_group": null}, )" +
                                        wide + R"(},
      {"attention": {"replace_with_linear": true}, )" +
                                        wide + "}]}");
  CHECK_EQ(KindsOf(model), "full none none");
  CHECK_EQ(BytesPerToken(model), 2 * 2 * 128 * 2);
  CHECK_EQ(MlpOf(model, 0).intermediate, 1536);
  CHECK_EQ(std::get<NoMixer>(model.layers[2].mixer).parameters, 1024 * 1024);
}

}  // namespace cairn
