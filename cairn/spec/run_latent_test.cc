#include "cairn/spec/run_latent.h"

#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <variant>

#include "cairn/spec/families_for_tests.h"

namespace cairn {
namespace {

// A small config with latent attention and experts behind one dense layer.
std::string Config(const std::string& type, const std::string& more = "") {
  return SmallConfig(type, R"("kv_lora_rank": 24, "q_lora_rank": 32, "qk_rope_head_dim": 16,
      "qk_nope_head_dim": 24, "v_head_dim": 20, "n_routed_experts": 8, "num_experts_per_tok": 2,
      "moe_intermediate_size": 24, "n_shared_experts": 1, "first_k_dense_replace": 1,
      "n_group": 4, "topk_group": 2)" +
                               (more.empty() ? "" : ", " + more));
}

const LatentAttentionSpec& LatentOf(const ModelSpec& model, size_t layer) {
  return std::get<LatentAttentionSpec>(model.layers[layer].mixer);
}
const RouterSpec& RouterOf(const ModelSpec& model, size_t layer) {
  return std::get<MixtureSpec>(model.layers[layer].feed_forward).router;
}

constexpr const char* kYarn = R"("rope_scaling": {"type": "yarn", "factor": 8.0,
    "original_max_position_embeddings": 256, "mscale": 1.0, "mscale_all_dim": 0.5})";

}  // namespace

TEST_CASE(
    "a stretched context sharpens the softmax of latent attention by the square of its growth") {
  const double plain = 1 / std::sqrt(40.0);
  CHECK_EQ(LatentOf(ModelFromJson(Config("deepseek_v3")), 0).scale, doctest::Approx(plain));
  const double growth = 0.1 * 0.5 * std::log(8.0) + 1;
  CHECK_EQ(LatentOf(ModelFromJson(Config("deepseek_v3", kYarn)), 0).scale,
           doctest::Approx(plain * growth * growth));
}

TEST_CASE("V2 keeps rotated pairs as neighbours, V3 as halves, or never had pairs of neighbours") {
  const ModelSpec v2 = ModelFromJson(Config("deepseek_v2"));
  CHECK_EQ(v2.sizing_only, "");
  CHECK_EQ(LatentOf(v2, 0).rope->pairs, RopePairs::kInterleaved);
  CHECK_FALSE(LatentOf(v2, 0).splits_pairs);
  const ModelSpec v3 = ModelFromJson(Config("deepseek_v3"));
  CHECK_EQ(v3.sizing_only, "");
  CHECK_EQ(LatentOf(v3, 0).rope->pairs, RopePairs::kInterleaved);
  CHECK(LatentOf(v3, 0).splits_pairs);
  const ModelSpec halves = ModelFromJson(Config("deepseek_v3", R"("rope_interleave": false)"));
  CHECK_EQ(LatentOf(halves, 0).rope->pairs, RopePairs::kHalfSplit);
  CHECK_FALSE(LatentOf(halves, 0).splits_pairs);
}

TEST_CASE("routers differ by family in scores, groups, bias and normalisation") {
  const RouterSpec greedy = RouterOf(ModelFromJson(Config("deepseek_v2")), 1);
  CHECK_EQ(greedy.score, RouterSpec::Score::kSoftmax);
  CHECK_EQ(greedy.groups, 1);
  CHECK_FALSE(greedy.normalise);
  const RouterSpec limited =
      RouterOf(ModelFromJson(Config("deepseek_v2", R"("topk_method": "group_limited_greedy")")), 1);
  CHECK_EQ(limited.groups, 4);
  CHECK_EQ(limited.groups_kept, 2);
  CHECK_EQ(limited.group_score, RouterSpec::GroupScore::kLargest);
  const RouterSpec v3 = RouterOf(ModelFromJson(Config("deepseek_v3")), 1);
  CHECK_EQ(v3.score, RouterSpec::Score::kSigmoid);
  CHECK(v3.choice_bias);
  CHECK(v3.normalise);
  CHECK_EQ(v3.scale, 2.5);
  CHECK_EQ(v3.group_score, RouterSpec::GroupScore::kTwoLargest);
}

TEST_CASE(
    "mistral4's queries grow with the context, and its partial rotation is the rotated part") {
  const ModelSpec model = ModelFromJson(Config("mistral4", R"("rope_parameters": {
      "rope_type": "yarn", "factor": 8.0, "original_max_position_embeddings": 24,
      "llama_4_scaling_beta": 0.3, "partial_rotary_factor": 0.4})"));
  CHECK_EQ(model.sizing_only, "");
  CHECK_EQ(LatentOf(model, 0).rope->width, 16);
  CHECK_EQ(LatentOf(model, 0).temperature->scale, 0.3);
  CHECK_EQ(LatentOf(model, 0).temperature->interval, 24);
  CHECK_FALSE(RouterOf(model, 1).choice_bias);
}

TEST_CASE("an index turns as its family's does, and later layers read its picks") {
  const std::string index = R"("index_head_dim": 28, "index_n_heads": 8, "index_topk": 12)";
  const ModelSpec v32 = ModelFromJson(Config("deepseek_v32", index));
  CHECK_EQ(v32.sizing_only, "");
  CHECK_EQ(LatentOf(v32, 3).index->rope->pairs, RopePairs::kHalfSplit);
  CHECK_EQ(LatentOf(v32, 3).picks, 12);
  const ModelSpec glm =
      ModelFromJson(Config("glm_moe_dsa", index + R"(, "index_topk_pattern": "FFSF")"));
  CHECK_EQ(glm.sizing_only, "");
  CHECK(LatentOf(glm, 1).index->splits_pairs);
  CHECK_FALSE(LatentOf(glm, 2).index.has_value());
  CHECK_EQ(LatentOf(glm, 2).picks, 12);
}

TEST_CASE("variants that no part computes are sized only, for a reason that names the key") {
  const auto reason = [](const std::string& type, const std::string& more) {
    return ModelFromJson(Config(type, more)).sizing_only;
  };
  CHECK_NE(reason("deepseek_v2", R"("topk_method": "noaux_tc")").find("topk_method"),
           std::string::npos);
  CHECK_NE(reason("deepseek_v2", R"("mlp_bias": true)").find("mlp_bias"), std::string::npos);
  CHECK_NE(reason("deepseek_v3", R"("n_group": 3)").find("n_group"), std::string::npos);
  CHECK_NE(reason("deepseek_v3", R"("rope_scaling": {"type": "spiral"})").find("spiral"),
           std::string::npos);
  CHECK_NE(reason("mistral4", "").find("rope_parameters"), std::string::npos);
  CHECK_NE(reason("glm_moe_dsa", R"("index_head_dim": 28, "index_n_heads": 8,
      "index_topk_pattern": "SFFF")")
               .find("indexer_types"),
           std::string::npos);
}

}  // namespace cairn
