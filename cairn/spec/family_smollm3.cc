// SmolLM3: Llama's block where every fourth layer has no rotation.
#include "cairn/spec/family.h"
#include "cairn/spec/limits.h"

namespace cairn {
namespace {

constexpr LlamaVariant kSmolLm3 = {
    .family = "smollm3",
    .defaults = {.vocabulary = 128256,
                 .hidden = 2048,
                 .intermediate = 11008,
                 .layers = 36,
                 .heads = 16,
                 .kv_heads = 4,
                 .context_length = 32768,
                 .tied_head = true},
    .rope_base = 2000000,
};
constexpr int64_t kNoRopeInterval = 4;

AttentionSpec& AttentionOf(ModelSpec& model, size_t layer) {
  return std::get<AttentionSpec>(model.layers[layer].mixer);
}

// no_rope_layers, despite its name, holds 1 for a layer that rotates.
Result<std::vector<int64_t>> RotatingLayers(const HfConfig& config, size_t layers) {
  if (config.Has("no_rope_layers")) return config.Ints("no_rope_layers", layers, {0, 1});
  CAIRN_ASSIGN(const int64_t interval,
               config.IntOr("no_rope_layer_interval", {1, kMaxLayers}, kNoRopeInterval));
  std::vector<int64_t> rotates;
  rotates.reserve(layers);
  for (size_t i = 0; i < layers; ++i) {
    rotates.push_back((static_cast<int64_t>(i) + 1) % interval != 0 ? 1 : 0);
  }
  return rotates;
}

// A window counts only with use_sliding_window; without a list it is for layers without rotation.
Status ApplyWindow(const HfConfig& config, ModelSpec& model) {
  CAIRN_ASSIGN(const bool slides, config.BoolOr("use_sliding_window", false));
  CAIRN_ASSIGN(const std::optional<int64_t> window,
               config.OptionalInt("sliding_window", {1, kMaxContext}, std::nullopt));
  if (!slides || !window) return {};
  std::vector<bool> sliding;
  if (config.Has("layer_types")) {
    CAIRN_ASSIGN(sliding, SlidingLayersFromConfig(config, model.layers.size(), 1));
  } else {
    for (size_t i = 0; i < model.layers.size(); ++i) {
      sliding.push_back(!AttentionOf(model, i).rope.has_value());
    }
  }
  for (size_t i = 0; i < model.layers.size(); ++i) {
    if (sliding[i]) {
      AttentionOf(model, i).lifetime = WindowLifetime(model.context_length, window);
    }
  }
  return {};
}

Result<ModelSpec> FromConfig(const ConfigSource& source) {
  CAIRN_ASSIGN(ModelSpec model, LlamaLikeFromConfig(source, kSmolLm3));
  CAIRN_ASSIGN(const std::vector<int64_t> rotates,
               RotatingLayers(source.config, model.layers.size()));
  for (size_t i = 0; i < model.layers.size(); ++i) {
    if (rotates[i] == 0) AttentionOf(model, i).rope.reset();
  }
  CAIRN_TRY(ApplyWindow(source.config, model));
  return model;
}

// The interval isn't in the file.
Result<ModelSpec> FromGguf(const Metadata& metadata, const GgufTensors& tensors) {
  CAIRN_ASSIGN(ModelSpec model, LlamaLikeFromGguf(metadata, tensors, kSmolLm3));
  for (size_t i = kNoRopeInterval - 1; i < model.layers.size(); i += kNoRopeInterval) {
    AttentionOf(model, i).rope.reset();
  }
  return model;
}

}  // namespace

constinit const Family kSmolLm3Family = {{"smollm3"}, FromConfig, "smollm3", FromGguf};

}  // namespace cairn
