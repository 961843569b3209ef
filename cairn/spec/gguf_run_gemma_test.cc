#include <doctest/doctest.h>

#include <limits>
#include <string>
#include <vector>

#include "cairn/spec/families_for_tests.h"

namespace cairn {
namespace {

using Numbers = std::vector<int64_t>;

FakeGguf Gemma(const std::string& architecture) {
  FakeGguf file(architecture);
  file.Set("attention.sliding_window", 16);
  file.Set("attention.sliding_window_pattern", Numbers{1, 0, 1, 0});
  file.Set("attention.shared_kv_layers", 2);
  file.Set("embedding_length_per_layer_input", 8);
  return file;
}

}  // namespace

TEST_CASE("Gemma 3n's bounds are told in deviations, its rotations for each kind of layer") {
  FakeGguf file = Gemma("gemma3n");
  file.Set("altup.num_inputs", 3);
  file.Set("rope.freq_base", 1e6);
  file.Set("rope.freq_base_swa", 1e4);
  const double none = -std::numeric_limits<double>::infinity();
  file.Set("activation_sparsity_scale", std::vector<double>{0.8416212335729143, none, none, none});
  const ModelSpec model = file.Model();
  REQUIRE_EQ(model.sizing_only, "");
  CHECK_EQ(KindsOf(model), "sliding full reuse reuse");
  CHECK_EQ(MlpOf(model, 0).gate_sparsity, doctest::Approx(0.8));
  CHECK_EQ(MlpOf(model, 1).gate_sparsity, 0);
  CHECK_EQ(AttentionOf(model, 0).rope->base, 1e4);
  CHECK_EQ(AttentionOf(model, 1).rope->base, 1e6);
  CHECK_EQ(std::get<AltUpSpec>(model.residual).streams, 3);
}

TEST_CASE("Gemma 4's full layers have heads of their own, of which some pairs turn") {
  FakeGguf file = Gemma("gemma4");
  file.Set("attention.key_length", 32);
  file.Set("attention.value_length", 32);
  file.Set("attention.key_length_swa", 16);
  file.Set("attention.value_length_swa", 16);
  file.Set("attention.head_count_kv", Numbers{2, 1, 2, 1});
  file.Set("feed_forward_length", Numbers{96, 96, 192, 192});
  file.rope_divisors = std::vector<float>(16, 1e30F);
  for (size_t i = 0; i < 4; ++i) file.rope_divisors[i] = 1;
  const ModelSpec model = file.Model();
  REQUIRE_EQ(model.sizing_only, "");
  CHECK_EQ(KindsOf(model), "sliding full reuse reuse");
  CHECK_EQ(AttentionOf(model, 0).key_width, 16);
  CHECK_EQ(AttentionOf(model, 1).key_width, 32);
  CHECK(AttentionOf(model, 1).value_is_key);
  CHECK_EQ(AttentionOf(model, 1).kv_heads, 1);
  CHECK_EQ(std::get<RopeProportional>(AttentionOf(model, 1).rope->scaling).turning_pairs, 4);
  CHECK_EQ(MlpOf(model, 3).intermediate, 192);
  file.Set("feed_forward_length", Numbers{96, 96, 192, 100});
  CHECK_NE(file.Model().sizing_only.find("feed_forward_length"), std::string::npos);
}

}  // namespace cairn
