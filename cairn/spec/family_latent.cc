// Latent attention's widths and index keys as config.json files write them.
#include "cairn/spec/family_latent.h"

#include <algorithm>
#include <string>

#include "cairn/spec/config_dimensions.h"
#include "cairn/spec/limits.h"

namespace cairn {
namespace {

constexpr int64_t kMaxStreams = 64;
constexpr int64_t kMaxIterations = 1000;

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
  latent.output_bias = bias;
  if (bias) latent.other_parameters = latent.query_rank + latent.latent_width + latent.rope_width;
  return latent;
}

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

std::string MissingForCount(const HfConfig& config, const LatentAttentionSpec& latent) {
  if (!config.Has("qk_nope_head_dim")) return "qk_nope_head_dim";
  if (latent.index && latent.index->query_heads == 0) return "index_n_heads";
  return "";
}

Result<HyperConnectionsSpec> HyperConnectionsFromConfig(const HfConfig& config) {
  HyperConnectionsSpec streams;
  CAIRN_ASSIGN(streams.streams, config.IntOr("hc_mult", {1, kMaxStreams}, 4));
  CAIRN_ASSIGN(streams.iterations, config.IntOr("hc_sinkhorn_iters", {1, kMaxIterations}, 20));
  CAIRN_ASSIGN(streams.epsilon, config.FloatOr("hc_eps", {0, 1}, 1e-6));
  return streams;
}

int64_t HyperConnectionParameters(int64_t streams, int64_t hidden) {
  const int64_t weights = streams * (streams + 2);  // into a branch, out of it, between streams
  return weights * (streams * hidden + 1) + 3;
}

}  // namespace cairn
