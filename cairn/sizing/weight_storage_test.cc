#include "cairn/sizing/weight_storage.h"

#include <doctest/doctest.h>

#include <string>

#include "cairn/spec/families_for_tests.h"

namespace cairn {
namespace {

// Three layers: the first dense, two of experts.
ModelSpec Model() {
  ModelSpec model;
  model.vocabulary = 256;
  model.hidden = 64;
  AttentionSpec attention;
  attention.heads = attention.kv_heads = 4;
  attention.key_width = attention.value_width = 16;
  model.layers.push_back({.mixer = attention, .feed_forward = GatedMlpSpec{.intermediate = 96}});
  const MixtureSpec mixture = {
      .experts = 8, .experts_per_token = 2, .intermediate = 32, .shared_intermediate = 32};
  model.layers.push_back({.mixer = attention, .feed_forward = mixture});
  model.layers.push_back({.mixer = attention, .feed_forward = mixture});
  return model;
}

WeightStorage Named(std::string_view name) {
  return StorageOf(Model(), *WeightFormatFromName(name));
}

WeightStorage Checkpoint(const std::string& json) {
  const auto storage = StorageOfCheckpoint(Model(), json, "config.json");
  REQUIRE_MESSAGE(storage.has_value(), storage.error().message);
  return *storage;
}

std::string Refusal(const std::string& json) {
  const auto storage = StorageOfCheckpoint(Model(), json, "config.json");
  REQUIRE_FALSE(storage.has_value());
  CHECK(storage.error().IsBadInput());
  return storage.error().message;
}

}  // namespace

TEST_CASE("a plain form is used for everything") {
  const WeightStorage storage = Named("f16");
  CHECK_EQ(storage.OutsideFormat(WeightPart::kEmbedding).name, "f16");
  CHECK_EQ(storage.FormatOf(2, WeightPart::kRouter).name, "f16");
}

TEST_CASE("quantized matrices leave embedding, head, norms and routers in 16 bits") {
  const WeightStorage storage = Named("awq");
  CHECK_EQ(storage.OutsideFormat(WeightPart::kHead).name, "bf16");
  CHECK_EQ(storage.FormatOf(0, WeightPart::kMixer).name, "awq");
  CHECK_EQ(storage.FormatOf(0, WeightPart::kDense).name, "awq");
  CHECK_EQ(storage.FormatOf(1, WeightPart::kExperts).name, "awq");
  CHECK_EQ(storage.FormatOf(1, WeightPart::kRouter).name, "bf16");
  CHECK_EQ(storage.FormatOf(1, WeightPart::kNorms).name, "bf16");
}

TEST_CASE("GGUF's forms are used for the embedding and the head too") {
  const WeightStorage storage = Named("q4_k");
  CHECK_EQ(storage.OutsideFormat(WeightPart::kEmbedding).name, "q4_k");
  CHECK_EQ(storage.FormatOf(1, WeightPart::kRouter).name, "f32");
}

TEST_CASE("MXFP4 is for experts, and for matrices where a model has none") {
  const WeightStorage storage = Named("mxfp4");
  CHECK_EQ(storage.FormatOf(1, WeightPart::kExperts).name, "mxfp4");
  CHECK_EQ(storage.FormatOf(1, WeightPart::kMixer).name, "bf16");
  ModelSpec dense = Model();
  dense.layers.resize(1);
  const WeightStorage all = StorageOf(dense, *WeightFormatFromName("mxfp4"));
  CHECK_EQ(all.FormatOf(0, WeightPart::kDense).name, "mxfp4");
}

TEST_CASE("a checkpoint's dtype is its plain form, of the text model first") {
  CHECK_EQ(Checkpoint("{}").name, "bf16");
  CHECK_EQ(Checkpoint(R"({"torch_dtype": "float32"})").name, "f32");
  CHECK_EQ(Checkpoint(R"({"dtype": "float32", "text_config": {"dtype": "float16"}})").name, "f16");
}

TEST_CASE("fp8 with blocks counts a scale for each block") {
  const WeightStorage storage = Checkpoint(
      R"({"quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 128]}})");
  const WeightFormat& format = storage.FormatOf(1, WeightPart::kExperts);
  CHECK_EQ(StoredBytes(format, ElementCount(16384)), Bytes(16388));
  CHECK_EQ(storage.OutsideFormat(WeightPart::kEmbedding).name, "bf16");
}

