#include <doctest/doctest.h>

#include <string>

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
  CHECK_EQ(ConfigError(Qwen4(ngrams + "[2, 2]")),
           "config.json: ple_layer_ids is a list of 2, expected each layer at most once");
}

}  // namespace cairn
