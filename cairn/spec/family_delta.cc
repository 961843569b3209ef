// Gated DeltaNet beside full attention; what families with linear attention share.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>

#include "cairn/spec/family_delta.h"
#include "cairn/spec/limits.h"
#include "cairn/spec/run_facts.h"
#include "cairn/spec/sized_families.h"

namespace cairn {
namespace {

constexpr int64_t kMaxKernel = 1024;
// One state matrix of all heads.
constexpr int64_t kMaxMatrix = int64_t{1} << 34;

}  // namespace

Status RequireSilu(const HfConfig& config) {
  CAIRN_ASSIGN(const Activation activation, ActivationFromConfig(config, "hidden_act", "silu"));
  if (activation == Activation::kSilu) return {};
  return config.Unsupported("hidden_act", "silu for this architecture");
}

Status CheckMatrix(const HfConfig& config, std::string_view key, int64_t heads, int64_t keys,
                   int64_t values) {
  if (heads * keys <= kMaxProjection && heads * values <= kMaxProjection &&
      heads * keys * values <= kMaxMatrix) {
    return {};
  }
  return config.Wrong(key, fmt::format("at most {} channels in all heads", kMaxProjection));
}

Result<std::vector<bool>> LinearLayers(const HfConfig& config, size_t layers, int64_t period,
                                       std::initializer_list<std::string_view> others) {
  std::vector<bool> linear(layers);
  for (size_t i = 0; i < layers; ++i) linear[i] = (static_cast<int64_t>(i) + 1) % period != 0;
  if (!config.Has("layer_types")) return linear;
  CAIRN_ASSIGN(const auto types, config.Strings("layer_types", layers));
  for (size_t i = 0; i < layers; ++i) {
    linear[i] = types[i] == "linear_attention";
    if (!linear[i] && std::ranges::find(others, types[i]) == others.end()) {
      return config.Wrong("layer_types", fmt::format("linear_attention or {} for each layer",
                                                     fmt::join(others, " or ")));
    }
  }
  return linear;
}

Result<DeltaRuleSpec> GatedDeltaFromConfig(const HfConfig& config, int64_t hidden) {
  DeltaRuleSpec delta;
  CAIRN_ASSIGN(delta.key_heads, StateInt(config, "linear_num_key_heads", kMaxHeads));
  CAIRN_ASSIGN(delta.value_heads, StateInt(config, "linear_num_value_heads", kMaxHeads));
  if (delta.value_heads % delta.key_heads != 0) {
    return config.Wrong("linear_num_value_heads",
                        fmt::format("a multiple of linear_num_key_heads ({})", delta.key_heads));
  }
  CAIRN_ASSIGN(delta.key_width, StateInt(config, "linear_key_head_dim", kMaxHeadWidth));
  CAIRN_ASSIGN(delta.value_width, StateInt(config, "linear_value_head_dim", kMaxHeadWidth));
  CAIRN_ASSIGN(delta.conv_kernel, StateInt(config, "linear_conv_kernel_dim", kMaxKernel));
  CAIRN_TRY(CheckMatrix(config, "linear_num_value_heads",
                        std::max(delta.value_heads, delta.key_heads), delta.key_width,
                        delta.value_width));
  CAIRN_ASSIGN(delta.dtype, StateTypeFromConfig(config, "mamba_ssm_dtype"));
  // An output gate, two scalars a head from the residual, decay and step, and a norm.
  const int64_t values = delta.value_heads * delta.value_width;
  delta.other_parameters =
      hidden * (values + 2 * delta.value_heads) + 2 * delta.value_heads + delta.value_width;
  return delta;
}

namespace {

Result<ModelSpec> QwenDelta(const ConfigSource& source, std::string_view family) {
  const HfConfig& config = source.config;
  CAIRN_ASSIGN(const Dimensions dimensions, DimensionsFromConfig(config));
  CAIRN_ASSIGN(ModelSpec model, SizedModel(source, family, dimensions, false));
  CAIRN_ASSIGN(const int64_t period, config.IntOr("full_attention_interval", {1, kMaxLayers}, 4));
  const auto layers = static_cast<size_t>(dimensions.layers);
  CAIRN_ASSIGN(const std::vector<bool> linear, LinearLayers(config, layers, period));
  AttentionSpec attention = AttentionOf(dimensions);
  attention.query_key_norm = true;
  CAIRN_ASSIGN(attention.qkv_bias, config.BoolOr("attention_bias", false));
  attention.output_bias = attention.qkv_bias;
  CAIRN_ASSIGN(const bool gates, config.BoolOr("attn_output_gate", true));
  if (gates) {
    attention.output_gate = OutputGate::kChannels;
    attention.other_parameters = dimensions.hidden * dimensions.heads * dimensions.key_width;
  }
  DeltaRuleSpec delta;
  if (std::ranges::find(linear, true) != linear.end()) {
    CAIRN_ASSIGN(delta, GatedDeltaFromConfig(config, dimensions.hidden));
  }
  std::string missing;
  CAIRN_ASSIGN(const auto networks,
               FeedForwardsFromConfig(config, dimensions, {.shared_gate = true}, missing));
  if (!missing.empty()) model.uncounted = missing + " is missing";
  for (size_t i = 0; i < layers; ++i) {
    LayerSpec layer = {.mixer = attention, .feed_forward = networks[i]};
    if (linear[i]) layer.mixer = delta;
    model.layers.push_back(layer);
  }
  return model;
}

// A quarter of each head turns, norm weights lie around 0; queries and keys are normed.
constexpr RunFacts kQwen = {.partial_rotation = true, .rotated_part = 0.25};

Status RunQwenDelta(const ConfigSource& source, ModelSpec& model, bool normalises) {
  CAIRN_TRY(RequireSilu(source.config));
  CAIRN_TRY(DescribeDecoder(source, kQwen, model));
  model.norm_weight_plus_one = true;
  for (LayerSpec& layer : model.layers) {
    auto* mixture = std::get_if<MixtureSpec>(&layer.feed_forward);
    if (mixture != nullptr) mixture->router.normalise = normalises;
  }
  return {};
}

Status RunQwen3Next(const ConfigSource& source, ModelSpec& model) {
  CAIRN_ASSIGN(const bool normalises, source.config.BoolOr("norm_topk_prob", true));
  return RunQwenDelta(source, model, normalises);
}

Status RunQwen35(const ConfigSource& source, ModelSpec& model) {
  return RunQwenDelta(source, model, true);
}

Result<ModelSpec> Qwen3NextFromConfig(const ConfigSource& source) {
  return QwenDelta(source, "qwen3_next");
}

Result<ModelSpec> Qwen35FromConfig(const ConfigSource& source) {
  return QwenDelta(source, "qwen3_5");
}

constexpr auto kRows = std::to_array<SizedFamily>({
    {"qwen3_next", Runs<Qwen3NextFromConfig, RunQwen3Next>},
    {"qwen3_5", Runs<Qwen35FromConfig, RunQwen35>},
    {"qwen3_5_text", Runs<Qwen35FromConfig, RunQwen35>},
    {"qwen3_5_moe_text", Runs<Qwen35FromConfig, RunQwen35>},
});

}  // namespace

std::span<const SizedFamily> DeltaFamilies() { return kRows; }

}  // namespace cairn
