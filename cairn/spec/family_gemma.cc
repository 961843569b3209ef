// Gemma (1): norms of weight (1 + w), scaled embedding, tanh GELU, heads wider than hidden / heads;
// and the surroundings that Gemma 2 and 3 share with it.
#include <cmath>

#include "cairn/spec/family.h"
#include "cairn/spec/rope_config.h"

namespace cairn {
namespace {

constexpr std::string_view kName = "gemma";
constexpr ConfigDefaults kDefaults = {.vocabulary = 256000,
                                      .hidden = 3072,
                                      .intermediate = 24576,
                                      .layers = 28,
                                      .heads = 16,
                                      .kv_heads = 16,
                                      .head_width = 256,
                                      .context_length = 8192,
                                      .tied_head = true};

// Old files say "gelu" under hidden_act and mean the tanh form; hidden_activation is meant as is.
Result<Activation> ReadActivation(const HfConfig& config) {
  if (config.Has("hidden_activation")) {
    return ActivationFromConfig(config, "hidden_activation", "");
  }
  CAIRN_ASSIGN(const Activation written,
               ActivationFromConfig(config, "hidden_act", "gelu_pytorch_tanh"));
  return written == Activation::kGeluErf ? Activation::kGeluTanh : written;
}

Result<ModelSpec> FromConfig(const ConfigSource& source) {
  const HfConfig& config = source.config;
  CAIRN_ASSIGN(const DecoderShape shape, ShapeFromConfig(source, kDefaults));
  CAIRN_ASSIGN(ModelSpec model, GemmaModelFromConfig(source, shape, kName, kDefaults));
  CAIRN_ASSIGN(const Rope rope, RopeFromConfig(config, {.width = shape.key_width,
                                                        .context_length = shape.context_length}));
  CAIRN_ASSIGN(const Activation activation, ReadActivation(config));
  CAIRN_ASSIGN(const bool bias, config.BoolOr("attention_bias", false));
  for (size_t i = 0; i < shape.layers.size(); ++i) {
    AttentionSpec attention = AttentionOfShape(shape, i);
    attention.rope = rope;
    attention.qkv_bias = bias;
    attention.output_bias = bias;
    model.layers.push_back({attention, GatedMlpSpec{shape.layers[i].intermediate, activation}});
  }
  return model;
}

Result<ModelSpec> FromGguf(const Metadata& metadata, const GgufTensors& tensors) {
  CAIRN_ASSIGN(const DecoderShape shape, ShapeFromGguf(metadata, kName));
  ModelSpec model = GemmaModelFromGguf(shape, kName, tensors);
  CAIRN_ASSIGN(const Rope rope,
               RopeFromGguf(metadata, kName,
                            {.width = shape.key_width, .context_length = shape.context_length},
                            RopePairs::kHalfSplit, tensors.rope_divisors));
  for (size_t i = 0; i < shape.layers.size(); ++i) {
    AttentionSpec attention = AttentionOfShape(shape, i);
    attention.rope = rope;
    model.layers.push_back(
        {attention, GatedMlpSpec{shape.layers[i].intermediate, Activation::kGeluTanh}});
  }
  return model;
}

}  // namespace

constinit const Family kGemmaFamily = {{"gemma"}, FromConfig, "gemma", FromGguf};

Result<ModelSpec> GemmaModelFromConfig(const ConfigSource& source, const DecoderShape& shape,
                                       std::string_view family, const ConfigDefaults& defaults) {
  CAIRN_ASSIGN(const bool bidirectional,
               source.config.BoolOr("use_bidirectional_attention", false));
  if (bidirectional) {
    return source.config.Unsupported("use_bidirectional_attention", "false");
  }
  ModelSpec model = ModelOfShape(family, shape);
  model.norm_weight_plus_one = true;
  model.embedding_scale = std::sqrt(static_cast<double>(shape.hidden));
  CAIRN_ASSIGN(model.tied_head, TiedHeadFromConfig(source, defaults));
  return model;
}

ModelSpec GemmaModelFromGguf(const DecoderShape& shape, std::string_view family,
                             const GgufTensors& tensors) {
  ModelSpec model = ModelOfShape(family, shape);
  model.embedding_scale = std::sqrt(static_cast<double>(shape.hidden));
  model.tied_head = !tensors.has("output.weight");
  return model;
}

}  // namespace cairn
