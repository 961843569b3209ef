// Decoders whose layers have unlike attention: other head counts, other kinds, or none.
#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "cairn/spec/limits.h"
#include "cairn/spec/run_dense.h"
#include "cairn/spec/sized_families.h"

namespace cairn {
namespace {

constexpr Choice kAttentionBias = {"attention_bias", false};
constexpr DecoderTraits kLlama4 = {.family = "llama4",
                                   .qkv_bias = kAttentionBias,
                                   .output_bias = kAttentionBias,
                                   .windows = WindowRule::kNever};
constexpr DecoderTraits kMllama = {.family = "mllama"};
constexpr DecoderTraits kHunyuan = {.family = "hunyuan",
                                    .tied_head = true,
                                    .qkv_bias = kAttentionBias,
                                    .output_bias = kAttentionBias,
                                    .query_key_norm = QueryKeyNorm::kHead,
                                    .has_query_key_norm = {"use_qk_norm", false}};
constexpr DecoderTraits kMimoV2 = {.family = "mimo_v2",
                                   .feed_forward = {.router_bias = {"", true}},
                                   .windows = WindowRule::kNever};
constexpr DecoderTraits kBaichuanM1 = {.family = "baichuan_m1", .windows = WindowRule::kNever};
constexpr DecoderTraits kMiniMaxM3 = {.family = "minimax_m3",
                                      .query_key_norm = QueryKeyNorm::kHead,
                                      .has_query_key_norm = {"use_qk_norm", true},
                                      .feed_forward = {.router_bias = {"use_routing_bias", true}},
                                      .windows = WindowRule::kNever};

AttentionSpec& AttentionAt(ModelSpec& model, size_t layer) {
  return std::get<AttentionSpec>(model.layers[layer].mixer);
}

// Rotating layers see their own chunk; those without a rotation, marked 0, see everything.
Result<std::vector<bool>> Llama4Chunked(const HfConfig& config, size_t layers) {
  std::vector<bool> chunked(layers, true);
  if (config.Has("layer_types")) {
    CAIRN_ASSIGN(const auto types, config.Strings("layer_types", layers));
    for (size_t i = 0; i < layers; ++i) {
      if (types[i] != "chunked_attention" && types[i] != "full_attention") {
        return config.Wrong("layer_types", "chunked_attention or full_attention for each layer");
      }
      chunked[i] = types[i] == "chunked_attention";
    }
    return chunked;
  }
  if (config.ListSize("no_rope_layers").value_or(0) > 0) {
    CAIRN_ASSIGN(const auto rotates, config.Ints("no_rope_layers", layers, {0, 1}));
    for (size_t i = 0; i < layers; ++i) chunked[i] = rotates[i] != 0;
    return chunked;
  }
  constexpr std::array<std::string_view, 2> kKeys = {"no_rope_layer_interval",
                                                     "nope_layer_interval"};
  CAIRN_ASSIGN(const auto interval, FirstInt(config, kKeys, {1, kMaxLayers}));
  for (size_t i = 0; i < layers; ++i) {
    chunked[i] = (static_cast<int64_t>(i) + 1) % interval.value_or(4) != 0;
  }
  return chunked;
}

// Experts are as wide as intermediate_size, dense layers as intermediate_size_mlp; each layer with
// experts has one shared expert more.
Result<ModelSpec> Llama4FromConfig(const ConfigSource& source) {
  const HfConfig& config = source.config;
  CAIRN_ASSIGN(ModelSpec model, DecoderFromConfig(source, kLlama4));
  CAIRN_ASSIGN(const std::vector<bool> chunked, Llama4Chunked(config, model.layers.size()));
  CAIRN_ASSIGN(const auto chunk,
               config.OptionalInt("attention_chunk_size", {1, kMaxContext}, 8192));
  CAIRN_ASSIGN(const int64_t dense,
               config.IntOr("intermediate_size_mlp", {1, kMaxIntermediate}, 0));
  for (size_t i = 0; i < model.layers.size(); ++i) {
    if (chunked[i] && chunk) AttentionAt(model, i).lifetime = Lifetime::Chunk(TokenCount(*chunk));
    FeedForwardSpec& network = model.layers[i].feed_forward;
    if (auto* mixture = std::get_if<MixtureSpec>(&network)) {
      mixture->shared_intermediate = mixture->intermediate;
    } else if (dense != 0) {
      std::get<GatedMlpSpec>(network).intermediate = dense;
    }
  }
  return model;
}

// Cross-attention layers read an image; a table of eight more tokens stands in the embedding.
Result<ModelSpec> MllamaFromConfig(const ConfigSource& source) {
  const HfConfig& config = source.config;
  CAIRN_ASSIGN(ModelSpec model, DecoderFromConfig(source, kMllama));
  const auto layers = static_cast<int64_t>(model.layers.size());
  CAIRN_ASSIGN(const auto crossing,
               config.IntsUpTo("cross_attention_layers", model.layers.size(), {0, layers - 1}));
  for (const int64_t layer : crossing) {
    AttentionSpec attention;
    const auto at = static_cast<size_t>(layer);
    if (std::holds_alternative<CrossAttentionSpec>(model.layers[at].mixer)) {
      return config.Wrong("cross_attention_layers", "each layer at most once");
    }
    attention = AttentionAt(model, at);
    attention.query_key_norm = true;
    attention.other_parameters = 2;  // gates of the two branches
    model.layers[at].mixer = CrossAttentionSpec{attention};
  }
  model.other_parameters += 8 * model.hidden;
  return model;
}

// A single expert is a dense network, and there is no shared one where use_mixed_mlp_moe is false.
Status HunyuanNetworks(const HfConfig& config, ModelSpec& model) {
  CAIRN_ASSIGN(const bool mixed, config.BoolOr("use_mixed_mlp_moe", true));
  CAIRN_ASSIGN(const Dimensions dimensions, DimensionsFromConfig(config));
  for (LayerSpec& layer : model.layers) {
    auto* mixture = std::get_if<MixtureSpec>(&layer.feed_forward);
    if (mixture == nullptr) continue;
    if (!mixed) mixture->shared_intermediate = 0;
    if (mixture->experts == 1) {
      layer.feed_forward = GatedMlpSpec{.intermediate = dimensions.intermediate};
    }
  }
  return {};
}

// With use_cla only every cla_share_factor-th layer keeps keys and values.
Result<ModelSpec> HunyuanFromConfig(const ConfigSource& source) {
  const HfConfig& config = source.config;
  CAIRN_ASSIGN(ModelSpec model, DecoderFromConfig(source, kHunyuan));
  CAIRN_TRY(HunyuanNetworks(config, model));
  CAIRN_ASSIGN(const bool shares, config.BoolOr("use_cla", false));
  if (!shares) return model;
  CAIRN_ASSIGN(const int64_t factor, config.IntOr("cla_share_factor", {1, kMaxLayers}, 2));
  for (size_t i = 0; i < model.layers.size(); ++i) {
    const auto source_layer = static_cast<int64_t>(i) / factor * factor;
    if (source_layer == static_cast<int64_t>(i)) continue;
    const AttentionSpec attention = AttentionAt(model, i);
    model.layers[i].mixer =
        SharedAttentionSpec{attention, LayerIndex(static_cast<int32_t>(source_layer))};
  }
  return model;
}

// hybrid_layer_pattern: 1 slides, with head counts and widths of its own.
Result<ModelSpec> MimoV2FromConfig(const ConfigSource& source) {
  const HfConfig& config = source.config;
  CAIRN_ASSIGN(Dimensions full, DimensionsFromConfig(config));
  CAIRN_ASSIGN(full.value_width, config.IntOr("v_head_dim", {1, kMaxHeadWidth}, full.key_width));
  CAIRN_ASSIGN(ModelSpec model, DecoderFromDimensions(source, kMimoV2, full));
  AttentionSpec sliding = AttentionOf(full);
  CAIRN_ASSIGN(sliding.heads, config.IntOr("swa_num_attention_heads", {1, kMaxHeads}, full.heads));
  CAIRN_ASSIGN(sliding.kv_heads,
               config.IntOr("swa_num_key_value_heads", {1, kMaxHeads}, full.kv_heads));
  CAIRN_ASSIGN(sliding.key_width, config.IntOr("swa_head_dim", {1, kMaxHeadWidth}, full.key_width));
  CAIRN_ASSIGN(sliding.value_width,
               config.IntOr("swa_v_head_dim", {1, kMaxHeadWidth}, full.value_width));
  CAIRN_TRY(CheckHeads(config, sliding));
  CAIRN_ASSIGN(const auto window, WindowFromConfig(config));
  sliding.lifetime = LifetimeOfWindow(full.context_length, window);
  CAIRN_ASSIGN(const auto pattern,
               config.Ints("hybrid_layer_pattern", model.layers.size(), {0, 1}));
  CAIRN_ASSIGN(const bool sinks, config.BoolOr("add_swa_attention_sink_bias", false));
  if (sinks) sliding.other_parameters = sliding.heads;
  for (size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] == 1) model.layers[i].mixer = sliding;
  }
  return model;
}

