// Gemma 2: capped scores and logits, every second layer slides, norms on the branches' outputs.
#include <cmath>

#include "cairn/spec/family.h"
#include "cairn/spec/limits.h"
#include "cairn/spec/rope_config.h"

namespace cairn {
namespace {

constexpr std::string_view kName = "gemma2";
constexpr ConfigDefaults kDefaults = {.vocabulary = 256000,
                                      .hidden = 2304,
                                      .intermediate = 9216,
                                      .layers = 26,
                                      .heads = 8,
                                      .kv_heads = 4,
                                      .head_width = 256,
                                      .context_length = 8192,
                                      .tied_head = true};
constexpr int64_t kDefaultWindow = 4096;
constexpr int64_t kPeriod = 2;
constexpr double kDefaultScoreCap = 50;
constexpr double kDefaultLogitCap = 30;
constexpr double kDefaultQueryScalar = 256;
constexpr FloatRange kCapRange = {1e-3, 1e6};
constexpr FloatRange kScalarRange = {1e-3, 1e9};
// The one size whose scale isn't key_width^-0.5, known in GGUF by its depth.
constexpr size_t kLayersOf27B = 46;

struct Parts {
  AttentionSpec shared;  // scale, cap, rotation, biases
  std::vector<bool> sliding;
  Lifetime window;
  Activation activation = Activation::kGeluTanh;
};

void AddLayers(const DecoderShape& shape, const Parts& parts, ModelSpec& model) {
  for (size_t i = 0; i < shape.layers.size(); ++i) {
    AttentionSpec attention = AttentionOfShape(shape, i);
    attention.scale = parts.shared.scale;
    attention.score_cap = parts.shared.score_cap;
    attention.rope = parts.shared.rope;
    attention.qkv_bias = parts.shared.qkv_bias;
    attention.output_bias = parts.shared.output_bias;
    if (parts.sliding[i]) attention.lifetime = parts.window;
    model.layers.push_back(
        {.mixer = attention,
         .feed_forward = GatedMlpSpec{shape.layers[i].intermediate, parts.activation},
         .branch_output_norms = true});
  }
}

Result<ModelSpec> FromConfig(const ConfigSource& source) {
  const HfConfig& config = source.config;
  CAIRN_ASSIGN(const DecoderShape shape, ShapeFromConfig(source, kDefaults));
  CAIRN_ASSIGN(ModelSpec model, GemmaModelFromConfig(source, shape, kName, kDefaults));
  CAIRN_ASSIGN(const auto logit_cap,
               config.OptionalFloat("final_logit_softcapping", kCapRange, kDefaultLogitCap));
  model.logit_cap = logit_cap.value_or(0);
  Parts parts;
  CAIRN_ASSIGN(const auto score_cap,
               config.OptionalFloat("attn_logit_softcapping", kCapRange, kDefaultScoreCap));
  parts.shared.score_cap = score_cap.value_or(0);
  CAIRN_ASSIGN(const double scalar,
               config.FloatOr("query_pre_attn_scalar", kScalarRange, kDefaultQueryScalar));
  parts.shared.scale = 1 / std::sqrt(scalar);
  CAIRN_ASSIGN(parts.shared.rope, RopeFromConfig(config, {.width = shape.key_width,
                                                          .context_length = shape.context_length}));
  CAIRN_ASSIGN(const bool bias, config.BoolOr("attention_bias", false));
  parts.shared.qkv_bias = bias;
  parts.shared.output_bias = bias;
  CAIRN_ASSIGN(parts.activation,
               ActivationFromConfig(config, "hidden_activation", "gelu_pytorch_tanh"));
  CAIRN_ASSIGN(parts.sliding, SlidingLayersFromConfig(config, shape.layers.size(), kPeriod));
  CAIRN_ASSIGN(const auto window,
               config.OptionalInt("sliding_window", {1, kMaxContext}, kDefaultWindow));
  parts.window = WindowLifetime(shape.context_length, window);
  AddLayers(shape, parts, model);
  return model;
}

Result<ModelSpec> FromGguf(const Metadata& metadata, const GgufTensors& tensors) {
  CAIRN_ASSIGN(const DecoderShape shape, ShapeFromGguf(metadata, kName));
  ModelSpec model = GemmaModelFromGguf(shape, kName, tensors);
  CAIRN_ASSIGN(model.logit_cap,
               CapFromGguf(metadata, "gemma2.final_logit_softcapping", kDefaultLogitCap));
  Parts parts;
  CAIRN_ASSIGN(parts.shared.score_cap,
               CapFromGguf(metadata, "gemma2.attn_logit_softcapping", kDefaultScoreCap));
  parts.shared.scale = GemmaScaleFromGguf(shape, kLayersOf27B);
  CAIRN_ASSIGN(parts.shared.rope,
               RopeFromGguf(metadata, kName,
                            {.width = shape.key_width, .context_length = shape.context_length},
                            RopePairs::kHalfSplit, tensors.rope_divisors));
  CAIRN_ASSIGN(parts.sliding, SlidingLayersFromGguf(metadata, kName, shape.layers.size(), kPeriod));
  std::optional<int64_t> window = kDefaultWindow;
  if (metadata.Has("gemma2.attention.sliding_window")) {
    CAIRN_ASSIGN(window, WindowFromGguf(metadata, kName));
  }
  parts.window = WindowLifetime(shape.context_length, window);
  AddLayers(shape, parts, model);
  return model;
}

}  // namespace

constinit const Family kGemma2Family = {{"gemma2"}, FromConfig, "gemma2", FromGguf};

}  // namespace cairn
