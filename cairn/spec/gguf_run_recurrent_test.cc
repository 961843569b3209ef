#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "cairn/spec/families_for_tests.h"

namespace cairn {
namespace {

using Numbers = std::vector<int64_t>;

FakeGguf WithStates(const std::string& architecture) {
  FakeGguf file(architecture);
  file.Set("ssm.inner_size", 128);
  file.Set("ssm.state_size", 16);
  file.Set("ssm.conv_kernel", 4);
  file.Set("ssm.time_step_rank", 8);
  file.Set("ssm.group_count", 2);
  return file;
}

}  // namespace

TEST_CASE("every fourth of Qwen's layers is full, and a quarter of its heads turns") {
  FakeGguf file = WithStates("qwen35");
  file.Set("rope.dimension_count", 4);
  const ModelSpec model = file.Model();
  REQUIRE_EQ(model.sizing_only, "");
  CHECK_EQ(KindsOf(model), "gated_delta gated_delta gated_delta full");
  CHECK_EQ(AttentionOf(model, 3).rope->width, 4);
  const auto& delta = std::get<DeltaRuleSpec>(model.layers[0].mixer);
  CHECK_EQ(delta.value_heads, 8);
  CHECK_EQ(delta.value_width, 16);
  CHECK_FALSE(model.norm_weight_plus_one);
}

TEST_CASE("value heads that don't divide their channels are refused") {
  FakeGguf file = WithStates("qwen3next");
  file.Set("ssm.time_step_rank", 6);
  CHECK_FALSE(file.Message().empty());
}

TEST_CASE("Mamba's norms of B, C and step are refused by the key's name") {
  FakeGguf file = WithStates("mamba");
  REQUIRE_EQ(file.Model().sizing_only, "");
  CHECK_FALSE(std::get<MambaSpec>(file.Model().layers[0].mixer).conv_bias);
  file.tensors.insert("blk.0.ssm_conv1d.bias");
  CHECK(std::get<MambaSpec>(file.Model().layers[0].mixer).conv_bias);
  file.Set("ssm.dt_b_c_rms", MetadataValue(true));
  CHECK_EQ(file.Model().sizing_only, "m.gguf: key mamba.ssm.dt_b_c_rms is true; supported: false");
}

TEST_CASE("Nemotron-H's blocks are told by heads, widths and routers") {
  FakeGguf file = WithStates("nemotron_h_moe");
  file.Set("attention.head_count_kv", Numbers{0, 0, 2, 0});
  file.Set("feed_forward_length", Numbers{0, 32, 0, 96});
  file.Set("expert_count", 4);
  file.Set("expert_used_count", 2);
  file.Set("expert_feed_forward_length", 32);
  file.tensors.insert("blk.1.ffn_gate_inp.weight");
  const ModelSpec model = file.Model();
  REQUIRE_EQ(model.sizing_only, "");
  CHECK_EQ(KindsOf(model), "mamba2 none full none");
  CHECK(std::holds_alternative<MixtureSpec>(model.layers[1].feed_forward));
  CHECK_EQ(std::get<MlpSpec>(model.layers[3].feed_forward).intermediate, 96);
}

TEST_CASE("Falcon-H1's factors are in the weights, a norm is where its tensor is") {
  FakeGguf file = WithStates("falcon-h1");
  const ModelSpec plain = file.Model();
  REQUIRE_EQ(plain.sizing_only, "");
  const auto& both = std::get<AttentionBesideMambaSpec>(plain.layers[0].mixer);
  CHECK_FALSE(both.mamba.gated_norm);
  CHECK_EQ(both.attention.key_factor, 1);
  file.tensors.insert("blk.0.ssm_norm.weight");
  const ModelSpec normed = file.Model();
  CHECK(std::get<AttentionBesideMambaSpec>(normed.layers[0].mixer).mamba.gated_norm);
}

TEST_CASE("Jamba, LFM2 and Kimi Linear run with the layers that have heads full") {
  FakeGguf jamba = WithStates("jamba");
  jamba.Set("attention.head_count_kv", Numbers{0, 2, 0, 0});
  REQUIRE_EQ(jamba.Model().sizing_only, "");
  CHECK_EQ(KindsOf(jamba.Model()), "mamba1 full mamba1 mamba1");

  FakeGguf lfm2("lfm2");
  lfm2.Set("shortconv.l_cache", 3);
  lfm2.Set("attention.head_count_kv", Numbers{0, 0, 2, 0});
  REQUIRE_EQ(lfm2.Model().sizing_only, "");
  CHECK_EQ(KindsOf(lfm2.Model()), "short_conv short_conv full short_conv");
  CHECK_EQ(MlpOf(lfm2.Model(), 0).intermediate, 96);
}

}  // namespace cairn
