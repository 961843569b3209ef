// What tests of model descriptions share: goldens, small configs, made-up GGUF files.
#ifndef CAIRN_SPEC_FAMILIES_FOR_TESTS_H_
#define CAIRN_SPEC_FAMILIES_FOR_TESTS_H_

#include <doctest/doctest.h>

#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cairn/spec/families.h"
#include "cairn/spec/state_layout.h"

namespace cairn {

inline std::string ReadFileForTest(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  REQUIRE_MESSAGE(in.good(), path);
  return {std::istreambuf_iterator<char>(in), {}};
}

inline ModelSpec ModelFromJson(const std::string& json) {
  const auto model = ModelSpecFromConfig(json, "config.json");
  REQUIRE_MESSAGE(model.has_value(), model.error().message);
  return *model;
}

inline ModelSpec GoldenModel(const std::string& name) {
  return ModelFromJson(ReadFileForTest("tests/golden/" + name + "/config.json"));
}

// The error of a config that must not be accepted.
inline std::string ConfigError(const std::string& json) {
  const auto model = ModelSpecFromConfig(json, "config.json");
  REQUIRE_FALSE(model.has_value());
  CHECK(model.error().IsBadInput());
  CHECK_EQ(model.error().message.find('\n'), std::string::npos);
  return model.error().message;
}

// A small config of the type with `more` entries; later entries win.
inline std::string SmallConfig(const std::string& model_type, const std::string& more = "") {
  return R"({"model_type": ")" + model_type + R"(", "hidden_size": 64, "intermediate_size": 96,
      "num_hidden_layers": 4, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16,
      "vocab_size": 256, "max_position_embeddings": 32768)" +
         (more.empty() ? "" : ", " + more) + "}";
}

inline const AttentionSpec& AttentionOf(const ModelSpec& model, size_t layer) {
  return std::get<AttentionSpec>(model.layers[layer].mixer);
}
inline const GatedMlpSpec& MlpOf(const ModelSpec& model, size_t layer) {
  return std::get<GatedMlpSpec>(model.layers[layer].feed_forward);
}

// "full full sliding": the kinds of the layers in order.
inline std::string KindsOf(const ModelSpec& model) {
  std::string kinds;
  for (const LayerSpec& layer : model.layers) {
    kinds += (kinds.empty() ? "" : " ") + KindOf(layer.mixer);
  }
  return kinds;
}

// What the model keeps in BF16, recurrent states in F32.
inline StateLayout LayoutOf(const ModelSpec& model) {
  auto layout =
      StateLayout::Make(StateSpecOf(model, {.keys = DType::kBF16, .values = DType::kBF16}));
  REQUIRE_MESSAGE(layout.has_value(), layout.error().message);
  return *std::move(layout);
}
inline int64_t BytesPerToken(const ModelSpec& model) {
  return LayoutOf(model).MarginalBytesPerToken().value();
}
inline int64_t FixedBytes(const ModelSpec& model) {
  return LayoutOf(model).fixed_content_bytes().value();
}

// A GGUF file of four layers, as far as its metadata and tensor names go.
struct FakeGguf {
  Metadata metadata{"m.gguf"};
  std::string architecture;
  std::set<std::string, std::less<>> tensors;
  std::vector<float> rope_divisors;

  explicit FakeGguf(std::string name) : architecture(std::move(name)) {
    metadata.Set("general.architecture", architecture);
    Set("block_count", 4);
    Set("context_length", 1024);
    Set("embedding_length", 64);
    Set("feed_forward_length", 96);
    Set("attention.head_count", 4);
    Set("attention.head_count_kv", 2);
    Set("attention.layer_norm_rms_epsilon", 1e-5);
    metadata.Set("tokenizer.ggml.tokens", std::vector<std::string>{"a", "b", "c"});
  }

  // <architecture>.KEY
  void Set(const std::string& key, MetadataValue value) {
    metadata.Set(architecture + "." + key, std::move(value));
  }
  void Set(const std::string& key, int value) { Set(key, MetadataValue(int64_t{value})); }
  void Set(const std::string& key, double value) { Set(key, MetadataValue(value)); }

  void Remove(const std::string& key) {
    Metadata rest("m.gguf");
    for (const auto& [name, value] : metadata.values()) {
      if (name != architecture + "." + key) rest.Set(name, value);
    }
    metadata = rest;
  }

  Result<ModelSpec> Read() const {
    return ModelSpecFromGguf(
        metadata, {.has = [this](std::string_view name) { return tensors.contains(name); },
                   .rope_divisors = rope_divisors});
  }
  ModelSpec Model() const {
    const auto model = Read();
    REQUIRE_MESSAGE(model.has_value(), model.error().message);
    return *model;
  }
  std::string Message() const {
    const auto model = Read();
    REQUIRE_FALSE(model.has_value());
    CHECK(model.error().IsBadInput());
    CHECK_EQ(model.error().message.find('\n'), std::string::npos);
    return model.error().message;
  }
};

}  // namespace cairn

#endif  // CAIRN_SPEC_FAMILIES_FOR_TESTS_H_
