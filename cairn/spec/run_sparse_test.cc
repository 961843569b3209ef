#include <doctest/doctest.h>

#include <string>
#include <variant>

#include "cairn/spec/families_for_tests.h"

namespace cairn {
namespace {

std::string MiniMaxM3(const std::string& more = "") {
  return SmallConfig("minimax_m3_vl_text", R"("num_local_experts": 4, "num_experts_per_tok": 2,
      "index_head_dim": 16, "index_n_heads": 2, "index_block_size": 8, "index_topk_blocks": 3,
      "rope_parameters": {"rope_theta": 10000.0, "rope_type": "default"},
      "layer_types": ["full_attention", "minimax_m3_sparse", "minimax_m3_sparse",
                      "full_attention"])" + more);
}

}  // namespace

TEST_CASE("MiniMax M3 reads the local block and the best of the others, and clips its experts") {
  const ModelSpec model = ModelFromJson(MiniMaxM3(R"(, "swiglu_limit": 5.0)"));
  CHECK_EQ(model.sizing_only, "");
  CHECK(model.norm_weight_plus_one);
  CHECK_FALSE(AttentionOf(model, 0).index.has_value());
  CHECK_EQ(AttentionOf(model, 1).index->block, 8);
  CHECK_EQ(AttentionOf(model, 1).index->local_blocks, 1);
  CHECK_EQ(AttentionOf(model, 1).picks, 24);
  const auto& mixture = std::get<MixtureSpec>(model.layers[1].feed_forward);
  CHECK_EQ(mixture.router.score, RouterSpec::Score::kSigmoid);
  CHECK_EQ(mixture.router.scale, 2);
  CHECK_EQ(mixture.shared_activation, Activation::kClippedSilu);
  CHECK_EQ(mixture.clip.limit, 5);
}

TEST_CASE("index heads that straddle KV heads, and more local blocks than picks, are sized only") {
  CHECK_NE(ModelFromJson(MiniMaxM3(R"(, "index_n_heads": 3)")).sizing_only, "");
  CHECK_NE(ModelFromJson(MiniMaxM3(R"(, "index_local_blocks": 4)")).sizing_only, "");
  CHECK_NE(ModelFromJson(MiniMaxM3(R"(, "index_head_dim": 8)")).sizing_only, "");
}

}  // namespace cairn
