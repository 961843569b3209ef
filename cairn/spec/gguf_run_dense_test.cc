#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "cairn/spec/families_for_tests.h"

namespace cairn {
namespace {

// With experts in all layers but the first.
FakeGguf WithExperts(const std::string& architecture) {
  FakeGguf file(architecture);
  file.Set("expert_count", 8);
  file.Set("expert_used_count", 2);
  file.Set("expert_feed_forward_length", 32);
  for (int i = 1; i < 4; ++i) file.tensors.insert(fmt::format("blk.{}.ffn_gate_inp.weight", i));
  return file;
}

}  // namespace

TEST_CASE("Qwen's experts are where their routers are, and weigh by shares") {
  const ModelSpec model = WithExperts("qwen3moe").Model();
  REQUIRE_EQ(model.sizing_only, "");
  CHECK_EQ(MlpOf(model, 0).intermediate, 96);
  const auto& mixture = std::get<MixtureSpec>(model.layers[1].feed_forward);
  CHECK_EQ(mixture.intermediate, 32);
  CHECK(mixture.router.normalise);
}

TEST_CASE("gpt-oss turns by YaRN without whole bounds, every other layer slides") {
  FakeGguf file = WithExperts("gpt-oss");
  file.tensors.insert("blk.0.attn_q.bias");
  file.Set("attention.sliding_window", 16);
  file.Set("rope.scaling.type", "yarn");
  file.Set("rope.scaling.factor", 32.0);
  const ModelSpec model = file.Model();
  REQUIRE_EQ(model.sizing_only, "");
  CHECK_EQ(KindsOf(model), "sliding full sliding full");
  CHECK(AttentionOf(model, 0).sinks);
  CHECK(AttentionOf(model, 0).qkv_bias);
  CHECK_FALSE(std::get<RopeYarn>(AttentionOf(model, 0).rope->scaling).truncate);
}

TEST_CASE("Llama 4's full layers don't turn, unless chunks are switched off") {
  FakeGguf file = WithExperts("llama4");
  const ModelSpec chunked = file.Model();
  REQUIRE_EQ(chunked.sizing_only, "");
  CHECK_EQ(KindsOf(chunked), "chunked chunked chunked full");
  CHECK(AttentionOf(chunked, 0).unit_norm);
  CHECK_FALSE(AttentionOf(chunked, 3).rope.has_value());
  CHECK(AttentionOf(chunked, 3).temperature.has_value());
  file.Set("attention.sliding_window", 0);
  CHECK(AttentionOf(file.Model(), 3).rope.has_value());
  file.Set("expert_count", 128);
  CHECK_FALSE(AttentionOf(file.Model(), 0).unit_norm);
}

TEST_CASE("Hunyuan's heads are normed where there are norms") {
  FakeGguf file("hunyuan-dense");
  CHECK_FALSE(AttentionOf(file.Model(), 0).query_key_norm);
  file.tensors.insert("blk.0.attn_q_norm.weight");
  CHECK(AttentionOf(file.Model(), 0).query_key_norm);
}

}  // namespace cairn
