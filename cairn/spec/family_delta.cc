// Linear attention beside full: Gated DeltaNet, lightning attention.
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

// attn_type_list: 1 is full, 0 lightning attention with as many heads as there are query heads.
Result<std::vector<bool>> LightningLayers(const HfConfig& config, size_t layers) {
  if (!config.Has("attn_type_list")) return LinearLayers(config, layers, 8);
  CAIRN_ASSIGN(const auto types, config.Ints("attn_type_list", layers, {0, 1}));
  std::vector<bool> linear;
  linear.reserve(layers);
  for (const int64_t type : types) linear.push_back(type == 0);
  return linear;
}

Result<ModelSpec> MiniMaxFromConfig(const ConfigSource& source) {
  const HfConfig& config = source.config;
  CAIRN_ASSIGN(const Dimensions dimensions, DimensionsFromConfig(config));
  if (dimensions.heads == 0) return config.Missing("num_attention_heads");
  CAIRN_ASSIGN(ModelSpec model, SizedModel(source, "minimax", dimensions, false));
  const auto layers = static_cast<size_t>(dimensions.layers);
  CAIRN_ASSIGN(const std::vector<bool> linear, LightningLayers(config, layers));
  LinearAttentionSpec lightning;
  lightning.heads = dimensions.heads;
  lightning.key_width = lightning.value_width = dimensions.key_width;
  CAIRN_TRY(CheckMatrix(config, "num_attention_heads", lightning.heads, lightning.key_width,
                        lightning.value_width));
  // An output gate and a norm over all heads.
  const int64_t channels = dimensions.heads * dimensions.key_width;
  lightning.other_parameters = dimensions.hidden * channels + channels;
  std::string missing;
  CAIRN_ASSIGN(const auto networks, FeedForwardsFromConfig(config, dimensions, {}, missing));
  if (!missing.empty()) model.uncounted = missing + " is missing";
  for (size_t i = 0; i < layers; ++i) {
    LayerSpec layer = {.mixer = AttentionOf(dimensions), .feed_forward = networks[i]};
    if (linear[i]) layer.mixer = lightning;
    model.layers.push_back(layer);
  }
  return model;
}

constexpr RunFacts kMiniMax = {.norm_epsilon = 1e-5};

// Each branch's normed input stands for the residual; factors for both sides of the sum.
Result<BranchScale> MiniMaxScale(const HfConfig& config, std::string_view branch) {
  BranchScale scale = {.keeps_normed = true};
  constexpr FloatRange kRange = {-1e4, 1e4};
  CAIRN_ASSIGN(scale.keep, config.FloatOr(fmt::format("{}_alpha_factor", branch), kRange, 1));
  CAIRN_ASSIGN(scale.add, config.FloatOr(fmt::format("{}_beta_factor", branch), kRange, 1));
  return scale;
}

Status RunMiniMax(const ConfigSource& source, ModelSpec& model) {
  const HfConfig& config = source.config;
  CAIRN_TRY(RequireSilu(config));
  CAIRN_TRY(DescribeDecoder(source, kMiniMax, model));
  for (const std::string_view key :
       {"sliding_window", "postnorm", "rotary_dim", "layernorm_full_attention_alpha",
        "shared_intermediate_size"}) {
    if (config.Has(key)) return config.Unsupported(key, "none for this architecture");
  }
  CAIRN_ASSIGN(const int64_t block, config.IntOr("block_size", {1, 1 << 16}, 256));
  CAIRN_ASSIGN(const BranchScale full, MiniMaxScale(config, "full_attn"));
  CAIRN_ASSIGN(const BranchScale linear, MiniMaxScale(config, "linear_attn"));
  CAIRN_ASSIGN(const BranchScale mlp, MiniMaxScale(config, "mlp"));
  for (LayerSpec& layer : model.layers) {
    auto* lightning = std::get_if<LinearAttentionSpec>(&layer.mixer);
    if (lightning != nullptr) lightning->table_block = block;
    layer.mixer_scale = lightning != nullptr ? linear : full;
    layer.feed_forward_scale = mlp;
    auto* mixture = std::get_if<MixtureSpec>(&layer.feed_forward);
    if (mixture != nullptr) mixture->router.normalise = true;
  }
  return {};
}

constexpr auto kRows = std::to_array<SizedFamily>({
    {"qwen3_next", Runs<Qwen3NextFromConfig, RunQwen3Next>},
    {"qwen3_5", Runs<Qwen35FromConfig, RunQwen35>},
    {"qwen3_5_text", Runs<Qwen35FromConfig, RunQwen35>},
    {"qwen3_5_moe_text", Runs<Qwen35FromConfig, RunQwen35>},
    {"minimax", Runs<MiniMaxFromConfig, RunMiniMax>},
    {"minimax_m1", MiniMaxFromConfig},
    {"minimax_text_01", MiniMaxFromConfig},
});

}  // namespace

std::span<const SizedFamily> DeltaFamilies() { return kRows; }

}  // namespace cairn
