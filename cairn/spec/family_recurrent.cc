// Models whose layers keep a state of fixed size: RWKV, RetNet, RecurrentGemma, LFM2.
#include <array>
#include <string>

#include "cairn/spec/limits.h"
#include "cairn/spec/sized_families.h"

namespace cairn {
namespace {

constexpr int64_t kMaxKernel = 1024;
constexpr std::string_view kPartly = "not all of its weights are described";

// Heads are hidden / width; a count next to it must agree.
template <int version>
Result<ModelSpec> RwkvFromConfig(const ConfigSource& source) {
  const HfConfig& config = source.config;
  CAIRN_ASSIGN(const Dimensions frame, FrameFromConfig(config));
  if (frame.hidden == 0) return config.Missing("hidden_size");
  RwkvSpec rwkv = {.version = version, .heads = 1, .width = frame.hidden};
  CAIRN_ASSIGN(const int64_t channels,
               StateIntOr(config, "attention_hidden_size", kMaxHidden, frame.hidden));
  if (version != 4) {
    constexpr std::array<std::string_view, 2> kKeys = {"head_dim", "head_size"};
    CAIRN_ASSIGN(const auto width, FirstInt(config, kKeys, {1, kMaxHeadWidth}));
    rwkv.width = width.value_or(64);
    if (channels % rwkv.width != 0) {
      return config.Wrong(config.Has("head_dim") ? "head_dim" : "head_size",
                          fmt::format("a divisor of {} channels", channels));
    }
    rwkv.heads = channels / rwkv.width;
    CAIRN_ASSIGN(const int64_t written, config.IntOr("num_heads", {1, kMaxHidden}, rwkv.heads));
    if (written != rwkv.heads) {
      return config.Wrong("num_heads", fmt::format("{} or null", rwkv.heads));
    }
  }
  CAIRN_ASSIGN(ModelSpec model, SizedModel(source, "rwkv", frame, false));
  model.uncounted = kPartly;
  model.layers.assign(static_cast<size_t>(frame.layers),
                      {.mixer = rwkv, .feed_forward = NoFeedForward{}});
  return model;
}

// Keys and values are expand_k and expand_v times the hidden size over all heads.
Result<ModelSpec> RetNetFromConfig(const ConfigSource& source) {
  const HfConfig& config = source.config;
  CAIRN_ASSIGN(const Dimensions frame, FrameFromConfig(config));
  if (frame.hidden == 0) return config.Missing("hidden_size");
  constexpr std::array<std::string_view, 2> kHeads = {"num_heads", "num_attention_heads"};
  CAIRN_ASSIGN(const int64_t heads, RequireInt(config, kHeads, {1, kMaxHeads}));
  CAIRN_ASSIGN(const double expand_k, config.FloatOr("expand_k", {1e-3, 64}, 1));
  CAIRN_ASSIGN(const double expand_v, config.FloatOr("expand_v", {1e-3, 64}, 2));
  const auto hidden = static_cast<double>(frame.hidden);
  const auto keys = static_cast<int64_t>(expand_k * hidden);
  const auto values = static_cast<int64_t>(expand_v * hidden);
  if (keys % heads != 0 || values % heads != 0 || keys < heads || values < heads) {
    return config.Wrong("num_heads", fmt::format("a divisor of {} and {}", keys, values));
  }
  LinearAttentionSpec retention;
  retention.kind = LinearAttentionSpec::Kind::kRetention;
  retention.heads = heads;
  retention.key_width = keys / heads;
  retention.value_width = values / heads;
  CAIRN_ASSIGN(ModelSpec model, SizedModel(source, "retnet", frame, false));
  model.uncounted = kPartly;
  model.layers.assign(static_cast<size_t>(frame.layers),
                      {.mixer = retention, .feed_forward = NoFeedForward{}});
  return model;
}

// The pattern of kinds repeats and is cut at the depth.
Result<std::vector<std::string>> BlockTypes(const HfConfig& config) {
  for (const std::string_view key : {"block_types", "_block_types"}) {
    const std::optional<size_t> size = config.ListSize(key);
    if (!size) continue;
    if (*size == 0 || *size > kMaxLayers) return config.Wrong(key, "a list of 1 to 512 strings");
    return config.Strings(key, *size);
  }
  return std::vector<std::string>{"recurrent", "recurrent", "attention"};
}

Result<ModelSpec> RecurrentGemmaFromConfig(const ConfigSource& source) {
  const HfConfig& config = source.config;
  CAIRN_ASSIGN(const Dimensions dimensions, DimensionsFromConfig(config));
  CAIRN_ASSIGN(ModelSpec model, SizedModel(source, "recurrent_gemma", dimensions, true));
  model.uncounted = kPartly;
  RecurrentGateSpec gate;
  constexpr std::array<std::string_view, 1> kWidth = {"lru_width"};
  CAIRN_ASSIGN(const auto width, FirstInt(config, kWidth, {1, kMaxHidden}));
  if (!width && dimensions.hidden == 0) return config.Missing("lru_width");
  gate.width = width.value_or(dimensions.hidden);
  CAIRN_ASSIGN(gate.conv_kernel, StateIntOr(config, "conv1d_width", kMaxKernel, 4));
  AttentionSpec attention = AttentionOf(dimensions);
  CAIRN_ASSIGN(const auto window, WindowFromConfig(config));
  attention.lifetime = LifetimeOfWindow(dimensions.context_length, window);
  CAIRN_ASSIGN(const auto types, BlockTypes(config));
  for (size_t i = 0; i < static_cast<size_t>(dimensions.layers); ++i) {
    const std::string& type = types[i % types.size()];
    LayerSpec layer = {.mixer = attention, .feed_forward = NoFeedForward{}};
    if (type == "recurrent") {
      layer.mixer = gate;
    } else if (type != "attention") {
      return config.Wrong("block_types", "recurrent or attention for each layer");
    }
    model.layers.push_back(layer);
  }
  return model;
}

Result<std::vector<bool>> ConvolutionLayers(const HfConfig& config, size_t layers) {
  std::vector<bool> conv(layers, true);
  if (config.Has("layer_types")) {
    CAIRN_ASSIGN(const auto types, config.Strings("layer_types", layers));
    for (size_t i = 0; i < layers; ++i) {
      if (types[i] != "conv" && types[i] != "full_attention") {
        return config.Wrong("layer_types", "conv or full_attention for each layer");
      }
      conv[i] = types[i] == "conv";
    }
    return conv;
  }
  CAIRN_ASSIGN(const auto full,
               config.IntsUpTo("full_attn_idxs", layers, {0, static_cast<int64_t>(layers) - 1}));
  for (const int64_t layer : full) conv[static_cast<size_t>(layer)] = false;
  return conv;
}

// block_auto_adjust_ff_dim: two thirds of the written width, times a factor, rounded up.
Result<int64_t> Lfm2Width(const HfConfig& config, int64_t intermediate) {
  CAIRN_ASSIGN(const int64_t written,
               config.IntOr("block_ff_dim", {1, kMaxIntermediate}, intermediate));
  CAIRN_ASSIGN(const bool adjusts, config.BoolOr("block_auto_adjust_ff_dim", false));
  if (!adjusts) return written;
  CAIRN_ASSIGN(const double factor, config.FloatOr("block_ffn_dim_multiplier", {1e-3, 64}, 1));
  CAIRN_ASSIGN(const int64_t multiple, config.IntOr("block_multiple_of", {1, 1 << 16}, 256));
  const auto width = static_cast<int64_t>(factor * static_cast<double>(2 * written / 3));
  return (width + multiple - 1) / multiple * multiple;
}

Result<ModelSpec> Lfm2FromConfig(const ConfigSource& source) {
  const HfConfig& config = source.config;
  CAIRN_ASSIGN(Dimensions dimensions, DimensionsFromConfig(config));
  if (dimensions.hidden == 0) return config.Missing("hidden_size");
  CAIRN_ASSIGN(dimensions.intermediate, Lfm2Width(config, dimensions.intermediate));
  CAIRN_ASSIGN(ModelSpec model, SizedModel(source, "lfm2", dimensions, true));
  ShortConvSpec conv;
  conv.channels = dimensions.hidden;
  CAIRN_ASSIGN(conv.kernel, StateInt(config, "conv_L_cache", kMaxKernel));
  CAIRN_ASSIGN(conv.bias, config.BoolOr("conv_bias", false));
  CAIRN_ASSIGN(const std::vector<bool> convolves,
               ConvolutionLayers(config, static_cast<size_t>(dimensions.layers)));
  AttentionSpec attention = AttentionOf(dimensions);
  attention.query_key_norm = true;
  std::string missing;
  CAIRN_ASSIGN(const auto networks,
               FeedForwardsFromConfig(config, dimensions,
                                      {.router_bias = {"use_expert_bias", false}}, missing));
  if (!missing.empty()) model.uncounted = missing + " is missing";
  for (size_t i = 0; i < networks.size(); ++i) {
    LayerSpec layer = {.mixer = attention, .feed_forward = networks[i]};
    if (convolves[i]) layer.mixer = conv;
    model.layers.push_back(layer);
  }
  return model;
}

constexpr auto kRows = std::to_array<SizedFamily>({
    {"rwkv", RwkvFromConfig<4>},
    {"rwkv5", RwkvFromConfig<5>},
    {"rwkv6", RwkvFromConfig<6>},
    {"rwkv7", RwkvFromConfig<7>},
    {"retnet", RetNetFromConfig},
    {"recurrent_gemma", RecurrentGemmaFromConfig},
    {"lfm2", Lfm2FromConfig},
    {"lfm2_moe", Lfm2FromConfig},
});

}  // namespace

std::span<const SizedFamily> RecurrentFamilies() { return kRows; }

}  // namespace cairn
