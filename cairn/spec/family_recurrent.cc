// Models whose layers keep a state of fixed size: RetNet, RecurrentGemma, LFM2.
#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <variant>

#include "cairn/spec/limits.h"
#include "cairn/spec/run_facts.h"
#include "cairn/spec/run_recurrent.h"
#include "cairn/spec/sized_families.h"

namespace cairn {
namespace {

constexpr int64_t kMaxKernel = 1024;

// Without a width, two thirds of hidden_ratio hidden sizes, rounded up to 256; 0: not said.
Result<int64_t> RetNetWidth(const HfConfig& config, const Dimensions& frame) {
  if (frame.intermediate != 0) return frame.intermediate;
  CAIRN_ASSIGN(const double ratio, config.FloatOr("hidden_ratio", {1e-3, 64}, 0));
  const auto width = static_cast<int64_t>(ratio * 2 * static_cast<double>(frame.hidden) / 3);
  return (width + 255) / 256 * 256;
}

// Keys and values are expand_k and expand_v times the hidden size over all heads.
Result<ModelSpec> RetNetFromConfig(const ConfigSource& source) {
  const HfConfig& config = source.config;
  CAIRN_ASSIGN(Dimensions frame, FrameFromConfig(config));
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
  // A gate as wide as the values and a norm over each head of them.
  retention.other_parameters = frame.hidden * values + retention.value_width;
  frame.heads = heads;
  CAIRN_ASSIGN(ModelSpec model, SizedModel(source, "retnet", frame, false));
  CAIRN_ASSIGN(const int64_t width, RetNetWidth(config, frame));
  if (width == 0) model.uncounted = "intermediate_size is missing";
  model.layers.assign(static_cast<size_t>(frame.layers),
                      {.mixer = retention, .feed_forward = GatedMlpSpec{.intermediate = width}});
  return model;
}

constexpr RunFacts kRetNet = {.norm_key = "norm_eps"};

// Variants that other code has options for.
Status CheckRetention(const HfConfig& config, int64_t heads) {
  for (const std::string_view key : {"attn", "feature_map"}) {
    if (config.Has(key)) return config.Unsupported(key, "none for this architecture");
  }
  for (const std::string_view key : {"use_output_gate", "elementwise_affine"}) {
    CAIRN_ASSIGN(const bool written, config.BoolOr(key, true));
    if (!written) return config.Unsupported(key, "true");
  }
  CAIRN_ASSIGN(const int64_t kv_heads, config.IntOr("num_kv_heads", {1, kMaxHeads}, heads));
  if (kv_heads != heads) return config.Unsupported("num_kv_heads", fmt::format("{}", heads));
  CAIRN_ASSIGN(const Activation gate, ActivationFromConfig(config, "hidden_act", "swish"));
  if (gate == Activation::kSilu) return {};
  return config.Unsupported("hidden_act", "swish for this architecture");
}

Status RunRetNet(const ConfigSource& source, ModelSpec& model) {
  CAIRN_TRY(DescribeDecoder(source, kRetNet, model));
  for (LayerSpec& layer : model.layers) {
    auto& retention = std::get<LinearAttentionSpec>(layer.mixer);
    CAIRN_TRY(CheckRetention(source.config, retention.heads));
    if (retention.key_width % 2 != 0) return source.config.Unsupported("expand_k", "even heads");
    retention.rope = Rope{.width = retention.key_width, .scaling = {}};
  }
  return {};
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
  RecurrentGateSpec gate;
  constexpr std::array<std::string_view, 1> kWidth = {"lru_width"};
  CAIRN_ASSIGN(const auto width, FirstInt(config, kWidth, {1, kMaxHidden}));
  if (!width && dimensions.hidden == 0) return config.Missing("lru_width");
  gate.width = width.value_or(dimensions.hidden);
  CAIRN_ASSIGN(gate.conv_kernel, StateIntOr(config, "conv1d_width", kMaxKernel, 4));
  if (dimensions.heads > 0 && gate.width % dimensions.heads != 0) {
    return config.Wrong("lru_width",
                        fmt::format("a multiple of num_attention_heads ({})", dimensions.heads));
  }
  gate.gate_blocks = std::max<int64_t>(dimensions.heads, 1);
  AttentionSpec attention = AttentionOf(dimensions);
  CAIRN_ASSIGN(attention.qkv_bias, config.BoolOr("attention_bias", false));
  attention.output_bias = true;
  CAIRN_ASSIGN(const auto window, WindowFromConfig(config));
  attention.lifetime = LifetimeOfWindow(dimensions.context_length, window);
  CAIRN_ASSIGN(const auto types, BlockTypes(config));
  // The file's width is of gate and up together.
  const FeedForwardSpec network =
      GatedMlpSpec{.intermediate = dimensions.intermediate / 2, .bias = true};
  if (dimensions.intermediate == 0) model.uncounted = "intermediate_size is missing";
  for (size_t i = 0; i < static_cast<size_t>(dimensions.layers); ++i) {
    const std::string& type = types[i % types.size()];
    LayerSpec layer = {.mixer = attention, .feed_forward = network};
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
    {"retnet", Runs<RetNetFromConfig, RunRetNet>},
    {"recurrent_gemma", RecurrentGemmaFromConfig},
    {"lfm2", Runs<Lfm2FromConfig, RunLfm2>},
    {"lfm2_moe", Lfm2FromConfig},
});

}  // namespace

std::span<const SizedFamily> RecurrentFamilies() { return kRows; }

}  // namespace cairn
