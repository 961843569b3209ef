#include <doctest/doctest.h>

#include <cmath>
#include <string>

#include "cairn/spec/families_for_tests.h"

namespace cairn {
namespace {

FakeGguf Latent(const std::string& architecture) {
  FakeGguf file(architecture);
  file.Set("attention.head_count_kv", 1);
  file.Set("attention.kv_lora_rank", 32);
  file.Set("attention.q_lora_rank", 24);
  file.Set("rope.dimension_count", 8);
  file.Set("attention.key_length", 40);
  file.Set("attention.value_length", 32);
  file.Set("attention.key_length_mla", 24);
  file.Set("attention.value_length_mla", 16);
  file.Set("expert_count", 8);
  file.Set("expert_used_count", 2);
  file.Set("expert_feed_forward_length", 32);
  file.Set("leading_dense_block_count", 1);
  return file;
}

const RouterSpec& RouterOf(const ModelSpec& model) {
  return std::get<MixtureSpec>(model.layers[3].feed_forward).router;
}

}  // namespace

TEST_CASE("one architecture holds families that differ by how experts are scored") {
  FakeGguf file = Latent("deepseek2");
  file.Set("expert_weights_scale", 1.5);
  const ModelSpec softmax = file.Model();
  REQUIRE_EQ(softmax.sizing_only, "");
  CHECK_EQ(softmax.family, "deepseek_v2");
  CHECK(RouterOf(softmax).score == RouterSpec::Score::kSoftmax);
  CHECK_EQ(RouterOf(softmax).scale, 1.5);
  file.Set("expert_gating_func", 2);
  CHECK(RouterOf(file.Model()).score == RouterSpec::Score::kSigmoid);
  CHECK_EQ(RouterOf(file.Model()).groups, 1);
  file.Remove("expert_gating_func");
  file.tensors.insert("blk.3.exp_probs_b.bias");
  CHECK(RouterOf(file.Model()).score == RouterSpec::Score::kSigmoid);
  file.Set("expert_gating_func", 4);
  CHECK_EQ(file.Model().sizing_only,
           "m.gguf: key deepseek2.expert_gating_func is 4; supported: 1 (softmax), 2 (sigmoid)");
}

TEST_CASE("YaRN's growth sharpens the softmax by a tenth of what the key says") {
  FakeGguf file = Latent("deepseek2");
  const double plain = std::get<LatentAttentionSpec>(file.Model().layers[0].mixer).scale;
  file.Set("rope.scaling.type", "yarn");
  file.Set("rope.scaling.factor", 40.0);
  file.Set("rope.scaling.original_context_length", 256);
  file.Set("rope.scaling.yarn_log_multiplier", 0.1);
  const double growth = 0.1 * std::log(40.0) + 1;
  const auto latent = std::get<LatentAttentionSpec>(file.Model().layers[0].mixer);
  CHECK_EQ(latent.scale, doctest::Approx(plain * growth * growth));
  CHECK_EQ(RopeAmplitude(*latent.rope), doctest::Approx(1));
}

TEST_CASE("divisors of frequencies that nothing would read are refused") {
  FakeGguf file = Latent("deepseek2");
  file.rope_divisors = {1, 1, 1, 1};
  CHECK_EQ(file.Model().sizing_only,
           "m.gguf: tensor rope_freqs.weight isn't part of a deepseek_v2 model");
}

TEST_CASE("queries that grow with their position are refused by the key's name") {
  FakeGguf file = Latent("deepseek2");
  file.Set("attention.temperature_scale", 0.1);
  CHECK_EQ(file.Model().sizing_only,
           "m.gguf: key deepseek2.attention.temperature_scale is not supported");
}

TEST_CASE("an index reads as its family's does") {
  FakeGguf file = Latent("glm-dsa");
  file.Set("expert_gating_func", 2);
  file.Set("attention.indexer.key_length", 16);
  file.Set("attention.indexer.head_count", 4);
  file.Set("attention.indexer.top_k", 64);
  const ModelSpec model = file.Model();
  REQUIRE_EQ(model.sizing_only, "");
  CHECK_EQ(KindsOf(model), "mla+index mla+index mla+index mla+index");
  CHECK_EQ(std::get<LatentAttentionSpec>(model.layers[0].mixer).picks, 64);
}

}  // namespace cairn