// The listed layers slide, with head counts and so a width of their own; keys and values of all
// pass a short convolution.
Result<ModelSpec> BaichuanM1FromConfig(const ConfigSource& source) {
  const HfConfig& config = source.config;
  CAIRN_ASSIGN(Dimensions dimensions, DimensionsFromConfig(config));
  CAIRN_ASSIGN(ModelSpec model, DecoderFromDimensions(source, kBaichuanM1, dimensions));
  model.uncounted = "not all of its weights are described";
  CAIRN_ASSIGN(const int64_t kernel, config.IntOr("conv_window", {1, 1024}, 2));
  for (size_t i = 0; i < model.layers.size(); ++i) AttentionAt(model, i).conv_kernel = kernel;
  CAIRN_ASSIGN(const auto window, WindowFromConfig(config));
  if (!window || !config.Has("sliding_window_layers")) return model;
  AttentionSpec sliding = AttentionAt(model, 0);
  CAIRN_ASSIGN(sliding.heads,
               config.IntOr("num_swa_attention_heads", {1, kMaxHeads}, dimensions.heads));
  CAIRN_ASSIGN(sliding.kv_heads,
               config.IntOr("num_swa_key_value_heads", {1, kMaxHeads}, dimensions.kv_heads));
  if (!config.Has("head_dim") && sliding.heads != 0) {
    if (dimensions.hidden % sliding.heads != 0) {
      return config.Wrong("num_swa_attention_heads", "a divisor of hidden_size");
    }
    sliding.key_width = sliding.value_width = dimensions.hidden / sliding.heads;
  }
  CAIRN_TRY(CheckHeads(config, sliding));
  sliding.lifetime = LifetimeOfWindow(dimensions.context_length, window);
  CAIRN_ASSIGN(const auto slides, config.IntsUpTo("sliding_window_layers", model.layers.size(),
                                                  {0, dimensions.layers - 1}));
  for (const int64_t layer : slides) model.layers[static_cast<size_t>(layer)].mixer = sliding;
  return model;
}

