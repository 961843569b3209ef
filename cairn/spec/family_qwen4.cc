// Qwen 4 (experimental): Gated DeltaNet beside attention whose index keys are kept as they are,
// with n-gram embeddings in some layers and several residual streams.
#include <array>
#include <string>

#include "cairn/spec/family_delta.h"
#include "cairn/spec/limits.h"
#include "cairn/spec/sized_families.h"

namespace cairn {
namespace {

constexpr int64_t kMaxNgram = 16;
constexpr int64_t kMaxTables = 64;  // of one n-gram size

// Keys are pooled and turned only when they are read, so the first layer that has some keeps the
// positions of all tokens as well.
Result<SparseIndexSpec> IndexFromConfig(const HfConfig& config) {
  SparseIndexSpec index;
  CAIRN_ASSIGN(index.width, StateInt(config, "indexer_head_dim", kMaxHeadWidth));
  CAIRN_ASSIGN(index.query_heads, StateInt(config, "indexer_n_heads", kMaxHeads));
  if (index.query_heads * index.width > kMaxProjection) {
    return config.Wrong("indexer_n_heads",
                        fmt::format("at most {} channels in all heads", kMaxProjection));
  }
  CAIRN_ASSIGN(const int64_t key_heads, config.IntOr("indexer_kv_heads", {1, kMaxHeads}, 1));
  if (key_heads != 1) return config.Unsupported("indexer_kv_heads", "1");
  return index;
}

// Axes of a position: 3 where mrope_section divides the channels among time, height and width.
Result<int64_t> PositionAxes(const HfConfig& config) {
  CAIRN_ASSIGN(const auto rope, config.Child("rope_parameters"));
  if (!rope || !rope->Has("mrope_section")) return int64_t{1};
  CAIRN_ASSIGN(const auto sections, rope->IntsUpTo("mrope_section", 8, {0, kMaxHeadWidth}));
  if (sections.empty()) return rope->Wrong("mrope_section", "a list of 1 to 8 integers");
  return static_cast<int64_t>(sections.size());
}

// Query and key of the index with a norm each.
Result<AttentionSpec> AttentionFromConfig(const HfConfig& config, const Dimensions& dimensions) {
  AttentionSpec attention = AttentionOf(dimensions);
  attention.query_key_norm = true;
  CAIRN_ASSIGN(attention.qkv_bias, config.BoolOr("attention_bias", false));
  attention.output_bias = attention.qkv_bias;
  CAIRN_ASSIGN(attention.index, IndexFromConfig(config));
  CAIRN_ASSIGN(attention.picks, config.IntOr("indexer_budget", {0, kMaxContext}, 0));
  attention.other_parameters = dimensions.hidden * dimensions.heads * dimensions.key_width;
  attention.other_parameters += 2 * attention.index->width;
  return attention;
}

bool IsPrime(int64_t number) {
  for (int64_t divisor = 2; divisor * divisor <= number; ++divisor) {
    if (number % divisor == 0) return false;
  }
  return number > 1;
}

// Each head of each n-gram size hashes into a table of a prime number of rows, no two of one size,
// the smallest not below the base; all together are rounded up.
int64_t NgramRows(int64_t tables, int64_t base, int64_t multiple) {
  int64_t rows = 0;
  int64_t next = base;
  for (int64_t i = 0; i < tables; ++i) {
    while (!IsPrime(next)) ++next;
    rows += next++;
  }
  return (rows + multiple - 1) / multiple * multiple;
}

struct Ngrams {
  NgramSpec spec;
  int64_t parameters = 0;
};

Result<Ngrams> NgramsFromConfig(const HfConfig& config, int64_t hidden, int64_t streams) {
  Ngrams ngrams;
  CAIRN_ASSIGN(const int64_t size, config.Int("ngram_size", {2, kMaxNgram}));
  CAIRN_ASSIGN(const int64_t kernel, config.IntOr("ple_conv_kernel_size", {1, 1024}, 4));
  ngrams.spec.history = size - 1;
  ngrams.spec.channels = streams * hidden;
  ngrams.spec.conv_history = (kernel - 1) * size;  // gaps as wide as the longest n-gram
  CAIRN_ASSIGN(const int64_t heads, config.IntOr("heads_per_ngram", {1, kMaxTables}, 1));
  CAIRN_ASSIGN(const int64_t base, config.Int("ngram_vocab_size_base", {2, kMaxVocabulary}));
  CAIRN_ASSIGN(const int64_t multiple,
               config.IntOr("make_ngram_vocab_size_divisible_by", {1, 1 << 20}, 1));
  CAIRN_ASSIGN(const int64_t width, config.Int("ple_embed_dim", {1, kMaxHidden}));
  const int64_t tables = (size - 1) * heads;
  if (width % tables != 0) {
    return config.Wrong("ple_embed_dim", fmt::format("a multiple of {} tables", tables));
  }
  ngrams.parameters = NgramRows(tables, base, multiple) * (width / tables);
  ngrams.parameters += size + 2 * tables;               // multipliers, sizes and offsets
  ngrams.parameters += width * (streams + 1) * hidden;  // keys of all streams, one value
  ngrams.parameters += streams * hidden * (kernel + 3);
  return ngrams;
}

// ple_layer_ids counts layers from 1.
Status AddNgrams(const HfConfig& config, int64_t streams, ModelSpec& model) {
  if (!config.Has("ple_layer_ids")) return {};
  const auto layers = static_cast<int64_t>(model.layers.size());
  CAIRN_ASSIGN(const auto listed,
               config.IntsUpTo("ple_layer_ids", model.layers.size(), {1, layers}));
  if (listed.empty()) return {};
  CAIRN_ASSIGN(const Ngrams ngrams, NgramsFromConfig(config, model.hidden, streams));
  for (const int64_t number : listed) {
    LayerSpec& layer = model.layers[static_cast<size_t>(number - 1)];
    if (layer.ngram) return config.Wrong("ple_layer_ids", "each layer at most once");
    layer.ngram = ngrams.spec;
    layer.other_parameters += ngrams.parameters;
  }
  return {};
}

// Streams pass a norm and a low-rank gate, before each branch and before the head.
Result<int64_t> AddStreams(const HfConfig& config, ModelSpec& model) {
  CAIRN_ASSIGN(const int64_t streams, config.IntOr("hc_count", {1, 64}, 1));
  CAIRN_ASSIGN(const int64_t rank, config.IntOr("hc_lowrank", {1, kMaxHidden}, 64));
  const int64_t all = streams * model.hidden;
  const int64_t mixer = all * (1 + 2 * rank);
  for (LayerSpec& layer : model.layers) {
    layer.norm_vectors = 0;
    layer.other_parameters = 2 * (mixer + streams * all);
  }
  model.final_norm_vectors = 0;
  model.other_parameters += mixer;
  return streams;
}

Result<ModelSpec> Qwen4FromConfig(const ConfigSource& source) {
  const HfConfig& config = source.config;
  CAIRN_ASSIGN(const Dimensions dimensions, DimensionsFromConfig(config));
  if (dimensions.heads == 0) return config.Missing("num_attention_heads");
  CAIRN_ASSIGN(ModelSpec model, SizedModel(source, "qwen4_exp", dimensions, false));
  const auto layers = static_cast<size_t>(dimensions.layers);
  CAIRN_ASSIGN(const auto linear,
               LinearLayers(config, layers, 4, {"indexed_attention", "qwen_sparse_attention"}));
  CAIRN_ASSIGN(const DeltaRuleSpec delta, GatedDeltaFromConfig(config, dimensions.hidden));
  CAIRN_ASSIGN(AttentionSpec attention, AttentionFromConfig(config, dimensions));
  CAIRN_ASSIGN(attention.index->position_axes, PositionAxes(config));
  std::string missing;
  CAIRN_ASSIGN(const auto networks,
               FeedForwardsFromConfig(config, dimensions, {.shared_gate = true}, missing));
  if (!missing.empty()) model.uncounted = missing + " is missing";
  for (size_t i = 0; i < layers; ++i) {
    LayerSpec layer = {.mixer = delta, .feed_forward = networks[i]};
    if (!linear[i]) {
      layer.mixer = attention;
      attention.index->position_axes = 0;
    }
    model.layers.push_back(std::move(layer));
  }
  CAIRN_ASSIGN(const int64_t streams, AddStreams(config, model));
  CAIRN_TRY(AddNgrams(config, streams, model));
  return model;
}

constexpr auto kRows = std::to_array<SizedFamily>({
    {"qwen4_exp_text", Qwen4FromConfig},
});

}  // namespace

std::span<const SizedFamily> NgramFamilies() { return kRows; }

}  // namespace cairn
