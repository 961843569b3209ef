// Gemma 3: five sliding layers to one full layer, each kind with its own rotation, normed queries
// and keys, norms on the branches' outputs.
#include <cmath>

#include "cairn/spec/family.h"
#include "cairn/spec/limits.h"
#include "cairn/spec/rope_config.h"

namespace cairn {
namespace {

constexpr std::string_view kName = "gemma3";
constexpr ConfigDefaults kDefaults = {.vocabulary = 262208,
                                      .hidden = 2304,
                                      .intermediate = 9216,
                                      .layers = 26,
                                      .heads = 8,
                                      .kv_heads = 4,
                                      .head_width = 256,
                                      .context_length = 131072,
                                      .tied_head = true};
constexpr int64_t kDefaultWindow = 4096;
constexpr int64_t kPeriod = 6;
constexpr double kGlobalBase = 1000000;
constexpr double kLocalBase = 10000;
constexpr double kDefaultQueryScalar = 256;
constexpr FloatRange kBaseRange = {1, 1e15};
constexpr FloatRange kCapRange = {1e-3, 1e6};
constexpr FloatRange kScalarRange = {1e-3, 1e9};
// The one size whose scale isn't key_width^-0.5, known in GGUF by its depth.
constexpr size_t kLayersOf27B = 62;

struct Parts {
  double scale = 0;
  Rope global;
  Rope local;
  bool bias = false;
  std::vector<bool> sliding;
  Lifetime window;
  Activation activation = Activation::kGeluTanh;
};

void AddLayers(const DecoderShape& shape, const Parts& parts, ModelSpec& model) {
  for (size_t i = 0; i < shape.layers.size(); ++i) {
    AttentionSpec attention = AttentionOfShape(shape, i);
    attention.scale = parts.scale;
    attention.query_key_norm = true;
    attention.qkv_bias = parts.bias;
    attention.output_bias = parts.bias;
    attention.rope = parts.sliding[i] ? parts.local : parts.global;
    if (parts.sliding[i]) attention.lifetime = parts.window;
    model.layers.push_back(
        {.mixer = attention,
         .feed_forward = GatedMlpSpec{shape.layers[i].intermediate, parts.activation},
         .branch_output_norms = true});
  }
}

// rope_parameters {full_attention {..}, sliding_attention {..}}, or the older rope_theta and
// rope_scaling, which are the full layers', beside rope_local_base_freq.
Status ReadRopes(const HfConfig& config, const DecoderShape& shape, Parts& parts) {
  const RopeDefaults global = {
      .width = shape.key_width, .base = kGlobalBase, .context_length = shape.context_length};
  RopeDefaults local = global;
  CAIRN_ASSIGN(local.base, config.FloatOr("rope_local_base_freq", kBaseRange, kLocalBase));
  CAIRN_ASSIGN(const std::optional<HfConfig> parameters, config.Child("rope_parameters"));
  if (parameters && (parameters->Has("full_attention") || parameters->Has("sliding_attention"))) {
    CAIRN_ASSIGN(const auto full, parameters->Child("full_attention"));
    CAIRN_ASSIGN(const auto sliding, parameters->Child("sliding_attention"));
    CAIRN_ASSIGN(parts.global, RopeFromSection(full ? *full : *parameters, global));
    CAIRN_ASSIGN(parts.local, RopeFromSection(sliding ? *sliding : *parameters, local));
    return {};
  }
  CAIRN_ASSIGN(parts.global, RopeFromConfig(config, global));
  parts.local.width = local.width;
  parts.local.base = local.base;
  return {};
}

Result<std::vector<bool>> ReadSliding(const HfConfig& config, size_t layers) {
  const std::string_view key =
      config.Has("sliding_window_pattern") ? "sliding_window_pattern" : "_sliding_window_pattern";
  CAIRN_ASSIGN(const int64_t period, config.IntOr(key, {1, kMaxLayers}, kPeriod));
  return SlidingLayersFromConfig(config, layers, period);
}

Result<ModelSpec> FromConfig(const ConfigSource& source) {
  const HfConfig& config = source.config;
  CAIRN_ASSIGN(const DecoderShape shape, ShapeFromConfig(source, kDefaults));
  CAIRN_ASSIGN(ModelSpec model, GemmaModelFromConfig(source, shape, kName, kDefaults));
  CAIRN_ASSIGN(const auto cap,
               config.OptionalFloat("final_logit_softcapping", kCapRange, std::nullopt));
  model.logit_cap = cap.value_or(0);
  Parts parts;
  CAIRN_ASSIGN(const double scalar,
               config.FloatOr("query_pre_attn_scalar", kScalarRange, kDefaultQueryScalar));
  parts.scale = 1 / std::sqrt(scalar);
  CAIRN_TRY(ReadRopes(config, shape, parts));
  CAIRN_ASSIGN(parts.bias, config.BoolOr("attention_bias", false));
  CAIRN_ASSIGN(parts.activation,
               ActivationFromConfig(config, "hidden_activation", "gelu_pytorch_tanh"));
  CAIRN_ASSIGN(parts.sliding, ReadSliding(config, shape.layers.size()));
  CAIRN_ASSIGN(const auto window,
               config.OptionalInt("sliding_window", {1, kMaxContext}, kDefaultWindow));
  parts.window = WindowLifetime(shape.context_length, window);
  AddLayers(shape, parts, model);
  return model;
}

Result<ModelSpec> FromGguf(const Metadata& metadata, const GgufTensors& tensors) {
  CAIRN_ASSIGN(const DecoderShape shape, ShapeFromGguf(metadata, kName));
  ModelSpec model = GemmaModelFromGguf(shape, kName, tensors);
  CAIRN_ASSIGN(model.logit_cap, CapFromGguf(metadata, "gemma3.final_logit_softcapping", 0));
  Parts parts;
  parts.scale = GemmaScaleFromGguf(shape, kLayersOf27B);
  CAIRN_ASSIGN(parts.global, RopeFromGguf(metadata, kName,
                                          {.width = shape.key_width,
                                           .base = 10000,
                                           .context_length = shape.context_length},
                                          RopePairs::kHalfSplit, tensors.rope_divisors));
  CAIRN_ASSIGN(const double local_base, metadata.FloatOr("gemma3.rope.freq_base_swa", kLocalBase));
  if (!(local_base >= kBaseRange.min && local_base <= kBaseRange.max)) {
    return Fail(ErrorCode::kInvalidArgument,
                "{}: key gemma3.rope.freq_base_swa is {}, expected a number from {} to {}",
                metadata.where(), local_base, kBaseRange.min, kBaseRange.max);
  }
  parts.local.width = parts.global.width;
  parts.local.base = local_base;
  CAIRN_ASSIGN(const std::optional<int64_t> window, WindowFromGguf(metadata, kName));
  // Without a window every layer is a full one, also in its rotation.
  parts.sliding.assign(shape.layers.size(), false);
  if (window) {
    CAIRN_ASSIGN(parts.sliding,
                 SlidingLayersFromGguf(metadata, kName, shape.layers.size(), kPeriod));
  }
  parts.window = WindowLifetime(shape.context_length, window);
  AddLayers(shape, parts, model);
  return model;
}

}  // namespace

constinit const Family kGemma3Family = {{"gemma3_text", "gemma3"}, FromConfig, "gemma3", FromGguf};

}  // namespace cairn
