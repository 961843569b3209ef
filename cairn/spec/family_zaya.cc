// Zaya: queries and keys behind two convolutions, half of the values made by the token before.
#include <array>
#include <optional>
#include <string>

#include "cairn/spec/limits.h"
#include "cairn/spec/rope_config.h"
#include "cairn/spec/run_facts.h"
#include "cairn/spec/sized_families.h"

namespace cairn {
namespace {

Result<std::vector<bool>> SlidingLayers(const HfConfig& config, size_t layers) {
  std::vector<bool> sliding(layers, false);
  if (!config.Has("layer_types")) return sliding;
  CAIRN_ASSIGN(const auto types, config.Strings("layer_types", layers));
  for (size_t i = 0; i < layers; ++i) {
    sliding[i] = types[i] == "hybrid_sliding";
    if (!sliding[i] && types[i] != "hybrid") {
      return config.Wrong("layer_types", "hybrid or hybrid_sliding for each layer");
    }
  }
  return sliding;
}

// The first convolution is of each channel, the second of all channels of a head; a token's output
// depends on as many earlier inputs as both kernels reach back.
Result<AttentionSpec> AttentionFromConfig(const HfConfig& config, const Dimensions& dimensions) {
  AttentionSpec attention = AttentionOf(dimensions);
  CAIRN_ASSIGN(const int64_t first, config.IntOr("cca_time0", {1, 1024}, 2));
  CAIRN_ASSIGN(const int64_t second, config.IntOr("cca_time1", {1, 1024}, 2));
  attention.conv_history = first + second - 2;
  attention.conv_head_kernel = second;
  attention.delayed_values = attention.kv_heads * attention.value_width / 2;
  const int64_t channels = (attention.heads + attention.kv_heads) * attention.key_width;
  attention.other_parameters = channels * (first + 1);
  attention.other_parameters += channels * (second * attention.key_width + 1);
  attention.other_parameters += attention.kv_heads;  // a temperature for each
  CAIRN_ASSIGN(attention.qkv_bias, config.BoolOr("attention_bias", false));
  attention.output_bias = attention.qkv_bias;
  return attention;
}

// A network of its own chooses the expert, among them one that does nothing; from layer to layer it
// hands on what it computed, scaled.
Result<int64_t> RouterParameters(const HfConfig& config, const MixtureSpec& mixture,
                                 int64_t hidden) {
  CAIRN_ASSIGN(const int64_t width, config.IntOr("router_hidden_size", {1, kMaxHidden}, 256));
  const int64_t choices = mixture.experts + 1;
  const int64_t router = width * (hidden + 1) + 2 * width * (width + 1) + width + choices * width;
  // Counted elsewhere as one matrix: a row for each expert.
  return router + choices - mixture.experts * hidden;
}

Status AddNetworks(const HfConfig& config, const Dimensions& dimensions, ModelSpec& model) {
  std::string missing;
  CAIRN_ASSIGN(const auto networks, FeedForwardsFromConfig(config, dimensions, {}, missing));
  if (!missing.empty()) model.uncounted = missing + " is missing";
  CAIRN_ASSIGN(const int64_t width, config.IntOr("router_hidden_size", {1, kMaxHidden}, 256));
  for (size_t i = 0; i < networks.size(); ++i) {
    model.layers[i].feed_forward = networks[i];
    auto* mixture = std::get_if<MixtureSpec>(&model.layers[i].feed_forward);
    if (mixture == nullptr) return config.Wrong("num_experts", "at least 1");
    CAIRN_ASSIGN(mixture->other_parameters, RouterParameters(config, *mixture, dimensions.hidden));
    if (i > 0) mixture->other_parameters += width;
  }
  return {};
}

Result<ModelSpec> ZayaFromConfig(const ConfigSource& source) {
  const HfConfig& config = source.config;
  CAIRN_ASSIGN(const Dimensions dimensions, DimensionsFromConfig(config));
  if (dimensions.heads == 0) return config.Missing("num_attention_heads");
  CAIRN_ASSIGN(ModelSpec model, SizedModel(source, "zaya", dimensions, true));
  CAIRN_ASSIGN(const AttentionSpec attention, AttentionFromConfig(config, dimensions));
  const auto layers = static_cast<size_t>(dimensions.layers);
  CAIRN_ASSIGN(const auto sliding, SlidingLayers(config, layers));
  CAIRN_ASSIGN(const auto window, WindowFromConfig(config));
  for (size_t i = 0; i < layers; ++i) {
    AttentionSpec mixer = attention;
    if (sliding[i] && !window) return config.Missing("sliding_window");
    if (sliding[i]) mixer.lifetime = LifetimeOfWindow(dimensions.context_length, window);
    LayerSpec layer = {.mixer = mixer, .feed_forward = NoFeedForward{}};
    layer.other_parameters = 8 * dimensions.hidden;  // scale and offset of both branches and sums
    model.layers.push_back(layer);
  }
  CAIRN_TRY(AddNetworks(config, dimensions, model));
  model.other_parameters += 2 * dimensions.hidden;  // scale and offset of the embedding
  CAIRN_ASSIGN(const bool head_bias, config.BoolOr("lm_head_bias", false));
  if (head_bias) model.other_parameters += model.vocabulary;
  return model;
}

constexpr RunFacts kFacts = {.rotates = false, .norm_epsilon = 1e-5};

// Both kinds of layers name their rotation; without any, these hold.
Result<Rope> RopeOf(const std::optional<HfConfig>& ropes, bool sliding, RopeDefaults defaults) {
  defaults.base = sliding ? 10000 : 5000000;
  defaults.partial = true;
  if (!ropes) {
    return Rope{.width = defaults.width / 4 * 2, .base = defaults.base, .scaling = {}};
  }
  const std::string_view kind = sliding ? "hybrid_sliding" : "hybrid";
  CAIRN_ASSIGN(const auto section, ropes->Child(kind));
  if (!section) return ropes->Missing(kind);
  return RopeFromSection(*section, defaults);
}

Status RunAttention(const HfConfig& config, const std::optional<HfConfig>& ropes,
                    TokenCount context, AttentionSpec& attention) {
  if (attention.kv_heads * attention.value_width % 2 != 0) {
    return config.Unsupported("num_key_value_heads", "an even number of channels in all");
  }
  const bool sliding = attention.lifetime.kind == Lifetime::Kind::kWindow;
  CAIRN_ASSIGN(attention.rope,
               RopeOf(ropes, sliding, {.width = attention.key_width, .context_length = context}));
  return {};
}

Status RunRouter(const HfConfig& config, MixtureSpec& mixture) {
  if (mixture.experts_per_token != 1) return config.Unsupported("num_experts_per_tok", "1");
  CAIRN_ASSIGN(const int64_t width, config.IntOr("router_hidden_size", {1, kMaxHidden}, 256));
  mixture.router = {.choice_bias = true, .network_width = width};
  return {};
}

Status RunZaya(const ConfigSource& source, ModelSpec& model) {
  const HfConfig& config = source.config;
  for (LayerSpec& layer : model.layers) {
    auto& mixture = std::get<MixtureSpec>(layer.feed_forward);
    if (mixture.experts_per_token == 0) mixture.experts_per_token = 1;
  }
  CAIRN_TRY(DescribeDecoder(source, kFacts, model));
  CAIRN_ASSIGN(const bool head_bias, config.BoolOr("lm_head_bias", false));
  if (head_bias) return config.Unsupported("lm_head_bias", "false");
  CAIRN_ASSIGN(const std::optional<HfConfig> ropes, config.Child("rope_parameters"));
  for (LayerSpec& layer : model.layers) {
    auto& attention = std::get<AttentionSpec>(layer.mixer);
    CAIRN_TRY(RunAttention(config, ropes, model.context_length, attention));
    CAIRN_TRY(RunRouter(config, std::get<MixtureSpec>(layer.feed_forward)));
  }
  model.residual = ChannelScalesSpec{};
  return {};
}

constexpr auto kRows = std::to_array<SizedFamily>({
    {"zaya", Runs<ZayaFromConfig, RunZaya>},
});

}  // namespace

std::span<const SizedFamily> ConvolvedFamilies() { return kRows; }

}  // namespace cairn