TEST_CASE("modules that a checkpoint leaves alone are plain, by layer or everywhere") {
  const WeightStorage storage = Checkpoint(R"({"quantization_config": {
      "quant_method": "compressed-tensors",
      "config_groups": {"group_0": {"targets": ["Linear"], "weights":
          {"num_bits": 4, "type": "int", "group_size": 32, "symmetric": true}}},
      "ignore": ["lm_head", "re:.*self_attn.*", "re:.*shared_experts.*",
                 "re:.*mlp\\.(gate|up|gate_up|down)_proj.*"]}})");
  CHECK_EQ(storage.FormatOf(1, WeightPart::kExperts).name, "int4");
  CHECK_EQ(StoredBytes(storage.FormatOf(1, WeightPart::kExperts), ElementCount(32)), Bytes(18));
  CHECK_EQ(storage.FormatOf(1, WeightPart::kMixer).name, "bf16");
  CHECK_EQ(storage.FormatOf(1, WeightPart::kShared).name, "bf16");
  CHECK_EQ(storage.FormatOf(0, WeightPart::kDense).name, "bf16");
  const WeightStorage by_layer = Checkpoint(R"({"quantization_config": {
      "quant_method": "modelopt", "quant_algo": "NVFP4",
      "ignore": ["language_model.model.layers.0*", "language_model.model.layers.2.self_attn*",
                 "vision_tower*"]}})");
  CHECK_EQ(by_layer.FormatOf(0, WeightPart::kDense).name, "bf16");
  CHECK_EQ(by_layer.FormatOf(0, WeightPart::kMixer).name, "bf16");
  CHECK_EQ(by_layer.FormatOf(1, WeightPart::kMixer).name, "nvfp4");
  CHECK_EQ(by_layer.FormatOf(2, WeightPart::kMixer).name, "bf16");
  CHECK_EQ(by_layer.FormatOf(2, WeightPart::kExperts).name, "nvfp4");
}

TEST_CASE("groups of modules have forms of their own") {
  const WeightStorage storage = Checkpoint(R"({"text_config": {"quantization_config": {
      "quant_method": "modelopt", "quant_algo": "MIXED_PRECISION", "config_groups": {
        "group_0": {"targets": ["model.layers.1.linear_attn.in_proj_qkv"],
                    "weights": {"num_bits": 8, "type": "float"}},
        "group_1": {"targets": ["lm_head", "model.layers.1.mlp.experts"],
                    "weights": {"num_bits": 4, "type": "float", "group_size": 16}}}}}})");
  CHECK_EQ(storage.FormatOf(1, WeightPart::kMixer).name, "fp8");
  CHECK_EQ(storage.FormatOf(1, WeightPart::kExperts).name, "nvfp4");
  CHECK_EQ(storage.OutsideFormat(WeightPart::kHead).name, "nvfp4");
  CHECK_EQ(storage.FormatOf(2, WeightPart::kExperts).name, "bf16");
}

TEST_CASE("a method or a number that isn't understood is refused with its key") {
  CHECK_EQ(Refusal(R"({"quantization_config": {"quant_method": "magic"}})"),
           "config.json: quantization_config.quant_method \"magic\" is not supported; supported: "
           "fp8, fbgemm_fp8, compressed-tensors, modelopt, mxfp4, awq, gptq or bitsandbytes");
  CHECK_NE(Refusal(R"({"quantization_config": {"quant_method": "awq", "bits": 99}})").find("bits"),
           std::string::npos);
  CHECK_NE(Refusal(R"({"quantization_config": 3})").find("quantization_config"), std::string::npos);
  CHECK_NE(Refusal("[").find("config.json"), std::string::npos);
}

}  // namespace cairn