struct SparsePart {
  SparseIndexSpec index;
  int64_t picks = 0;
  std::vector<bool> layers;
};

Result<SparsePart> SparsePartFromSection(const HfConfig& sparse, size_t layers) {
  SparsePart part;
  part.layers.assign(layers, false);
  CAIRN_ASSIGN(const bool used, sparse.BoolOr("use_sparse_attention", true));
  if (!used) return part;
  CAIRN_ASSIGN(part.index.width, sparse.Int("sparse_index_dim", {1, kMaxHeadWidth}));
  CAIRN_ASSIGN(part.index.query_heads, sparse.IntOr("sparse_num_index_heads", {1, kMaxHeads}, 1));
  CAIRN_ASSIGN(const int64_t blocks, sparse.IntOr("sparse_topk_blocks", {0, 1 << 20}, 0));
  CAIRN_ASSIGN(const int64_t block, sparse.IntOr("sparse_block_size", {1, 1 << 20}, 1));
  part.picks = blocks * block;
  part.index.block = block;
  CAIRN_ASSIGN(part.index.local_blocks, sparse.IntOr("sparse_local_block", {0, 1 << 20}, 1));
  part.layers.assign(layers, true);
  if (!sparse.Has("sparse_attention_freq")) return part;
  CAIRN_ASSIGN(const auto flags, sparse.Ints("sparse_attention_freq", layers, {0, 1}));
  for (size_t i = 0; i < layers; ++i) part.layers[i] = flags[i] == 1;
  return part;
}

