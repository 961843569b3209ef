// Mamba 2 with attention: beside it in every layer (Falcon-H1), in layers between (Granite 4,
// Bamba, Nemotron-H).
#include <algorithm>
#include <array>
#include <string>

#include "cairn/spec/family_mamba.h"
#include "cairn/spec/limits.h"
#include "cairn/spec/run_recurrent.h"
#include "cairn/spec/sized_families.h"

namespace cairn {
namespace {

constexpr Mamba2Keys kPrefixed = {"mamba_n_heads",  "mamba_d_head", "mamba_d_state",
                                  "mamba_n_groups", "mamba_d_conv", "mamba_conv_bias"};

// Newer files call every layer without a growing state linear attention.
bool IsMamba(std::string_view type) { return type == "mamba" || type == "linear_attention"; }
bool IsAttention(std::string_view type) { return type == "attention" || type == "full_attention"; }

// The gated norm is there only with mamba_rms_norm; mamba_d_ssm restates heads x width.
Result<MambaSpec> FalconMamba(const HfConfig& config) {
  CAIRN_ASSIGN(MambaSpec mamba, Mamba2FromConfig(config, kPrefixed));
  CAIRN_ASSIGN(const int64_t written,
               config.IntOr("mamba_d_ssm", {1, kMaxProjection}, mamba.inner));
  if (written != mamba.inner) {
    return config.Wrong("mamba_d_ssm",
                        fmt::format("mamba_n_heads x mamba_d_head, {}", mamba.inner));
  }
  CAIRN_ASSIGN(const bool normed, config.BoolOr("mamba_rms_norm", false));
  if (!normed) mamba.other_parameters -= mamba.inner;
  return mamba;
}

Result<ModelSpec> FalconH1FromConfig(const ConfigSource& source) {
  const HfConfig& config = source.config;
  CAIRN_ASSIGN(const Dimensions dimensions, DimensionsFromConfig(config));
  CAIRN_ASSIGN(const MambaSpec mamba, FalconMamba(config));
  CAIRN_ASSIGN(ModelSpec model, SizedModel(source, "falcon_h1", dimensions, false));
  const auto layers = static_cast<size_t>(dimensions.layers);
  std::vector<bool> attends(layers, true);
  if (config.Has("attn_layer_indices")) {
    attends.assign(layers, false);
    CAIRN_ASSIGN(const auto listed,
                 config.IntsUpTo("attn_layer_indices", layers, {0, dimensions.layers - 1}));
    for (const int64_t layer : listed) attends[static_cast<size_t>(layer)] = true;
  }
  std::string missing;
  CAIRN_ASSIGN(const auto networks,
               FeedForwardsFromConfig(config, dimensions, {.bias = {"mlp_bias", false}}, missing));
  if (!missing.empty()) model.uncounted = missing + " is missing";
  AttentionSpec attention = AttentionOf(dimensions);
  CAIRN_ASSIGN(attention.qkv_bias, config.BoolOr("attention_bias", false));
  attention.output_bias = attention.qkv_bias;
  for (size_t i = 0; i < layers; ++i) {
    LayerSpec layer = {.mixer = mamba, .feed_forward = networks[i]};
    if (attends[i]) layer.mixer = AttentionBesideMambaSpec{attention, mamba};
    model.layers.push_back(layer);
  }
  return model;
}

Result<std::vector<bool>> MambaLayers(const HfConfig& config, size_t layers) {
  std::vector<bool> mamba(layers, true);
  if (config.Has("layer_types")) {
    CAIRN_ASSIGN(const auto types, config.Strings("layer_types", layers));
    for (size_t i = 0; i < layers; ++i) {
      mamba[i] = IsMamba(types[i]);
      if (!mamba[i] && !IsAttention(types[i])) {
        return config.Wrong("layer_types", "mamba or attention for each layer");
      }
    }
    return mamba;
  }
  CAIRN_ASSIGN(const auto listed, config.IntsUpTo("attn_layer_indices", layers,
                                                  {0, static_cast<int64_t>(layers) - 1}));
  for (const int64_t layer : listed) mamba[static_cast<size_t>(layer)] = false;
  return mamba;
}

// Every layer has a dense network, as wide as the shared expert; experts stand beside it if any.
Result<ModelSpec> GraniteFromConfig(const ConfigSource& source) {
  const HfConfig& config = source.config;
  CAIRN_ASSIGN(Dimensions dimensions, DimensionsFromConfig(config));
  const auto layers = static_cast<size_t>(dimensions.layers);
  CAIRN_ASSIGN(const auto is_mamba, MambaLayers(config, layers));
  MambaSpec mamba;
  if (std::ranges::find(is_mamba, true) != is_mamba.end()) {
    CAIRN_ASSIGN(mamba, Mamba2FromConfig(config, kPrefixed));
  }
  CAIRN_ASSIGN(ModelSpec model, SizedModel(source, "granitemoehybrid", dimensions, true));
  CAIRN_ASSIGN(const int64_t experts, config.IntOr("num_local_experts", {0, 1 << 16}, 0));
  if (experts == 0) {
    CAIRN_ASSIGN(
        dimensions.intermediate,
        config.IntOr("shared_intermediate_size", {1, kMaxIntermediate}, dimensions.intermediate));
  }
  std::string missing;
  CAIRN_ASSIGN(const auto networks, FeedForwardsFromConfig(config, dimensions, {}, missing));
  if (!missing.empty()) model.uncounted = missing + " is missing";
  AttentionSpec attention = AttentionOf(dimensions);
  CAIRN_ASSIGN(attention.qkv_bias, config.BoolOr("attention_bias", false));
  attention.output_bias = attention.qkv_bias;
  for (size_t i = 0; i < layers; ++i) {
    LayerSpec layer = {.mixer = attention, .feed_forward = networks[i]};
    if (is_mamba[i]) layer.mixer = mamba;
    model.layers.push_back(layer);
  }
  return model;
}

// One word a block; the letters M, *, -, E of older files become the words of newer ones.
Result<std::vector<std::string>> NemotronBlocks(const HfConfig& config) {
  if (const auto size = config.ListSize("layers_block_type")) {
    if (*size < 1 || *size > kMaxLayers) {
      return config.Wrong("layers_block_type", fmt::format("a list of 1 to {}", kMaxLayers));
    }
    return config.Strings("layers_block_type", *size);
  }
  CAIRN_ASSIGN(const std::string letters, config.String("hybrid_override_pattern"));
  if (letters.empty() || letters.size() > kMaxLayers) {
    return config.Wrong("hybrid_override_pattern", fmt::format("1 to {} letters", kMaxLayers));
  }
  std::vector<std::string> blocks;
  for (const char letter : letters) {
    switch (letter) {
      case 'M':
        blocks.emplace_back("mamba");
        break;
      case '*':
        blocks.emplace_back("attention");
        break;
      case '-':
        blocks.emplace_back("mlp");
        break;
      case 'E':
        blocks.emplace_back("moe");
        break;
      default:
        return config.Wrong("hybrid_override_pattern", "letters M, *, - and E");
    }
  }
  return blocks;
}

// num_hidden_layers counts blocks of all kinds and may be left out.
Result<Dimensions> NemotronDimensions(const HfConfig& config, size_t blocks) {
  if (!config.Has("num_hidden_layers")) {
    return DimensionsOfLayers(config, static_cast<int64_t>(blocks));
  }
  CAIRN_ASSIGN(const Dimensions dimensions, DimensionsFromConfig(config));
  if (dimensions.layers != static_cast<int64_t>(blocks)) {
    return config.Wrong("num_hidden_layers", fmt::format("{}, as many as blocks", blocks));
  }
  return dimensions;
}

struct NemotronParts {
  MambaSpec mamba = {};
  AttentionSpec attention = {};
  FeedForwardSpec mlp = {};
  FeedForwardSpec moe = {};
};

Result<LayerSpec> NemotronLayer(const HfConfig& config, const NemotronParts& parts,
                                const std::string& type) {
  LayerSpec layer = {.mixer = NoMixer{}, .feed_forward = NoFeedForward{}, .norm_vectors = 1};
  if (IsMamba(type)) {
    layer.mixer = parts.mamba;
  } else if (IsAttention(type)) {
    layer.mixer = parts.attention;
  } else if (type == "mlp") {
    layer.feed_forward = parts.mlp;
  } else if (type == "moe") {
    layer.feed_forward = parts.moe;
  } else {
    return config.Wrong("layers_block_type", "mamba, attention, mlp or moe for each block");
  }
  return layer;
}

Result<ModelSpec> NemotronHFromConfig(const ConfigSource& source) {
  constexpr Mamba2Keys kKeys = {"mamba_num_heads", "mamba_head_dim", "ssm_state_size",
                                "n_groups",        "conv_kernel",    "use_conv_bias"};
  const HfConfig& config = source.config;
  CAIRN_ASSIGN(const auto blocks, NemotronBlocks(config));
  CAIRN_ASSIGN(const Dimensions dimensions, NemotronDimensions(config, blocks.size()));
  CAIRN_ASSIGN(ModelSpec model, SizedModel(source, "nemotron_h", dimensions, false));
  NemotronParts parts = {.attention = AttentionOf(dimensions)};
  if (std::ranges::any_of(blocks, IsMamba)) {
    CAIRN_ASSIGN(parts.mamba, Mamba2FromConfig(config, kKeys));
  }
  parts.mlp = MlpSpec{.intermediate = dimensions.intermediate};
  std::string missing;
  CAIRN_ASSIGN(const auto networks,
               FeedForwardsFromConfig(config, dimensions,
                                      {.gated = false, .router_bias = {"", true}}, missing));
  if (!missing.empty()) model.uncounted = missing + " is missing";
  parts.moe = networks.front();
  for (const std::string& type : blocks) {
    CAIRN_ASSIGN(LayerSpec layer, NemotronLayer(config, parts, type));
    model.layers.push_back(std::move(layer));
  }
  return model;
}

constexpr auto kRows = std::to_array<SizedFamily>({
    {"falcon_h1", Runs<FalconH1FromConfig, RunFalconH1>},
    {"granitemoehybrid", GraniteFromConfig},
    {"bamba", GraniteFromConfig},
    {"nemotron_h", Runs<NemotronHFromConfig, RunNemotronH>},
});

}  // namespace

std::span<const SizedFamily> HybridFamilies() { return kRows; }

}  // namespace cairn
