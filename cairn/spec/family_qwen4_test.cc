#include <doctest/doctest.h>

#include <string>
#include <variant>

#include "cairn/spec/families_for_tests.h"

namespace cairn {

namespace {

std::string Qwen4(const std::string& more = "") {
  return SmallConfig("qwen4_exp_text", R"("linear_num_key_heads": 2, "linear_num_value_heads": 4,
      "linear_key_head_dim": 8, "linear_value_head_dim": 16, "linear_conv_kernel_dim": 4,
      "indexer_head_dim": 8, "indexer_n_heads": 4, "hc_count": 2, "layer_types":
      ["linear_attention", "indexed_attention", "linear_attention", "indexed_attention"])" +
                                           more);
}

constexpr int64_t kDeltaBytes = 4 * 8 * 16 * 4 + 3 * (2 * 2 * 8 + 4 * 16) * 2;

}  // namespace

TEST_CASE("index keys wait for their turn, so the first such layer keeps all positions") {
  const ModelSpec model =
      ModelFromJson(Qwen4(R"(, "rope_parameters": {"mrope_section": [2, 1, 1]})"));
  CHECK_EQ(KindsOf(model), "gated_delta full+index gated_delta full+index");
  CHECK_EQ(BytesPerToken(model), 2 * 2 * (2 * 2 * 16 + 8) + 3 * 8);
  CHECK_EQ(FixedBytes(model), 2 * kDeltaBytes);
}

TEST_CASE("n-gram layers, counted from one, keep token ids and what their convolution reaches") {
  const std::string ngrams = R"(, "ngram_size": 3, "ngram_vocab_size_base": 97,
      "heads_per_ngram": 2, "ple_embed_dim": 32, "ple_conv_kernel_size": 4, "ple_layer_ids": )";
  CHECK_EQ(FixedBytes(ModelFromJson(Qwen4(ngrams + "[2]"))),
           2 * kDeltaBytes + 2 * 8 + 2 * 64 * 9 * 2);
  CHECK_EQ(ConfigError(Qwen4(ngrams + "[5]")),
           "config.json: ple_layer_ids[0] is 5, expected an integer from 1 to 4");
}

TEST_CASE("layers called full attention read what an index picks, too") {
  const ModelSpec model = ModelFromJson(Qwen4(R"(, "layer_types": ["linear_attention",
      "full_attention", "linear_attention", "full_attention"])"));
  CHECK_EQ(KindsOf(model), "gated_delta full+index gated_delta full+index");
  // Positions have three axes unless the file says otherwise.
  CHECK_EQ(AttentionOf(model, 1).index->position_axes, 3);
  CHECK_EQ(AttentionOf(model, 3).index->position_axes, 0);
}

namespace {

constexpr const char* kRuns = R"(, "num_experts": 4, "num_experts_per_tok": 2,
    "moe_intermediate_size": 16, "shared_expert_intermediate_size": 24, "eos_token_id": [7, 2],
    "indexer_budget": 12, "indexer_compress_ratio": 4,
    "rope_parameters": {"rope_theta": 500.0, "partial_rotary_factor": 0.5})";

// Why it is sized, not run.
std::string Reason(const std::string& more) {
  return ModelFromJson(Qwen4(kRuns + more)).sizing_only;
}

}  // namespace

TEST_CASE("Qwen 4 runs with gated streams, pooled keys, and n-grams that end at its end token") {
  const ModelSpec model = ModelFromJson(
      Qwen4(kRuns + std::string(R"(, "output_gate_type": "sigmoid", "ple_layer_ids": [3],
      "ple_embed_dim": 32, "ngram_vocab_size_base": 97, "hc_lowrank": 24)")));
  CHECK_EQ(model.sizing_only, "");
  CHECK(model.norm_weight_plus_one);
  CHECK_EQ(std::get<GatedStreamsSpec>(model.residual).streams, 2);
  CHECK_EQ(std::get<GatedStreamsSpec>(model.residual).rank, 24);
  CHECK(std::get<DeltaRuleSpec>(model.layers[0].mixer).sigmoid_gate);
  const AttentionSpec& attention = AttentionOf(model, 1);
  CHECK_EQ(attention.index->pool, 4);
  CHECK_EQ(attention.picks, 12);
  CHECK_EQ(attention.rope.value().width, 8);
  CHECK_EQ(attention.output_gate, OutputGate::kChannels);
  CHECK(std::get<MixtureSpec>(model.layers[1].feed_forward).router.normalise);
  CHECK_EQ(model.layers[2].ngram->end_token, 7);
}

TEST_CASE("what Qwen 4 doesn't say how to compute is named") {
  CHECK_EQ(Reason(""), "");
  CHECK_NE(Reason(R"(, "output_gate_type": "tanh")").find("output_gate_type"), std::string::npos);
  CHECK_NE(Reason(R"(, "hidden_act": "gelu")").find("hidden_act"), std::string::npos);
  CHECK_NE(Reason(R"(, "indexer_budget": 10)").find("indexer_budget"), std::string::npos);
  CHECK_NE(Reason(R"(, "indexer_compress_ratio": null)").find("indexer_compress_ratio"),
           std::string::npos);
  CHECK_NE(Reason(R"(, "head_dim": 32)").find("indexer_head_dim"), std::string::npos);
  CHECK_NE(Reason(R"(, "hc_count": 1)").find("hc_count"), std::string::npos);
  CHECK_NE(Reason(R"(, "num_experts": null)"), "");
  CHECK_NE(Reason(R"(, "eos_token_id": null, "ple_layer_ids": [1], "ple_embed_dim": 32,
      "ngram_vocab_size_base": 97)")
               .find("eos_token_id"),
           std::string::npos);
}

}  // namespace cairn
