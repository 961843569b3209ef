#include "cairn/spec/gguf_run.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "cairn/spec/families_for_tests.h"

namespace cairn {

TEST_CASE("a file is described as its family's folder is, and keeps what is sized") {
  FakeGguf file("qwen3");
  file.Set("rope.freq_base", 1e6);
  file.Set("attention.layer_norm_rms_epsilon", static_cast<double>(1e-6F));
  const ModelSpec model = file.Model();
  CHECK_EQ(model.sizing_only, "");
  CHECK_EQ(model.family, "qwen3");
  CHECK_EQ(model.norm_epsilon, 1e-6);  // what the file's 32 bits were made from
  CHECK_EQ(AttentionOf(model, 0).rope->base, 1e6);
  CHECK_FALSE(model.uncounted.empty());  // a GGUF file's table of tensors tells
  CHECK(model.tied_head);
  file.tensors.insert("output.weight");
  CHECK_FALSE(file.Model().tied_head);
}

TEST_CASE("what can't be run is sized, for a reason that names it") {
  FakeGguf file("qwen3");
  file.Set("rope.scaling.type", "spiral");
  CHECK_EQ(file.Model().sizing_only,
           "m.gguf: key qwen3.rope.scaling.type \"spiral\" is not supported; supported: none, "
           "linear, yarn");
  CHECK_EQ(KindsOf(file.Model()), "full full full full");
}

TEST_CASE("heads that differ by layer, where a family's don't, are sized only") {
  FakeGguf file("qwen3");
  file.Set("attention.head_count_kv", std::vector<int64_t>{2, 2, 4, 2});
  CHECK_EQ(file.Model().sizing_only, "m.gguf: its layers keep something else than those of qwen3");
}

TEST_CASE("rotations are scaled as the keys say") {
  FakeGguf file("qwen3");
  file.Set("rope.scaling.type", "yarn");
  file.Set("rope.scaling.factor", 4.0);
  file.Set("rope.scaling.original_context_length", 256);
  const ModelSpec model = file.Model();
  const auto* yarn = std::get_if<RopeYarn>(&AttentionOf(model, 0).rope->scaling);
  REQUIRE(yarn != nullptr);
  CHECK_EQ(yarn->factor, 4);
  CHECK_EQ(yarn->original_context, 256);
  file.Set("rope.scaling.type", "linear");
  CHECK(AttentionOf(file.Model(), 0).rope->scaling == RopeScaling(RopeLinear{4}));
  file.Set("rope.scaling.type", "none");
  file.rope_divisors = std::vector<float>(8, 2.0F);
  CHECK(AttentionOf(file.Model(), 0).rope->scaling ==
        RopeScaling(RopeDivisors{file.rope_divisors}));
}

TEST_CASE("a part of each head turns where the keys say so and the family can") {
  FakeGguf whole("qwen3");
  whole.Set("rope.dimension_count", 12);
  CHECK_NE(whole.Model().sizing_only.find("partial_rotary_factor"), std::string::npos);
  FakeGguf part("phi3");
  part.Set("rope.dimension_count", 12);
  CHECK_EQ(AttentionOf(part.Model(), 0).rope->width, 12);
}

}  // namespace cairn
