// Mamba 1 and 2 alone, and the hybrids that alternate either with attention.
#include <algorithm>
#include <array>
#include <string>

#include "cairn/spec/family_mamba.h"
#include "cairn/spec/limits.h"
#include "cairn/spec/run_recurrent.h"
#include "cairn/spec/sized_families.h"

namespace cairn {

Result<int64_t> MambaInner(const HfConfig& config, std::string_view expand_key, int64_t hidden) {
  if (hidden == 0) return config.Missing("hidden_size");
  CAIRN_ASSIGN(const double expand, config.FloatOr(expand_key, {1e-3, 64}, 2));
  return std::max<int64_t>(1, static_cast<int64_t>(expand * static_cast<double>(hidden)));
}

Result<MambaSpec> Mamba1FromConfig(const HfConfig& config, const Mamba1Keys& keys, int64_t inner,
                                   int64_t hidden) {
  MambaSpec mamba;
  mamba.version = 1;
  mamba.inner = inner;
  CAIRN_ASSIGN(mamba.state, StateIntOr(config, keys.state, 1 << 12, 16));
  CAIRN_ASSIGN(mamba.conv_kernel, StateIntOr(config, keys.conv_kernel, 1 << 10, 4));
  const int64_t rank = (hidden + 15) / 16;
  if (config.IsNumber(keys.step_rank)) {
    CAIRN_ASSIGN(mamba.step_rank, config.Int(keys.step_rank, {1, kMaxHidden}));
  } else {
    mamba.step_rank = rank;  // "auto"
  }
  CAIRN_ASSIGN(const bool conv_bias, config.BoolOr(keys.conv_bias, true));
  CAIRN_ASSIGN(const bool bias, config.BoolOr(keys.bias, false));
  mamba.conv_bias = conv_bias;
  mamba.input_bias = mamba.output_bias = bias;
  if (conv_bias) mamba.other_parameters += inner;
  if (bias) mamba.other_parameters += 2 * inner + hidden;
  return mamba;
}

Result<MambaSpec> Mamba2FromConfig(const HfConfig& config, const Mamba2Keys& keys) {
  MambaSpec mamba;
  mamba.version = 2;
  CAIRN_ASSIGN(mamba.heads, StateInt(config, keys.heads, kMaxHeads));
  CAIRN_ASSIGN(const int64_t width, StateInt(config, keys.head_width, kMaxHeadWidth));
  CAIRN_ASSIGN(mamba.state, StateInt(config, keys.state, 1 << 12));
  CAIRN_ASSIGN(mamba.groups, StateIntOr(config, keys.groups, 1 << 10, 1));
  CAIRN_ASSIGN(mamba.conv_kernel, StateIntOr(config, keys.conv_kernel, 1 << 10, 4));
  mamba.inner = mamba.heads * width;
  if (mamba.inner > kMaxProjection) {
    return config.Wrong(keys.heads,
                        fmt::format("at most {} channels in all heads", kMaxProjection));
  }
  CAIRN_ASSIGN(const bool conv_bias, config.BoolOr(keys.conv_bias, true));
  mamba.conv_bias = conv_bias;
  if (conv_bias) mamba.other_parameters += mamba.ConvChannels();
  mamba.other_parameters += mamba.inner;  // its gated norm
  for (const std::string_view key : {"mamba_ssm_cache_dtype", "mamba_ssm_dtype"}) {
    CAIRN_ASSIGN(const auto dtype, StateTypeFromConfig(config, key));
    if (dtype) mamba.dtype = dtype;
  }
  return mamba;
}

namespace {

constexpr Mamba1Keys kOwnKeys = {"state_size", "conv_kernel", "time_step_rank", "use_conv_bias",
                                 "use_bias"};
constexpr Mamba1Keys kPrefixed = {"mamba_d_state", "mamba_d_conv", "mamba_dt_rank",
                                  "mamba_conv_bias", "mamba_proj_bias"};
constexpr Mamba2Keys kMamba2Keys = {"num_heads", "head_dim",    "state_size",
                                    "n_groups",  "conv_kernel", "use_conv_bias"};

// intermediate_size wins over expand, which may contradict it.
Result<ModelSpec> MambaFromConfig(const ConfigSource& source) {
  const HfConfig& config = source.config;
  CAIRN_ASSIGN(const Dimensions frame, FrameFromConfig(config));
  int64_t inner = frame.intermediate;
  if (inner == 0) {
    CAIRN_ASSIGN(inner, MambaInner(config, "expand", frame.hidden));
  }
  CAIRN_ASSIGN(const MambaSpec mamba, Mamba1FromConfig(config, kOwnKeys, inner, frame.hidden));
  CAIRN_ASSIGN(ModelSpec model, SizedModel(source, "mamba", frame, true));
  if (frame.vocabulary != 0 && frame.hidden != 0) model.uncounted.clear();
  model.layers.assign(static_cast<size_t>(frame.layers),
                      {.mixer = mamba, .feed_forward = NoFeedForward{}, .norm_vectors = 1});
  return model;
}

Result<ModelSpec> Mamba2ModelFromConfig(const ConfigSource& source) {
  const HfConfig& config = source.config;
  CAIRN_ASSIGN(const Dimensions frame, FrameFromConfig(config));
  CAIRN_ASSIGN(const MambaSpec mamba, Mamba2FromConfig(config, kMamba2Keys));
  CAIRN_ASSIGN(ModelSpec model, SizedModel(source, "mamba2", frame, false));
  if (frame.vocabulary != 0 && frame.hidden != 0) model.uncounted.clear();
  model.layers.assign(static_cast<size_t>(frame.layers),
                      {.mixer = mamba, .feed_forward = NoFeedForward{}, .norm_vectors = 1});
  return model;
}

// Attention where i % period == offset; B, C and the step pass a norm each.
// Newer files name each layer; older ones have a period.
Result<std::vector<bool>> JambaAttention(const HfConfig& config, size_t layers) {
  std::vector<bool> attends(layers, false);
  for (const std::string_view key : {"layers_block_type", "layer_types"}) {
    if (!config.Has(key)) continue;
    CAIRN_ASSIGN(const auto types, config.Strings(key, layers));
    for (size_t i = 0; i < layers; ++i) {
      attends[i] = types[i] == "attention" || types[i] == "full_attention";
      if (!attends[i] && types[i] != "mamba" && types[i] != "linear_attention") {
        return config.Wrong(key, "mamba or attention for each layer");
      }
    }
    return attends;
  }
  CAIRN_ASSIGN(const int64_t period, config.IntOr("attn_layer_period", {1, kMaxLayers}, 8));
  CAIRN_ASSIGN(const int64_t offset, config.IntOr("attn_layer_offset", {0, kMaxLayers}, 4));
  if (offset >= period) return config.Wrong("attn_layer_offset", "less than attn_layer_period");
  for (size_t i = 0; i < layers; ++i) attends[i] = static_cast<int64_t>(i) % period == offset;
  return attends;
}

Result<ModelSpec> JambaFromConfig(const ConfigSource& source) {
  const HfConfig& config = source.config;
  CAIRN_ASSIGN(const Dimensions dimensions, DimensionsFromConfig(config));
  CAIRN_ASSIGN(const int64_t inner, MambaInner(config, "mamba_expand", dimensions.hidden));
  CAIRN_ASSIGN(MambaSpec mamba, Mamba1FromConfig(config, kPrefixed, inner, dimensions.hidden));
  mamba.inner_norms = true;
  mamba.other_parameters += mamba.step_rank + 2 * mamba.state;
  CAIRN_ASSIGN(const std::vector<bool> attends,
               JambaAttention(config, static_cast<size_t>(dimensions.layers)));
  CAIRN_ASSIGN(ModelSpec model, SizedModel(source, "jamba", dimensions, false));
  std::string missing;
  CAIRN_ASSIGN(const auto networks, FeedForwardsFromConfig(config, dimensions, {}, missing));
  if (!missing.empty()) model.uncounted = missing + " is missing";
  for (size_t i = 0; i < networks.size(); ++i) {
    LayerSpec layer = {.mixer = mamba, .feed_forward = networks[i]};
    if (attends[i]) layer.mixer = AttentionOf(dimensions);
    model.layers.push_back(layer);
  }
  return model;
}

// Layers whose attention block, its weights shared, stands before the Mamba block.
Result<std::vector<bool>> ZambaHybrids(const HfConfig& config, size_t layers) {
  std::vector<bool> hybrid(layers, false);
  if (config.Has("layers_block_type")) {
    CAIRN_ASSIGN(const auto types, config.Strings("layers_block_type", layers));
    for (size_t i = 0; i < layers; ++i) {
      if (types[i] != "mamba" && types[i] != "hybrid") {
        return config.Wrong("layers_block_type", "mamba or hybrid for each layer");
      }
      hybrid[i] = types[i] == "hybrid";
    }
    return hybrid;
  }
  if (config.Has("hybrid_layer_ids")) {
    CAIRN_ASSIGN(const auto listed, config.IntsUpTo("hybrid_layer_ids", layers,
                                                    {0, static_cast<int64_t>(layers) - 1}));
    for (const int64_t layer : listed) hybrid[static_cast<size_t>(layer)] = true;
    return hybrid;
  }
  // The first version's class: layer 2, and from layer 3 on by the period.
  CAIRN_ASSIGN(const int64_t period, config.IntOr("attn_layer_period", {1, kMaxLayers}, 6));
  CAIRN_ASSIGN(const int64_t offset, config.IntOr("attn_layer_offset", {0, kMaxLayers}, 4));
  for (size_t i = 3; i < layers; ++i) {
    hybrid[i] = (static_cast<int64_t>(i) - 3) % period == offset;
  }
  if (layers > 2) hybrid[2] = true;
  return hybrid;
}

Status AddZambaLayers(const HfConfig& config, const AttentionSpec& attention,
                      const MambaSpec& mamba, int64_t layers, ModelSpec& model) {
  CAIRN_ASSIGN(const auto hybrid, ZambaHybrids(config, static_cast<size_t>(layers)));
  for (const bool both : hybrid) {
    LayerSpec layer = {.mixer = mamba, .feed_forward = NoFeedForward{}, .norm_vectors = 1};
    if (both) {
      layer.mixer = AttentionBesideMambaSpec{attention, mamba, /*shares_weights=*/true};
      layer.other_parameters = model.hidden * model.hidden;  // what leads out of the shared block
    }
    model.layers.push_back(layer);
  }
  return {};
}

// Zamba's attention reads the residual beside the embedding: heads are twice as wide.
Status WidenHeads(const HfConfig& config, Dimensions& dimensions) {
  if (!config.Has("attention_head_dim")) {
    if (dimensions.heads == 0) return config.Missing("num_attention_heads");
    if (dimensions.hidden == 0) return config.Missing("hidden_size");
    dimensions.key_width = dimensions.value_width = 2 * dimensions.hidden / dimensions.heads;
  }
  return CheckHeads(config, AttentionOf(dimensions));
}

Result<ModelSpec> ZambaFromConfig(const ConfigSource& source) {
  const HfConfig& config = source.config;
  CAIRN_ASSIGN(Dimensions dimensions, DimensionsFromConfig(config));
  CAIRN_TRY(WidenHeads(config, dimensions));
  CAIRN_ASSIGN(const int64_t inner, MambaInner(config, "mamba_expand", dimensions.hidden));
  CAIRN_ASSIGN(const MambaSpec mamba,
               Mamba1FromConfig(config, kPrefixed, inner, dimensions.hidden));
  CAIRN_ASSIGN(ModelSpec model, SizedModel(source, "zamba", dimensions, true));
  CAIRN_TRY(AddZambaLayers(config, AttentionOf(dimensions), mamba, dimensions.layers, model));
  // The shared block: attention over residual and embedding side by side, a network, two norms.
  const int64_t channels = dimensions.heads * dimensions.key_width;
  const int64_t grouped = dimensions.kv_heads * dimensions.key_width;
  model.other_parameters += 2 * dimensions.hidden * (channels + 2 * grouped);
  model.other_parameters += dimensions.hidden * channels;
  model.other_parameters += 3 * dimensions.hidden * (dimensions.intermediate + 1);
  if (dimensions.intermediate == 0) model.uncounted = "intermediate_size is missing";
  return model;
}

Result<ModelSpec> Zamba2FromConfig(const ConfigSource& source) {
  constexpr Mamba2Keys kKeys = {"n_mamba_heads", "mamba_headdim", "mamba_d_state",
                                "mamba_ngroups", "mamba_d_conv",  "mamba_conv_bias"};
  const HfConfig& config = source.config;
  CAIRN_ASSIGN(Dimensions dimensions, DimensionsFromConfig(config));
  CAIRN_TRY(WidenHeads(config, dimensions));
  CAIRN_ASSIGN(const MambaSpec mamba, Mamba2FromConfig(config, kKeys));
  CAIRN_ASSIGN(ModelSpec model, SizedModel(source, "zamba2", dimensions, true));
  model.uncounted = "its shared blocks and their adapters aren't described";
  CAIRN_TRY(AddZambaLayers(config, AttentionOf(dimensions), mamba, dimensions.layers, model));
  return model;
}

constexpr auto kRows = std::to_array<SizedFamily>({
    {"mamba", Runs<MambaFromConfig, RunMamba>},
    {"falcon_mamba", MambaFromConfig},
    {"mamba2", Runs<Mamba2ModelFromConfig, RunMamba2>},
    {"jamba", Runs<JambaFromConfig, RunJamba>},
    {"zamba", ZambaFromConfig},
    {"zamba2", Zamba2FromConfig},
});

}  // namespace

std::span<const SizedFamily> MambaFamilies() { return kRows; }

}  // namespace cairn
