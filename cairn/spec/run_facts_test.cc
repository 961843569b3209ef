#include "cairn/spec/run_facts.h"

#include <doctest/doctest.h>

#include <string>

#include "cairn/spec/families_for_tests.h"

namespace cairn {

TEST_CASE("a family that is described in full can be run, with its rotation and scale") {
  const ModelSpec model = ModelFromJson(SmallConfig("qwen3", R"("rope_theta": 5000.0,
      "rms_norm_eps": 0.001, "hidden_act": "gelu")"));
  CHECK_EQ(model.sizing_only, "");
  CHECK_EQ(model.norm_epsilon, 0.001);
  CHECK_EQ(AttentionOf(model, 3).scale, 0.25);
  CHECK_EQ(AttentionOf(model, 3).rope->base, 5000);
  CHECK_EQ(MlpOf(model, 0).activation, Activation::kGeluErf);
}

TEST_CASE("what can't be run is sized, and says why") {
  const ModelSpec rope =
      ModelFromJson(SmallConfig("qwen3", R"("rope_scaling": {"type": "spiral"})"));
  CHECK_NE(rope.sizing_only.find("rope_scaling.type \"spiral\" is not supported"),
           std::string::npos);
  const ModelSpec activation = ModelFromJson(SmallConfig("qwen3", R"("hidden_act": "mish")"));
  CHECK_NE(activation.sizing_only.find("hidden_act"), std::string::npos);
  const ModelSpec vocabulary = ModelFromJson(SmallConfig("qwen3", R"("vocab_size": null)"));
  CHECK_NE(vocabulary.sizing_only.find("vocab_size"), std::string::npos);
  CHECK_EQ(KindsOf(vocabulary), "full full full full");
}

}  // namespace cairn
