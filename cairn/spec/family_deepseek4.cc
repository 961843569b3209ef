// DeepSeek V4: a window in every layer, beyond it entries that compress several tokens.
#include <array>
#include <string>
#include <vector>

#include "cairn/spec/family_deepseek4_run.h"
#include "cairn/spec/family_latent.h"
#include "cairn/spec/limits.h"
#include "cairn/spec/run_facts.h"
#include "cairn/spec/sized_families.h"

namespace cairn {
namespace {

constexpr IntRange kRatio = {0, 1 << 16};
// By compress_ratios alone, entries of this ratio are the sparse kind: they overlap, and index keys
// pick among them.
constexpr int64_t kSparseRatio = 4;

struct Compression {
  int64_t ratio = 0;
  bool sparse = false;
};

// One entry more than layers is the prediction layer's.
Result<std::vector<Compression>> CompressionFromRatios(const HfConfig& config, size_t layers) {
  const std::optional<size_t> size = config.ListSize("compress_ratios");
  CAIRN_ASSIGN(const int64_t predicting,
               config.IntOr("num_nextn_predict_layers", {0, kMaxLayers}, 0));
  const size_t most = layers + static_cast<size_t>(predicting);
  if (!size || *size < layers || *size > most) {
    return config.Wrong("compress_ratios",
                        fmt::format("a list of {} to {} integers", layers, most));
  }
  CAIRN_ASSIGN(const auto ratios, config.Ints("compress_ratios", *size, kRatio));
  std::vector<Compression> compressions;
  for (const int64_t ratio : ratios) compressions.push_back({ratio, ratio == kSparseRatio});
  return compressions;
}

// Newer files name the kinds, and the ratio of each kind under compress_rates.
Result<std::vector<Compression>> CompressionFromTypes(const HfConfig& config, size_t layers) {
  CAIRN_ASSIGN(const auto types, config.Strings("layer_types", layers));
  CAIRN_ASSIGN(const auto rates, config.Child("compress_rates"));
  std::vector<Compression> compressions;
  for (const std::string& type : types) {
    if (type == "sliding_attention") {
      compressions.push_back({});
      continue;
    }
    if (type != "compressed_sparse_attention" && type != "heavily_compressed_attention") {
      return config.Wrong("layer_types",
                          "sliding_attention, compressed_sparse_attention or "
                          "heavily_compressed_attention for each layer");
    }
    if (!rates) return config.Missing("compress_rates");
    CAIRN_ASSIGN(const int64_t ratio, rates->Int(type, {1, kRatio.max}));
    compressions.push_back({ratio, type == "compressed_sparse_attention"});
  }
  return compressions;
}

Result<std::vector<Compression>> CompressionFromConfig(const HfConfig& config, size_t layers) {
  if (config.Has("compress_ratios") || !config.Has("layer_types")) {
    return CompressionFromRatios(config, layers);
  }
  return CompressionFromTypes(config, layers);
}

// The ranks of queries and output decide no state; without them nothing can be counted.
Status ReadProjections(const HfConfig& config, CompressedAttentionSpec& attention,
                       std::string& missing) {
  CAIRN_ASSIGN(attention.query_rank, config.IntOr("q_lora_rank", {1, kMaxProjection}, 0));
  CAIRN_ASSIGN(attention.output_groups, config.IntOr("o_groups", {1, kMaxHeads}, 0));
  CAIRN_ASSIGN(attention.output_rank, config.IntOr("o_lora_rank", {1, kMaxHidden}, 0));
  if (attention.query_rank == 0) missing = "q_lora_rank";
  if (attention.output_groups == 0) missing = "o_groups";
  if (attention.output_rank == 0) missing = "o_lora_rank";
  if (attention.output_groups * attention.output_rank > kMaxProjection) {
    return config.Wrong("o_lora_rank",
                        fmt::format("at most {} channels in all groups", kMaxProjection));
  }
  if (attention.output_groups > 0 && attention.heads % attention.output_groups != 0) {
    return config.Wrong("o_groups",
                        fmt::format("a divisor of num_attention_heads ({})", attention.heads));
  }
  return {};
}

// The first layers pick experts by a table of token ids instead of a biased score.
Result<std::vector<bool>> HashedLayers(const HfConfig& config, size_t layers) {
  std::vector<bool> hashed(layers, false);
  if (config.Has("mlp_layer_types")) {
    CAIRN_ASSIGN(const auto types, config.Strings("mlp_layer_types", layers));
    for (size_t i = 0; i < layers; ++i) hashed[i] = types[i] == "hash_moe";
    return hashed;
  }
  CAIRN_ASSIGN(const int64_t first, config.IntOr("num_hash_layers", {0, kMaxLayers}, 0));
  for (size_t i = 0; i < layers; ++i) hashed[i] = static_cast<int64_t>(i) < first;
  return hashed;
}

Status AddNetworks(const HfConfig& config, const Dimensions& dimensions, ModelSpec& model) {
  std::string missing;
  CAIRN_ASSIGN(const auto networks, FeedForwardsFromConfig(config, dimensions, {}, missing));
  if (!missing.empty()) model.uncounted = missing + " is missing";
  CAIRN_ASSIGN(const auto hashed, HashedLayers(config, networks.size()));
  CAIRN_ASSIGN(const int64_t used, config.IntOr("num_experts_per_tok", {1, 1 << 16}, 0));
  for (size_t i = 0; i < networks.size(); ++i) {
    model.layers[i].feed_forward = networks[i];
    auto* mixture = std::get_if<MixtureSpec>(&model.layers[i].feed_forward);
    if (mixture == nullptr) continue;
    mixture->router_bias = !hashed[i];
    if (hashed[i]) mixture->other_parameters = model.vocabulary * used;
  }
  return {};
}

// Streams of residuals around each branch, and their weighted sum before the head.
Status AddStreams(const HfConfig& config, ModelSpec& model) {
  CAIRN_ASSIGN(const int64_t streams, config.IntOr("hc_mult", {1, 64}, 4));
  for (LayerSpec& layer : model.layers) {
    layer.other_parameters = 2 * HyperConnectionParameters(streams, model.hidden);
  }
  for (LayerSpec& layer : model.draft_layers) {
    layer.feed_forward = model.layers.back().feed_forward;
    layer.other_parameters = model.layers.back().other_parameters;
  }
  model.other_parameters += streams * (streams * model.hidden + 1) + 1;
  return {};
}

Result<ModelSpec> DeepSeekV4FromConfig(const ConfigSource& source) {
  const HfConfig& config = source.config;
  CAIRN_ASSIGN(const Dimensions dimensions, DimensionsFromConfig(config));
  CAIRN_ASSIGN(ModelSpec model, SizedModel(source, "deepseek_v4", dimensions, false));
  CompressedAttentionSpec attention;
  attention.heads = dimensions.heads;
  attention.width = dimensions.key_width;
  CAIRN_ASSIGN(const int64_t window, config.Int("sliding_window", {1, kMaxContext}));
  attention.window = LifetimeOfWindow(dimensions.context_length, window);
  CAIRN_ASSIGN(const auto index, IndexFromConfig(config));
  CAIRN_ASSIGN(const int64_t picks, PicksFromConfig(config));
  std::string missing;
  CAIRN_TRY(ReadProjections(config, attention, missing));
  if (!missing.empty()) model.uncounted = missing + " is missing";
  const auto layers = static_cast<size_t>(dimensions.layers);
  CAIRN_ASSIGN(const auto compressions, CompressionFromConfig(config, layers));
  for (size_t i = 0; i < compressions.size(); ++i) {
    attention.ratio = compressions[i].ratio;
    attention.overlaps = compressions[i].sparse;
    attention.index = compressions[i].sparse ? index : std::nullopt;
    attention.picks = attention.index ? picks : 0;
    if (compressions[i].sparse && !index) return config.Missing("index_head_dim");
    auto& kind = i < layers ? model.layers : model.draft_layers;
    kind.push_back({.mixer = attention, .feed_forward = NoFeedForward{}});
  }
  CAIRN_TRY(AddNetworks(config, dimensions, model));
  CAIRN_TRY(AddStreams(config, model));
  return model;
}

constexpr auto kRows = std::to_array<SizedFamily>({
    {"deepseek_v4", Runs<DeepSeekV4FromConfig, DescribeDeepSeekV4Run>},
});

}  // namespace

std::span<const SizedFamily> CompressedFamilies() { return kRows; }

}  // namespace cairn
