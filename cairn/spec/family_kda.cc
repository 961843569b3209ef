// KDA (a delta rule with a decay for each channel) beside latent attention: Kimi Linear, Bailing
// hybrid, GLM 5 next.
#include <array>
#include <optional>
#include <string>
#include <variant>

#include "cairn/spec/family_delta.h"
#include "cairn/spec/family_latent.h"
#include "cairn/spec/limits.h"
#include "cairn/spec/run_latent.h"
#include "cairn/spec/sized_families.h"

namespace cairn {
namespace {

constexpr int64_t kMaxKernel = 1024;
constexpr FloatRange kDecayBounds = {-1e3, -1e-6};
constexpr int64_t kMaxPool = 1 << 12;
constexpr FeedForwardTraits kRouterBias = {.router_bias = {"", true}};

int64_t ChannelsOf(const DeltaRuleSpec& delta) { return delta.key_heads * delta.key_width; }

// The step, decay and norm of each head.
int64_t HeadParameters(const DeltaRuleSpec& delta, int64_t hidden) {
  return delta.key_heads * hidden + ChannelsOf(delta) + delta.key_heads + delta.key_width;
}

// A decay or an output gate through as many channels as one head has.
int64_t LowRankGate(const DeltaRuleSpec& delta, int64_t hidden) {
  return delta.key_width * (hidden + ChannelsOf(delta));
}

Result<DeltaRuleSpec> KdaFromConfig(const HfConfig& widths, std::string_view heads_key,
                                    std::string_view width_key, std::string_view kernel_key) {
  DeltaRuleSpec delta;
  delta.decay = DeltaRuleSpec::Decay::kChannel;
  CAIRN_ASSIGN(delta.key_heads, StateInt(widths, heads_key, kMaxHeads));
  CAIRN_ASSIGN(delta.key_width, StateInt(widths, width_key, kMaxHeadWidth));
  CAIRN_ASSIGN(delta.conv_kernel, StateIntOr(widths, kernel_key, kMaxKernel, 4));
  CAIRN_TRY(CheckMatrix(widths, heads_key, delta.key_heads, delta.key_width, delta.key_width));
  delta.value_heads = delta.key_heads;
  delta.value_width = delta.key_width;
  return delta;
}

Result<DeltaRuleSpec> FlatKdaFromConfig(const HfConfig& config) {
  return KdaFromConfig(config, "linear_num_heads", "linear_head_dim", "linear_conv_kernel_dim");
}

// Files may leave the keys out that say again what attention's say.
Result<DeltaRuleSpec> BailingKdaFromConfig(const HfConfig& config) {
  if (config.Has("linear_num_heads")) return FlatKdaFromConfig(config);
  return KdaFromConfig(config, "num_attention_heads", "head_dim", "short_conv_kernel_size");
}

// linear_attn_config counts layers from 1.
Result<std::vector<bool>> ListedLinearLayers(const HfConfig& listed, int64_t layers) {
  const auto size = static_cast<size_t>(layers);
  CAIRN_ASSIGN(const auto full, listed.IntsUpTo("full_attn_layers", size, {1, layers}));
  std::vector<bool> linear(size, true);
  for (const int64_t layer : full) linear[static_cast<size_t>(layer - 1)] = false;
  if (!listed.Has("kda_layers")) return linear;
  CAIRN_ASSIGN(const auto delta, listed.IntsUpTo("kda_layers", size, {1, layers}));
  std::vector<bool> delta_layers(size, false);
  for (const int64_t layer : delta) delta_layers[static_cast<size_t>(layer - 1)] = true;
  if (delta_layers != linear) {
    return listed.Wrong("kda_layers", "exactly the layers that full_attn_layers leaves");
  }
  return linear;
}

struct KimiLayers {
  DeltaRuleSpec delta;
  std::vector<bool> linear;
  bool full_rank_gate = false;
};

// Newer files have layer_types and flat keys instead of linear_attn_config.
Result<KimiLayers> KimiFromConfig(const HfConfig& config, int64_t layers) {
  KimiLayers kimi;
  CAIRN_ASSIGN(const auto nested, config.Child("linear_attn_config"));
  if (nested) {
    CAIRN_ASSIGN(kimi.delta,
                 KdaFromConfig(*nested, "num_heads", "head_dim", "short_conv_kernel_size"));
    CAIRN_ASSIGN(kimi.full_rank_gate, nested->BoolOr("use_full_rank_gate", false));
  } else {
    CAIRN_ASSIGN(kimi.delta, FlatKdaFromConfig(config));
  }
  if (config.Has("layer_types") || !nested) {
    CAIRN_ASSIGN(kimi.linear, LinearLayers(config, static_cast<size_t>(layers), 4));
  } else {
    CAIRN_ASSIGN(kimi.linear, ListedLinearLayers(*nested, layers));
  }
  return kimi;
}

struct KdaParts {
  DeltaRuleSpec delta;
  LatentAttentionSpec latent;
  std::vector<bool> linear;
};

Result<ModelSpec> AssembleKda(const ConfigSource& source, std::string_view family, Dimensions frame,
                              const KdaParts& parts) {
  frame.heads = parts.latent.heads;
  CAIRN_ASSIGN(ModelSpec model, SizedModel(source, family, frame, false));
  std::string missing;
  CAIRN_ASSIGN(const auto networks,
               FeedForwardsFromConfig(source.config, frame, kRouterBias, missing));
  if (!missing.empty()) model.uncounted = missing + " is missing";
  for (size_t i = 0; i < networks.size(); ++i) {
    LayerSpec layer = {.mixer = parts.latent, .feed_forward = networks[i]};
    if (parts.linear[i]) layer.mixer = parts.delta;
    model.layers.push_back(layer);
  }
  return model;
}

// A norm of what the experts made in their latent space; where whole blocks of layers are attended
// to, a norm and a score for each branch and for the head.
Status AddKimiK3(const HfConfig& config, ModelSpec& model) {
  CAIRN_ASSIGN(const bool latent_norm, config.BoolOr("latent_moe_use_norm", false));
  CAIRN_ASSIGN(const auto block,
               config.OptionalInt("attn_res_block_size", {1, kMaxLayers}, std::nullopt));
  for (LayerSpec& layer : model.layers) {
    auto* mixture = std::get_if<MixtureSpec>(&layer.feed_forward);
    if (mixture != nullptr && mixture->latent > 0) {
      mixture->latent_norm = latent_norm;
      if (latent_norm) mixture->other_parameters += mixture->latent;
    }
    if (block) layer.other_parameters += 4 * model.hidden;
  }
  if (!block) return {};
  model.other_parameters += 2 * model.hidden;
  model.residual = AttendedBlocksSpec{.block = *block};
  return {};
}

Result<ModelSpec> KimiLinearFromConfig(const ConfigSource& source) {
  const HfConfig& config = source.config;
  CAIRN_ASSIGN(const Dimensions frame, FrameFromConfig(config));
  CAIRN_ASSIGN(KimiLayers kimi, KimiFromConfig(config, frame.layers));
  CAIRN_ASSIGN(LatentAttentionSpec latent, LatentFromConfig(config));
  const int64_t low_rank = LowRankGate(kimi.delta, frame.hidden);
  const int64_t gate = kimi.full_rank_gate ? frame.hidden * ChannelsOf(kimi.delta) : low_rank;
  kimi.delta.other_parameters = low_rank + gate + HeadParameters(kimi.delta, frame.hidden);
  CAIRN_ASSIGN(const bool gated, config.BoolOr("mla_use_output_gate", false));
  if (gated) latent.other_parameters += frame.hidden * latent.heads * latent.value_width;
  CAIRN_ASSIGN(ModelSpec model,
               AssembleKda(source, "kimi_linear", frame, {kimi.delta, latent, kimi.linear}));
  CAIRN_TRY(AddKimiK3(config, model));
  return model;
}

// Without a list each group ends with a latent layer, and so are all of a last group that is cut.
Result<std::vector<bool>> BailingLinearLayers(const HfConfig& config, int64_t layers) {
  if (config.Has("layer_types")) {
    return LinearLayers(config, static_cast<size_t>(layers), 1);
  }
  CAIRN_ASSIGN(const int64_t group, config.Int("layer_group_size", {1, kMaxLayers}));
  std::vector<bool> linear;
  for (int64_t i = 0; i < layers; ++i) {
    linear.push_back((i + 1) % group != 0 && i < layers / group * group);
  }
  return linear;
}

// Decay and output gate of full rank; on latent layers a gate for each head.
Result<ModelSpec> BailingHybridFromConfig(const ConfigSource& source) {
  const HfConfig& config = source.config;
  CAIRN_ASSIGN(const Dimensions frame, FrameFromConfig(config));
  KdaParts parts;
  CAIRN_ASSIGN(parts.delta, BailingKdaFromConfig(config));
  CAIRN_ASSIGN(parts.latent, LatentFromConfig(config));
  CAIRN_ASSIGN(parts.linear, BailingLinearLayers(config, frame.layers));
  parts.delta.other_parameters =
      2 * frame.hidden * ChannelsOf(parts.delta) + HeadParameters(parts.delta, frame.hidden);
  parts.latent.other_parameters += parts.latent.heads * frame.hidden;
  return AssembleKda(source, "bailing_hybrid", frame, parts);
}

// A linear_attn_config says more than the flat keys.
Result<DeltaRuleSpec> Glm5KdaFromConfig(const HfConfig& config) {
  CAIRN_ASSIGN(const auto nested, config.Child("linear_attn_config"));
  if (!nested || !nested->Has("num_heads")) return FlatKdaFromConfig(config);
  return KdaFromConfig(*nested, "num_heads", "head_dim", "short_conv_kernel_size");
}

// Index keys are pooled in fixed groups when they are read: a key is kept for each token, with a
// gate for each of its channels and one number more. Several residual streams, averaged at the end.
Result<ModelSpec> Glm5NextFromConfig(const ConfigSource& source) {
  const HfConfig& config = source.config;
  CAIRN_ASSIGN(const Dimensions frame, FrameFromConfig(config));
  const auto layers = static_cast<size_t>(frame.layers);
  KdaParts parts;
  CAIRN_ASSIGN(parts.delta, Glm5KdaFromConfig(config));
  CAIRN_ASSIGN(parts.latent, LatentFromConfig(config));
  CAIRN_ASSIGN(parts.linear,
               LinearLayers(config, layers, 4,
                            {"indexed_attention", "full_attention", "deepseek_sparse_attention"}));
  parts.delta.other_parameters =
      2 * LowRankGate(parts.delta, frame.hidden) + HeadParameters(parts.delta, frame.hidden);
  CAIRN_ASSIGN(auto index, IndexFromConfig(config));
  int64_t pooling = 0;
  if (index) {
    CAIRN_ASSIGN(index->pool, config.IntOr("index_kpool", {1, kMaxPool}, 16));
    index->gate_width = index->width + 1;
    pooling = index->width * (index->pool + frame.hidden);
  }
  CAIRN_ASSIGN(const int64_t picks, PicksFromConfig(config));
  CAIRN_ASSIGN(const std::vector<bool> indexed, IndexedLayers(config, layers));
  CAIRN_ASSIGN(ModelSpec model, AssembleKda(source, "glm5_next", frame, parts));
  CAIRN_ASSIGN(const int64_t streams, config.IntOr("hc_mult", {1, 64}, 4));
  for (size_t i = 0; i < layers; ++i) {
    LayerSpec& layer = model.layers[i];
    layer.other_parameters = 2 * HyperConnectionParameters(streams, frame.hidden);
    auto* latent = std::get_if<LatentAttentionSpec>(&layer.mixer);
    if (latent == nullptr || !index) continue;
    latent->picks = picks;
    if (!indexed[i]) continue;
    latent->index = index;
    latent->other_parameters += pooling;
  }
  return model;
}

// gate_lower_bound doesn't clamp: with it decays are of another form.
Status RunKimiLinear(const ConfigSource& source, ModelSpec& model) {
  CAIRN_TRY(DescribeKimiLatent(source, model));
  CAIRN_ASSIGN(const auto nested, source.config.Child("linear_attn_config"));
  if (!nested) return {};
  CAIRN_ASSIGN(const auto bound,
               nested->OptionalFloat("gate_lower_bound", {-1e3, -1e-6}, std::nullopt));
  for (LayerSpec& layer : model.layers) {
    auto* delta = std::get_if<DeltaRuleSpec>(&layer.mixer);
    if (delta != nullptr) delta->decay_bound = bound.value_or(0);
  }
  return {};
}

// The safe gate bounds how far a step can forget.
Status RunBailingHybrid(const ConfigSource& source, ModelSpec& model) {
  const HfConfig& config = source.config;
  CAIRN_TRY(RequireSilu(config));
  CAIRN_TRY(DescribeBailingLatent(source, model));
  CAIRN_ASSIGN(const bool bounded, config.BoolOr("kda_safe_gate", true));
  CAIRN_ASSIGN(const double bound, config.FloatOr("kda_lower_bound", kDecayBounds, -5));
  for (LayerSpec& layer : model.layers) {
    auto* delta = std::get_if<DeltaRuleSpec>(&layer.mixer);
    if (delta != nullptr && bounded) delta->decay_bound = bound;
  }
  return {};
}

// Null is a decay without a bound, unless a linear_attn_config asks for a safe gate.
Result<double> Glm5DecayBound(const HfConfig& config) {
  CAIRN_ASSIGN(auto bound, config.OptionalFloat("linear_lower_bound", kDecayBounds, -5));
  CAIRN_ASSIGN(const auto nested, config.Child("linear_attn_config"));
  if (nested) {
    CAIRN_ASSIGN(bound, nested->OptionalFloat("gate_lower_bound", kDecayBounds, bound));
    CAIRN_ASSIGN(const bool safe, nested->BoolOr("safe_gate", true));
    if (safe && !bound) bound = -5;
  }
  return bound.value_or(0);
}

Status RunGlm5Next(const ConfigSource& source, ModelSpec& model) {
  const HfConfig& config = source.config;
  CAIRN_TRY(RequireSilu(config));
  if (!config.Has("mlp_layer_types") && !config.Has("first_k_dense_replace")) {
    return config.Missing("mlp_layer_types");
  }
  CAIRN_TRY(DescribeGlm5Latent(source, model));
  CAIRN_ASSIGN(const double bound, Glm5DecayBound(config));
  Clip clip = {.limit = 10, .alpha = 1, .up_offset = 0};
  CAIRN_ASSIGN(clip.limit, config.FloatOr("swiglu_limit", {1e-3, 1e6}, 10));
  for (LayerSpec& layer : model.layers) {
    if (auto* delta = std::get_if<DeltaRuleSpec>(&layer.mixer)) delta->decay_bound = bound;
    if (auto* dense = std::get_if<GatedMlpSpec>(&layer.feed_forward)) {
      dense->activation = Activation::kClippedSilu;
      dense->clip = clip;
    }
    if (auto* mixture = std::get_if<MixtureSpec>(&layer.feed_forward)) {
      mixture->activation = mixture->shared_activation = Activation::kClippedSilu;
      mixture->clip = clip;
    }
  }
  CAIRN_ASSIGN(HyperConnectionsSpec streams, HyperConnectionsFromConfig(config));
  streams.ends_in_mean = true;
  model.residual = streams;
  return {};
}

constexpr auto kRows = std::to_array<SizedFamily>({
    {"kimi_linear", Runs<KimiLinearFromConfig, RunKimiLinear>},
    {"bailing_hybrid", Runs<BailingHybridFromConfig, RunBailingHybrid>},
    {"glm5_next_text", Runs<Glm5NextFromConfig, RunGlm5Next>},
});

}  // namespace

std::span<const SizedFamily> KdaFamilies() { return kRows; }

}  // namespace cairn
