// MiniMax Text-01 and M1: lightning attention beside full.
//
// The files of the first release (minimax_text_01, minimax_m1) call factors and layers otherwise
// than those converted since (minimax).
#include <fmt/format.h>

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "cairn/spec/family_delta.h"
#include "cairn/spec/limits.h"
#include "cairn/spec/run_facts.h"
#include "cairn/spec/sized_families.h"

namespace cairn {
namespace {

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

// Prefixes of a branch's two factors, in the converted files and in the first release's.
struct BranchKeys {
  std::string_view converted;
  std::string_view first;
};
constexpr BranchKeys kFull = {"full_attn", "layernorm_full_attention"};
constexpr BranchKeys kLinear = {"linear_attn", "layernorm_linear_attention"};
constexpr BranchKeys kMlp = {"mlp", "layernorm_mlp"};

Result<double> Factor(const HfConfig& config, const BranchKeys& keys, std::string_view side) {
  constexpr FloatRange kRange = {-1e4, 1e4};
  const std::string converted = fmt::format("{}_{}_factor", keys.converted, side);
  const std::string first = fmt::format("{}_{}", keys.first, side);
  CAIRN_ASSIGN(const double factor, config.FloatOr(converted, kRange, 1));
  CAIRN_ASSIGN(const double same, config.FloatOr(first, kRange, factor));
  if (config.Has(converted) && same != factor) {
    return config.Wrong(first, fmt::format("what {} is", converted));
  }
  return same;
}

// residual = alpha * residual + beta * branch
Result<BranchScale> ScaleOf(const HfConfig& config, const BranchKeys& keys, bool keeps_normed) {
  BranchScale scale = {.keeps_normed = keeps_normed};
  CAIRN_ASSIGN(scale.keep, Factor(config, keys, "alpha"));
  CAIRN_ASSIGN(scale.add, Factor(config, keys, "beta"));
  return scale;
}

struct Release {
  bool first = false;
};

// Whether a branch's normed input stands for the residual. Converted files mean that in any case.
Result<bool> KeepsNormed(const HfConfig& config, Release release) {
  CAIRN_ASSIGN(const bool postnorm, config.BoolOr("postnorm", !release.first));
  if (postnorm || release.first) return postnorm;
  return config.Unsupported("postnorm", "true for this architecture");
}

// The leading channels of a head that turn. What runs converted files turns all, whatever this
// says.
Status SetRotation(const HfConfig& config, Release release, AttentionSpec& attention) {
  const int64_t width = attention.key_width;
  CAIRN_ASSIGN(const int64_t turns, config.IntOr("rotary_dim", {2, width}, width));
  if (turns % 2 != 0) return config.Wrong("rotary_dim", "an even number");
  if (!release.first && turns != width) {
    return config.Unsupported("rotary_dim", "head_dim for this architecture");
  }
  attention.rope->width = turns;
  return {};
}

Status RefuseOthers(const HfConfig& config) {
  if (config.Has("sliding_window")) {
    return config.Unsupported("sliding_window", "none for this architecture");
  }
  CAIRN_ASSIGN(const int64_t shared,
               config.IntOr("shared_intermediate_size", {0, kMaxIntermediate}, 0));
  if (shared != 0) {
    return config.Unsupported("shared_intermediate_size", "0 for this architecture");
  }
  // Defaults differ from one release to the next.
  if (!config.Has("attn_type_list") && !config.Has("layer_types")) {
    return config.Missing("layer_types");
  }
  return {};
}

constexpr RunFacts kMiniMax = {.rope_base = 1000000, .norm_epsilon = 1e-5};

Status Describe(const ConfigSource& source, Release release, ModelSpec& model) {
  const HfConfig& config = source.config;
  CAIRN_TRY(RequireSilu(config));
  CAIRN_TRY(RefuseOthers(config));
  CAIRN_TRY(DescribeDecoder(source, kMiniMax, model));
  CAIRN_ASSIGN(const int64_t block, config.IntOr("block_size", {1, 1 << 16}, 256));
  CAIRN_ASSIGN(const bool normed, KeepsNormed(config, release));
  CAIRN_ASSIGN(const BranchScale full, ScaleOf(config, kFull, normed));
  CAIRN_ASSIGN(const BranchScale linear, ScaleOf(config, kLinear, normed));
  CAIRN_ASSIGN(const BranchScale mlp, ScaleOf(config, kMlp, normed));
  for (LayerSpec& layer : model.layers) {
    auto* lightning = std::get_if<LinearAttentionSpec>(&layer.mixer);
    if (lightning != nullptr) lightning->table_block = block;
    layer.mixer_scale = lightning != nullptr ? linear : full;
    layer.feed_forward_scale = mlp;
    auto* attention = std::get_if<AttentionSpec>(&layer.mixer);
    if (attention != nullptr) CAIRN_TRY(SetRotation(config, release, *attention));
    auto* mixture = std::get_if<MixtureSpec>(&layer.feed_forward);
    if (mixture != nullptr) mixture->router.normalise = true;
  }
  return {};
}

Status RunConverted(const ConfigSource& source, ModelSpec& model) {
  return Describe(source, {.first = false}, model);
}

Status RunFirstRelease(const ConfigSource& source, ModelSpec& model) {
  return Describe(source, {.first = true}, model);
}

constexpr auto kRows = std::to_array<SizedFamily>({
    {"minimax", Runs<MiniMaxFromConfig, RunConverted>},
    {"minimax_m1", Runs<MiniMaxFromConfig, RunFirstRelease>},
    {"minimax_text_01", Runs<MiniMaxFromConfig, RunFirstRelease>},
});

}  // namespace

std::span<const SizedFamily> LightningFamilies() { return kRows; }

}  // namespace cairn
