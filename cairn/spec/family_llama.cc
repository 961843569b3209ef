// Llama: pre-norm, grouped heads, half-split rotation (interleaved in GGUF), gated SiLU.
#include <algorithm>

#include "cairn/spec/family.h"
#include "cairn/spec/rope_config.h"

namespace cairn {
namespace {

constexpr LlamaVariant kLlama = {
    .family = "llama",
    .defaults = {.vocabulary = 32000,
                 .hidden = 4096,
                 .intermediate = 11008,
                 .layers = 32,
                 .heads = 32,
                 .context_length = 2048},
};

// The class has no windows. Files that name sliding layers are of others, and are sized as such.
Result<ModelSpec> FromConfig(const ConfigSource& source) {
  CAIRN_ASSIGN(ModelSpec model, LlamaLikeFromConfig(source, kLlama));
  CAIRN_ASSIGN(const auto sliding,
               SlidingLayersFromConfig(source.config, model.layers.size(), /*period=*/1));
  if (std::ranges::find(sliding, true) != sliding.end()) {
    return source.config.Unsupported("layer_types", "full_attention in every layer");
  }
  return model;
}

// Mistral files of this architecture may carry a window, which holds for every layer.
Result<ModelSpec> FromGguf(const Metadata& metadata, const GgufTensors& tensors) {
  CAIRN_ASSIGN(ModelSpec model, LlamaLikeFromGguf(metadata, tensors, kLlama));
  CAIRN_ASSIGN(const std::optional<int64_t> window, WindowFromGguf(metadata, kLlama.family));
  for (LayerSpec& layer : model.layers) {
    std::get<AttentionSpec>(layer.mixer).lifetime = WindowLifetime(model.context_length, window);
  }
  return model;
}

}  // namespace

constinit const Family kLlamaFamily = {{"llama"}, FromConfig, "llama", FromGguf};

Result<ModelSpec> LlamaLikeFromConfig(const ConfigSource& source, const LlamaVariant& variant) {
  const HfConfig& config = source.config;
  CAIRN_ASSIGN(const DecoderShape shape, ShapeFromConfig(source, variant.defaults));
  ModelSpec model = ModelOfShape(variant.family, shape);
  CAIRN_ASSIGN(model.tied_head, TiedHeadFromConfig(source, variant.defaults));
  CAIRN_ASSIGN(const Rope rope, RopeFromConfig(config, {.width = shape.key_width,
                                                        .base = variant.rope_base,
                                                        .context_length = shape.context_length}));
  CAIRN_ASSIGN(const Activation activation, ActivationFromConfig(config, "hidden_act", "silu"));
  bool attention_bias = false;
  bool mlp_bias = false;
  if (variant.config_has_biases) {
    CAIRN_ASSIGN(attention_bias, config.BoolOr("attention_bias", false));
    CAIRN_ASSIGN(mlp_bias, config.BoolOr("mlp_bias", false));
  }
  for (size_t i = 0; i < shape.layers.size(); ++i) {
    AttentionSpec attention = AttentionOfShape(shape, i);
    attention.rope = rope;
    attention.qkv_bias = attention_bias;
    attention.output_bias = attention_bias;
    model.layers.push_back(
        {attention, GatedMlpSpec{shape.layers[i].intermediate, activation, mlp_bias}});
  }
  return model;
}

Result<ModelSpec> LlamaLikeFromGguf(const Metadata& metadata, const GgufTensors& tensors,
                                    const LlamaVariant& variant) {
  const std::string_view architecture = variant.family;
  CAIRN_ASSIGN(const int64_t experts,
               metadata.IntOr(fmt::format("{}.expert_count", architecture), 0));
  if (experts != 0) {
    return Fail(ErrorCode::kUnsupported,
                "{}: key {}.expert_count is {}; only dense models are supported", metadata.where(),
                architecture, experts);
  }
  CAIRN_ASSIGN(const DecoderShape shape, ShapeFromGguf(metadata, architecture));
  ModelSpec model = ModelOfShape(variant.family, shape);
  model.tied_head = !tensors.has("output.weight");
  CAIRN_ASSIGN(const Rope rope, RopeFromGguf(metadata, architecture,
                                             {.width = shape.key_width,
                                              .base = 10000,
                                              .context_length = shape.context_length},
                                             RopePairs::kInterleaved, tensors.rope_divisors));
  for (size_t i = 0; i < shape.layers.size(); ++i) {
    AttentionSpec attention = AttentionOfShape(shape, i);
    attention.rope = rope;
    attention.qkv_bias = tensors.has("blk.0.attn_q.bias");
    attention.output_bias = tensors.has("blk.0.attn_output.bias");
    model.layers.push_back({attention, GatedMlpSpec{shape.layers[i].intermediate, Activation::kSilu,
                                                    tensors.has("blk.0.ffn_gate.bias")}});
  }
  return model;
}

}  // namespace cairn
