#include "cairn/spec/rope_config.h"

#include <doctest/doctest.h>

#include <cmath>

#include "cairn/spec/families_for_tests.h"

namespace cairn {
namespace {

Rope RopeOf(const std::string& more) {
  return *AttentionOf(ModelFromJson(SmallConfig("llama", more)), 0).rope;
}

// A rotation that is only unknown leaves a model that can be sized and says why it can't be run.
std::string RopeError(const std::string& more) {
  const std::string json = SmallConfig("llama", more);
  const auto model = ModelSpecFromConfig(json, "config.json");
  if (!model) return ConfigError(json);
  CHECK_FALSE(model->sizing_only.empty());
  return model->sizing_only;
}

}  // namespace

TEST_CASE("both spellings of a rotation mean the same") {
  for (const char* json :
       {R"("rope_theta": 500000.0, "rope_scaling": {"type": "llama3", "factor": 8,
           "low_freq_factor": 1, "high_freq_factor": 4, "original_max_position_embeddings": 99})",
        R"("rope_parameters": {"rope_type": "llama3", "rope_theta": 500000, "factor": 8,
           "low_freq_factor": 1, "high_freq_factor": 4, "original_max_position_embeddings": 99})",
        R"("rope_theta": 500000, "rope_parameters": {"rope_type": "llama3", "factor": 8,
           "original_max_position_embeddings": 99})"}) {
    const Rope rope = RopeOf(json);
    CHECK_EQ(rope.base, 500000);
    CHECK_EQ(rope.width, 16);
    const auto* llama3 = std::get_if<RopeLlama3>(&rope.scaling);
    REQUIRE(llama3 != nullptr);
    CHECK_EQ(llama3->factor, 8);
    CHECK_EQ(llama3->low_frequency_factor, 1);
    CHECK_EQ(llama3->high_frequency_factor, 4);
    CHECK_EQ(llama3->original_context, 99);
  }
}

TEST_CASE("no scaling may be written in several ways") {
  for (const char* json : {R"("rope_scaling": null)", R"("rope_scaling": {"type": "default"})",
                           R"("rope_parameters": {"rope_type": "default", "rope_theta": 10000})"}) {
    CHECK(std::holds_alternative<std::monostate>(RopeOf(json).scaling));
    CHECK_EQ(RopeOf(json).base, 10000);
  }
}

TEST_CASE("yarn's amplitude is given, or the ratio of two mscales, or 0.1 ln factor + 1") {
  const auto amplitude = [](const std::string& more) {
    return RopeAmplitude(RopeOf(R"("rope_scaling": {"rope_type": "yarn", "factor": 4.0,
        "original_max_position_embeddings": 8192)" +
                                more + "}"));
  };
  const double m1 = 0.1 * std::log(4.0) + 1;
  const double m2 = 0.2 * std::log(4.0) + 1;
  CHECK_EQ(amplitude(""), static_cast<float>(m1));
  CHECK_EQ(amplitude(R"(, "attention_factor": 1.5)"), 1.5f);
  CHECK_EQ(amplitude(R"(, "mscale": 2.0, "mscale_all_dim": 1.0)"), static_cast<float>(m2 / m1));
  CHECK_EQ(amplitude(R"(, "mscale": 2.0)"), static_cast<float>(m1));
}

TEST_CASE("yarn's original context is the position limit when it isn't given") {
  const auto rope = RopeOf(R"("rope_scaling": {"type": "yarn", "factor": 4.0, "truncate": false})");
  const auto& yarn = std::get<RopeYarn>(rope.scaling);
  CHECK_EQ(yarn.original_context, 32768);
  CHECK_FALSE(yarn.truncate);
  CHECK_EQ(yarn.beta_fast, 32);
  CHECK_EQ(yarn.beta_slow, 1);
}

