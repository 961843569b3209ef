#include "cairn/spec/gguf_networks.h"

#include <doctest/doctest.h>

#include <string>

#include "cairn/spec/families_for_tests.h"

namespace cairn {
namespace {

// d: dense, e: experts, -: none.
std::string Kinds(const FakeGguf& file) {
  std::string kinds;
  for (const LayerSpec& layer : file.Model().layers) {
    if (std::holds_alternative<MixtureSpec>(layer.feed_forward)) {
      kinds += 'e';
    } else {
      kinds += std::holds_alternative<NoFeedForward>(layer.feed_forward) ? '-' : 'd';
    }
  }
  return kinds;
}

}  // namespace

TEST_CASE("experts are where the tensors say, else behind the dense layers, by the step") {
  FakeGguf file("glm4moe");
  CHECK_EQ(Kinds(file), "dddd");
  file.Set("expert_count", 8);
  file.Set("expert_used_count", 2);
  file.Set("expert_feed_forward_length", 32);
  file.Set("expert_shared_count", 3);
  CHECK_EQ(Kinds(file), "eeee");
  file.Set("leading_dense_block_count", 1);
  CHECK_EQ(Kinds(file), "deee");
  file.Set("interleave_moe_layer_step", 2);
  CHECK_EQ(Kinds(file), "dede");
  file.tensors.insert("blk.0.ffn_gate_inp.weight");
  CHECK_EQ(Kinds(file), "eddd");
  const ModelSpec model = file.Model();
  const auto& mixture = std::get<MixtureSpec>(model.layers[0].feed_forward);
  CHECK_EQ(mixture.experts, 8);
  CHECK_EQ(mixture.experts_per_token, 2);
  CHECK_EQ(mixture.intermediate, 32);
  CHECK_EQ(mixture.shared_intermediate, 96);
}

TEST_CASE("more experts than can be multiplied out are refused") {
  FakeGguf file("glm4moe");
  file.Set("expert_count", 1 << 16);
  file.Set("expert_feed_forward_length", 1 << 20);
  CHECK_NE(file.Message().find("glm4moe.expert_count is 65536, expected at most"),
           std::string::npos);
}

}  // namespace cairn