// Newer files have flat keys, and name the sparse layers in layer_types.
Result<SparsePart> SparsePartFromTypes(const HfConfig& config, size_t layers) {
  SparsePart part;
  part.layers.assign(layers, false);
  if (!config.Has("layer_types")) return part;
  CAIRN_ASSIGN(const auto types, config.Strings("layer_types", layers));
  for (size_t i = 0; i < layers; ++i) {
    part.layers[i] = types[i] == "minimax_m3_sparse";
    if (!part.layers[i] && types[i] != "full_attention") {
      return config.Wrong("layer_types", "full_attention or minimax_m3_sparse for each layer");
    }
  }
  if (std::ranges::find(part.layers, true) == part.layers.end()) return part;
  CAIRN_ASSIGN(part.index.width, config.Int("index_head_dim", {1, kMaxHeadWidth}));
  CAIRN_ASSIGN(part.index.query_heads, config.IntOr("index_n_heads", {1, kMaxHeads}, 1));
  CAIRN_ASSIGN(const int64_t blocks, config.IntOr("index_topk_blocks", {0, 1 << 20}, 0));
  CAIRN_ASSIGN(const int64_t block, config.IntOr("index_block_size", {1, 1 << 20}, 1));
  part.picks = blocks * block;
  part.index.block = block;
  CAIRN_ASSIGN(part.index.local_blocks, config.IntOr("index_local_blocks", {0, 1 << 20}, 1));
  return part;
}

// Sparse layers keep one index key a token; reading is sparse, storage isn't. Index queries and
// keys pass a norm each.
Result<ModelSpec> MiniMaxM3FromConfig(const ConfigSource& source) {
  const HfConfig& config = source.config;
  CAIRN_ASSIGN(ModelSpec model, DecoderFromConfig(source, kMiniMaxM3));
  CAIRN_ASSIGN(const int64_t dense,
               config.IntOr("dense_intermediate_size", {1, kMaxIntermediate}, 0));
  for (LayerSpec& layer : model.layers) {
    auto* network = std::get_if<GatedMlpSpec>(&layer.feed_forward);
    if (network != nullptr && dense != 0) network->intermediate = dense;
  }
  CAIRN_ASSIGN(const auto section, config.Child("sparse_attention_config"));
  CAIRN_ASSIGN(const SparsePart sparse, section
                                            ? SparsePartFromSection(*section, model.layers.size())
                                            : SparsePartFromTypes(config, model.layers.size()));
  for (size_t i = 0; i < model.layers.size(); ++i) {
    if (!sparse.layers[i]) continue;
    AttentionSpec& attention = AttentionAt(model, i);
    attention.index = sparse.index;
    attention.picks = sparse.picks;
    attention.other_parameters += 2 * sparse.index.width;
  }
  return model;
}

constexpr auto kRows = std::to_array<SizedFamily>({
    {"llama4_text", Runs<Llama4FromConfig, RunLlama4>},
    {"mllama_text_model", MllamaFromConfig},
    {"hunyuan", Runs<HunyuanFromConfig, RunHunyuan>},
    {"mimo_v2_flash", MimoV2FromConfig},
    {"mimo_v2", MimoV2FromConfig},
    {"baichuan_m1", BaichuanM1FromConfig},
    {"minimax_m3", Runs<MiniMaxM3FromConfig, RunMiniMaxM3>},
    {"minimax_m3_vl_text", Runs<MiniMaxM3FromConfig, RunMiniMaxM3>},
});

}  // namespace

std::span<const SizedFamily> VariantFamilies() { return kRows; }

}  // namespace cairn
