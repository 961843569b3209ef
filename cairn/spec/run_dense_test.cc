#include "cairn/spec/run_dense.h"

#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <variant>

#include "cairn/spec/families_for_tests.h"

namespace cairn {
namespace {

const MixtureSpec& MixtureOf(const ModelSpec& model, size_t layer) {
  return std::get<MixtureSpec>(model.layers[layer].feed_forward);
}

}  // namespace

TEST_CASE("Phi 3 turns a part of each head, with a list of divisors for long sequences") {
  const ModelSpec model = ModelFromJson(
      SmallConfig("phi3", R"("partial_rotary_factor": 0.5, "original_max_position_embeddings": 4096,
      "rope_scaling": {"type": "longrope", "short_factor": [1, 1, 1, 2],
                       "long_factor": [1, 1, 3, 4]})"));
  CHECK_EQ(model.sizing_only, "");
  const Rope& rope = *AttentionOf(model, 0).rope;
  CHECK_EQ(rope.width, 8);
  CHECK_EQ(RopeFrequencies(rope, 4096)[3], doctest::Approx(0.0005));
  CHECK_EQ(RopeFrequencies(rope, 4097)[3], doctest::Approx(0.00025));
  CHECK_EQ(RopeAmplitude(rope), doctest::Approx(std::sqrt(1 + std::log(8) / std::log(4096))));
}

TEST_CASE("HunYuan norms rotated heads; its alpha raises the base") {
  for (const std::string key : {"type", "rope_type"}) {
    const ModelSpec model = ModelFromJson(SmallConfig(
        "hunyuan_v1_dense",
        R"("rope_scaling": {"alpha": 100.0, "factor": 1.0, ")" + key + R"(": "dynamic"})"));
    CHECK_EQ(model.sizing_only, "");
    CHECK(AttentionOf(model, 0).norm_after_rotation);
    CHECK_EQ(AttentionOf(model, 0).rope->base, doctest::Approx(10000 * std::pow(100, 16.0 / 14)));
  }
}

TEST_CASE("HunYuan's layers that share keys norm them each with a weight of its own") {
  const std::string keys = R"("use_cla": true, "use_qk_norm": true, "num_experts": 4,
      "use_mixed_mlp_moe": true, "num_shared_expert": 1, "moe_topk": )";
  const ModelSpec model = ModelFromJson(SmallConfig("hunyuan", keys + "1"));
  CHECK_EQ(model.sizing_only, "");
  CHECK(AttentionOf(model, 0).key_weight_on_queries);
  const auto& shared = std::get<SharedAttentionSpec>(model.layers[1].mixer).attention;
  CHECK(shared.key_weight_on_queries);
  CHECK(shared.norm_after_rotation);
  CHECK(shared.rope.has_value());
  CHECK_EQ(shared.scale, doctest::Approx(0.25));
  CHECK_FALSE(MixtureOf(model, 1).router.normalise);
  CHECK(MixtureOf(ModelFromJson(SmallConfig("hunyuan", keys + "2")), 1).router.normalise);
  const ModelSpec dense = ModelFromJson(SmallConfig("hunyuan", R"("num_experts": 1)"));
  CHECK(std::holds_alternative<GatedMlpSpec>(dense.layers[0].feed_forward));
  CHECK_FALSE(AttentionOf(dense, 0).key_weight_on_queries);
}

TEST_CASE("what HunYuan's files can switch on and isn't run is named") {
  const ModelSpec drops = ModelFromJson(SmallConfig("hunyuan", R"("moe_drop_tokens": true)"));
  CHECK_NE(drops.sizing_only.find("moe_drop_tokens"), std::string::npos);
  const ModelSpec dense = ModelFromJson(SmallConfig("hunyuan_v1_dense", R"("use_cla": true)"));
  CHECK_NE(dense.sizing_only.find("use_cla"), std::string::npos);
}

TEST_CASE("Qwen 3's experts are weighed by a softmax over all, normalised where the file says so") {
  const std::string experts = R"("num_experts": 8, "num_experts_per_tok": 2,
      "moe_intermediate_size": 32)";
  const ModelSpec plain = ModelFromJson(SmallConfig("qwen3_moe", experts));
  CHECK_EQ(plain.sizing_only, "");
  CHECK_EQ(MixtureOf(plain, 0).router.score, RouterSpec::Score::kSoftmax);
  CHECK_FALSE(MixtureOf(plain, 0).router.normalise);
  const ModelSpec normed =
      ModelFromJson(SmallConfig("qwen3_moe", experts + R"(, "norm_topk_prob": true)"));
  CHECK(MixtureOf(normed, 0).router.normalise);
}

TEST_CASE("gpt-oss has sinks and clipped experts, weighed by a softmax over the picked") {
  const ModelSpec model = ModelFromJson(SmallConfig("gpt_oss", R"("num_local_experts": 4,
      "num_experts_per_tok": 2, "swiglu_limit": 5.0)"));
  CHECK_EQ(model.sizing_only, "");
  CHECK(AttentionOf(model, 1).sinks);
  CHECK_EQ(MixtureOf(model, 0).router.score, RouterSpec::Score::kPickedLogits);
  CHECK(MixtureOf(model, 0).router.bias);
  CHECK_EQ(MixtureOf(model, 0).clip.limit, 5);
}

TEST_CASE("Llama 4 norms where it rotates and tunes the temperature where it doesn't") {
  const ModelSpec model = ModelFromJson(SmallConfig("llama4_text", R"("num_local_experts": 4,
      "num_experts_per_tok": 1, "no_rope_layers": [1, 1, 1, 0], "attention_chunk_size": 64)"));
  CHECK_EQ(model.sizing_only, "");
  CHECK(AttentionOf(model, 0).unit_norm);
  CHECK_EQ(AttentionOf(model, 0).rope->pairs, RopePairs::kInterleaved);
  CHECK_FALSE(AttentionOf(model, 0).temperature.has_value());
  CHECK_FALSE(AttentionOf(model, 3).unit_norm);
  CHECK_FALSE(AttentionOf(model, 3).rope.has_value());
  CHECK_EQ(AttentionOf(model, 3).temperature->interval, 8192);
  CHECK(MixtureOf(model, 3).router.scales_input);
}

}  // namespace cairn
