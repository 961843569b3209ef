// Latent attention and what grew out of it: index keys, compressed entries.
#include <algorithm>
#include <array>
#include <string>

#include "cairn/spec/limits.h"
#include "cairn/spec/sized_families.h"

namespace cairn {
namespace {

constexpr FeedForwardTraits kUnbiased = {};
constexpr FeedForwardTraits kRouterBias = {.router_bias = {"", true}};

}  // namespace

// Head counts of the config's KV heads and its head_dim say nothing here.
Result<LatentAttentionSpec> LatentFromConfig(const HfConfig& config) {
  LatentAttentionSpec latent;
  CAIRN_ASSIGN(latent.latent_width, StateInt(config, "kv_lora_rank", kMaxProjection));
  CAIRN_ASSIGN(latent.rope_width, config.Int("qk_rope_head_dim", {0, kMaxHeadWidth}));
  CAIRN_ASSIGN(latent.heads, config.Int("num_attention_heads", {1, kMaxHeads}));
  CAIRN_ASSIGN(latent.query_rank, config.IntOr("q_lora_rank", {0, kMaxProjection}, 0));
  CAIRN_ASSIGN(latent.key_width, config.IntOr("qk_nope_head_dim", {0, kMaxHeadWidth}, 0));
  CAIRN_ASSIGN(latent.value_width,
               config.IntOr("v_head_dim", {0, kMaxHeadWidth}, latent.key_width));
  const int64_t widest = std::max(latent.key_width + latent.rope_width, latent.value_width);
  if (latent.heads * widest > kMaxProjection) {
    return config.Wrong("num_attention_heads",
                        fmt::format("at most {} channels in all heads", kMaxProjection));
  }
  CAIRN_ASSIGN(const bool bias, config.BoolOr("attention_bias", false));
  if (bias) latent.other_parameters = latent.query_rank + latent.latent_width + latent.rope_width;
  return latent;
}

namespace {

Result<std::optional<SparseIndexSpec>> IndexFromConfig(const HfConfig& config) {
  if (!config.Has("index_head_dim")) return std::nullopt;
  SparseIndexSpec index;
  CAIRN_ASSIGN(index.width, StateInt(config, "index_head_dim", kMaxHeadWidth));
  CAIRN_ASSIGN(index.query_heads, config.IntOr("index_n_heads", {0, kMaxHeads}, 0));
  if (index.query_heads * index.width > kMaxProjection) {
    return config.Wrong("index_n_heads",
                        fmt::format("at most {} channels in all heads", kMaxProjection));
  }
  return index;
}

Result<int64_t> PicksFromConfig(const HfConfig& config) {
  return config.IntOr("index_topk", {0, kMaxContext}, 0);
}

// Layers marked shared use the picks of the last full one and keep no index keys.
Result<std::vector<bool>> IndexedLayers(const HfConfig& config, size_t layers) {
  std::vector<bool> indexed(layers, true);
  if (config.Has("indexer_types")) {
    CAIRN_ASSIGN(const auto types, config.Strings("indexer_types", layers));
    for (size_t i = 0; i < layers; ++i) {
      if (types[i] != "full" && types[i] != "shared") {
        return config.Wrong("indexer_types", "full or shared for each layer");
      }
      indexed[i] = types[i] == "full";
    }
    return indexed;
  }
  if (config.Has("index_topk_pattern")) {
    CAIRN_ASSIGN(const std::string letters, config.String("index_topk_pattern"));
    if (letters.size() != layers || letters.find_first_not_of("FS") != std::string::npos) {
      return config.Wrong("index_topk_pattern", "a letter F or S for each layer");
    }
    for (size_t i = 0; i < layers; ++i) indexed[i] = letters[i] == 'F';
    return indexed;
  }
  CAIRN_ASSIGN(const int64_t frequency, config.IntOr("index_topk_freq", {1, kMaxLayers}, 1));
  CAIRN_ASSIGN(const int64_t offset, config.IntOr("index_skip_topk_offset", {0, kMaxLayers}, 0));
  for (size_t at = 0; at < layers && frequency > 1; ++at) {
    const auto i = static_cast<int64_t>(at);
    indexed[at] = i < offset || (i - offset + 1) % frequency == 0;
  }
  return indexed;
}

Result<ModelSpec> LatentModel(const ConfigSource& source, std::string_view family,
                              const FeedForwardTraits& traits, bool tied_head) {
  const HfConfig& config = source.config;
  CAIRN_ASSIGN(Dimensions frame, FrameFromConfig(config));
  CAIRN_ASSIGN(const LatentAttentionSpec latent, LatentFromConfig(config));
  CAIRN_ASSIGN(const auto index, IndexFromConfig(config));
  CAIRN_ASSIGN(const int64_t picks, PicksFromConfig(config));
  frame.heads = latent.heads;
  CAIRN_ASSIGN(ModelSpec model, SizedModel(source, family, frame, tied_head));
  std::string missing;
  CAIRN_ASSIGN(const auto networks, FeedForwardsFromConfig(config, frame, traits, missing));
  if (!missing.empty()) model.uncounted = missing + " is missing";
  std::vector<bool> indexed(networks.size(), false);
  if (index) {
    CAIRN_ASSIGN(indexed, IndexedLayers(config, networks.size()));
  }
  for (size_t i = 0; i < networks.size(); ++i) {
    LatentAttentionSpec attention = latent;
    if (indexed[i]) attention.index = index;
    if (index) attention.picks = picks;
    model.layers.push_back({.mixer = attention, .feed_forward = networks[i]});
  }
  return model;
}

constexpr DecoderTraits kPlain = {.family = "deepseek_v2"};

// use_mla false, or no latent rank: plain attention under the same type.
Result<ModelSpec> DeepSeekV2FromConfig(const ConfigSource& source) {
  CAIRN_ASSIGN(const bool latent, source.config.BoolOr("use_mla", true));
  if (!latent || source.config.IsNull("kv_lora_rank")) return DecoderFromConfig(source, kPlain);
  return LatentModel(source, "deepseek_v2", kUnbiased, false);
}

Result<ModelSpec> DeepSeekV3FromConfig(const ConfigSource& source) {
  return LatentModel(source, "deepseek_v3", kRouterBias, false);
}

Result<ModelSpec> GlmFromConfig(const ConfigSource& source) {
  return LatentModel(source, "glm_moe_dsa", kRouterBias, false);
}

Result<ModelSpec> MistralFromConfig(const ConfigSource& source) {
  return LatentModel(source, "mistral4", kUnbiased, false);
}

Result<ModelSpec> MiniCpm3FromConfig(const ConfigSource& source) {
  return LatentModel(source, "minicpm3", kUnbiased, true);
}

// Two attention blocks a layer, each with its own latent rows.
Result<ModelSpec> LongCatFromConfig(const ConfigSource& source) {
  CAIRN_ASSIGN(const Dimensions frame, FrameFromConfig(source.config));
  CAIRN_ASSIGN(const LatentAttentionSpec latent, LatentFromConfig(source.config));
  CAIRN_ASSIGN(ModelSpec model, SizedModel(source, "longcat_flash", frame, false));
  model.uncounted = "not all of its weights are described";
  model.layers.assign(static_cast<size_t>(2 * frame.layers),
                      {.mixer = latent, .feed_forward = NoFeedForward{}});
  return model;
}

// Every layer keeps a window; by compress_ratios also entries, and index keys where the ratio is
// that of the sparse kind. One entry more than layers is the prediction layer's.
constexpr int64_t kSparseRatio = 4;

Result<std::vector<int64_t>> CompressRatios(const HfConfig& config, size_t layers) {
  constexpr IntRange kRatio = {0, 1 << 16};
  const std::optional<size_t> size = config.ListSize("compress_ratios");
  CAIRN_ASSIGN(const int64_t predicting,
               config.IntOr("num_nextn_predict_layers", {0, kMaxLayers}, 0));
  const size_t most = layers + static_cast<size_t>(predicting);
  if (!size || *size < layers || *size > most) {
    return config.Wrong("compress_ratios",
                        fmt::format("a list of {} to {} integers", layers, most));
  }
  return config.Ints("compress_ratios", *size, kRatio);
}

Result<ModelSpec> DeepSeekV4FromConfig(const ConfigSource& source) {
  const HfConfig& config = source.config;
  CAIRN_ASSIGN(const Dimensions dimensions, DimensionsFromConfig(config));
  CAIRN_ASSIGN(ModelSpec model, SizedModel(source, "deepseek_v4", dimensions, false));
  model.uncounted = "its grouped output projection and hyper-connections aren't described";
  CompressedAttentionSpec attention;
  attention.heads = dimensions.heads;
  attention.width = dimensions.key_width;
  CAIRN_ASSIGN(const int64_t window, config.Int("sliding_window", {1, kMaxContext}));
  attention.window = LifetimeOfWindow(dimensions.context_length, window);
  CAIRN_ASSIGN(const auto index, IndexFromConfig(config));
  CAIRN_ASSIGN(const int64_t picks, PicksFromConfig(config));
  const auto layers = static_cast<size_t>(dimensions.layers);
  CAIRN_ASSIGN(const auto ratios, CompressRatios(config, layers));
  for (size_t i = 0; i < layers; ++i) {
    attention.ratio = ratios[i];
    attention.index = ratios[i] == kSparseRatio ? index : std::nullopt;
    attention.picks = attention.index ? picks : 0;
    if (ratios[i] == kSparseRatio && !index) return config.Missing("index_head_dim");
    model.layers.push_back({.mixer = attention, .feed_forward = NoFeedForward{}});
  }
  return model;
}

constexpr auto kRows = std::to_array<SizedFamily>({
    {"deepseek_v2", DeepSeekV2FromConfig},
    {"deepseek_v3", DeepSeekV3FromConfig},
    {"deepseek_v32", DeepSeekV3FromConfig},
    {"deepseek_v4", DeepSeekV4FromConfig},
    {"kimi_k2", DeepSeekV3FromConfig},
    {"glm4_moe_lite", DeepSeekV3FromConfig},
    {"glm_moe_dsa", GlmFromConfig},
    {"minicpm3", MiniCpm3FromConfig},
    {"mistral4", MistralFromConfig},
    {"longcat_flash", LongCatFromConfig},
});

}  // namespace

std::span<const SizedFamily> LatentFamilies() { return kRows; }

}  // namespace cairn