TEST_CASE("a rotation that can't be right, or isn't there yet, is refused") {
  CHECK_EQ(RopeError(R"("rope_theta": "10000")"),
           "config.json: rope_theta is \"10000\", expected a number from 1 to 1000000000000000");
  CHECK_EQ(RopeError(R"("rope_theta": Infinity)"),
           "config.json: rope_theta is \"Infinity\", expected a number from 1 to 1000000000000000");
  CHECK_EQ(RopeError(R"("rope_scaling": {"type": "linear"})"),
           "config.json: rope_scaling.factor is missing, expected the factor of linear scaling");
  CHECK_EQ(RopeError(R"("rope_scaling": {"type": "linear", "factor": 0})"),
           "config.json: rope_scaling.factor is 0, expected a number from 0.001 to 1000000");
  CHECK_EQ(RopeError(R"("rope_scaling": {"rope_type": "dynamic", "factor": 2})"),
           "config.json: rope_scaling.rope_type \"dynamic\" is not supported; supported: default, "
           "linear, llama3, yarn, longrope, dynamic with alpha");
  CHECK_EQ(RopeError(R"("rope_scaling": {"type": "llama3", "high_freq_factor": 1})"),
           "config.json: rope_scaling.high_freq_factor is 1, expected a number above "
           "low_freq_factor");
  CHECK_EQ(RopeError(R"("rope_parameters": {"partial_rotary_factor": 0.5})"),
           "config.json: rope_parameters.partial_rotary_factor 0.5 is not supported; supported: 1 "
           "for this architecture");
  CHECK_EQ(RopeError(R"("rope_scaling": [1])"),
           "config.json: rope_scaling is a list of 1, expected an object");
  CHECK_EQ(RopeError(R"("rope_theta": 1, "rope_scaling": {"type": "yarn", "factor": 2})"),
           "config.json: rope_scaling.rope_theta is missing, expected a number above 1 with yarn");
}

TEST_CASE("the divisors of rope_freqs.weight are taken over, times a linear factor") {
  FakeGguf file("llama");
  file.rope_divisors = {1, 1, 1, 1, 2, 4, 8, 8};
  const auto divisors = [&] {
    return std::get<RopeDivisors>(AttentionOf(file.Model(), 0).rope->scaling).divisors;
  };
  CHECK_EQ(divisors(), file.rope_divisors);
  file.Set("rope.scaling.factor", 2.0);
  CHECK_EQ(divisors(), std::vector<float>{2, 2, 2, 2, 4, 8, 16, 16});

  file.rope_divisors = {1, 1};
  CHECK_EQ(file.Message(),
           "m.gguf: rope_freqs.weight has 2 values, expected 8, one per rotated pair");
  file.rope_divisors = {1, 1, 1, 1, 2, 4, 8, 0};
  CHECK_EQ(file.Message(), "m.gguf: rope_freqs.weight holds 0, expected positive numbers");
}

TEST_CASE("GGUF scaling: a factor alone is linear, none switches it off, yarn has its amplitude") {
  FakeGguf file("llama");
  const auto scaling = [&] { return AttentionOf(file.Model(), 0).rope->scaling; };
  file.Set("rope.scale_linear", 4.0);
  CHECK_EQ(std::get<RopeLinear>(scaling()).factor, 4);
  file.Set("rope.scaling.factor", 8.0);
  CHECK_EQ(std::get<RopeLinear>(scaling()).factor, 8);
  file.Set("rope.scaling.factor", 0.0);
  CHECK(std::holds_alternative<std::monostate>(scaling()));
  file.Set("rope.scaling.factor", 4.0);
  file.Set("rope.scaling.type", MetadataValue(std::string("none")));
  CHECK(std::holds_alternative<std::monostate>(scaling()));
  file.Set("rope.scaling.type", MetadataValue(std::string("yarn")));
  file.Set("rope.scaling.original_context_length", 256);
  CHECK_EQ(std::get<RopeYarn>(scaling()).original_context, 256);
  CHECK_EQ(std::get<RopeYarn>(scaling()).attention_factor,
           doctest::Approx(0.1 * std::log(4.0) + 1).epsilon(1e-12));
  file.Set("rope.scaling.type", MetadataValue(std::string("longrope")));
  CHECK_EQ(file.Model().sizing_only,
           "m.gguf: key llama.rope.scaling.type \"longrope\" is not supported; supported: none, "
           "linear, yarn");
}

TEST_CASE("a GGUF rotates the whole head, in pairs") {
  FakeGguf file("llama");
  file.Set("rope.dimension_count", 8);
  CHECK_EQ(file.Message(),
           "m.gguf: key llama.rope.dimension_count is 8, expected the head's width 16, an even "
           "number");
  file.Set("rope.dimension_count", 15);
  file.Set("attention.key_length", 15);
  CHECK_EQ(file.Message(),
           "m.gguf: key llama.rope.dimension_count is 15, expected the head's width 15, an even "
           "number");
}

}  // namespace cairn
