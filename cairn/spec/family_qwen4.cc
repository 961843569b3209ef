// Qwen 4 (experimental): Gated DeltaNet beside attention whose index keys are kept as they are,
// with n-gram embeddings in some layers and several residual streams.
#include <algorithm>
#include <array>
#include <string>

#include "cairn/spec/family_delta.h"
#include "cairn/spec/limits.h"
#include "cairn/spec/ngrams_config.h"
#include "cairn/spec/run_facts.h"
#include "cairn/spec/sized_families.h"

namespace cairn {
namespace {

constexpr int64_t kPositionAxes = 3;

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
  CAIRN_ASSIGN(index.pool, config.IntOr("indexer_compress_ratio", {1, kMaxContext}, 0));
  return index;
}

// Axes of a position: mrope_section divides the channels among time, height and width.
Result<int64_t> PositionAxes(const HfConfig& config) {
  CAIRN_ASSIGN(const auto rope, config.Child("rope_parameters"));
  if (!rope || !rope->Has("mrope_section")) return kPositionAxes;
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
  if (attention.qkv_bias) attention.other_parameters += dimensions.heads * dimensions.key_width;
  attention.other_parameters += 2 * attention.index->width;
  return attention;
}

// Streams pass a norm and a low-rank gate, before each branch and before the head.
Status AddStreams(const HfConfig& config, ModelSpec& model) {
  GatedStreamsSpec spec;
  CAIRN_ASSIGN(spec.streams, config.IntOr("hc_count", {1, 64}, 4));
  CAIRN_ASSIGN(spec.rank, config.IntOr("hc_lowrank", {1, kMaxHidden}, 320));
  const int64_t all = spec.streams * model.hidden;
  const int64_t mixer = all * (1 + 2 * spec.rank);
  for (LayerSpec& layer : model.layers) {
    layer.norm_vectors = 0;
    layer.other_parameters = 2 * (mixer + spec.streams * all);
  }
  model.final_norm_vectors = 0;
  model.other_parameters += mixer;
  model.residual = spec;
  return {};
}

Result<ModelSpec> Qwen4FromConfig(const ConfigSource& source) {
  const HfConfig& config = source.config;
  CAIRN_ASSIGN(const Dimensions dimensions, DimensionsFromConfig(config));
  if (dimensions.heads == 0) return config.Missing("num_attention_heads");
  CAIRN_ASSIGN(ModelSpec model, SizedModel(source, "qwen4_exp", dimensions, false));
  const auto layers = static_cast<size_t>(dimensions.layers);
  CAIRN_ASSIGN(const int64_t period, config.IntOr("full_attention_interval", {1, kMaxLayers}, 4));
  // Published files call layers with an index full attention.
  CAIRN_ASSIGN(const auto linear,
               LinearLayers(config, layers, period,
                            {"indexed_attention", "full_attention", "qwen_sparse_attention"}));
  DeltaRuleSpec delta;
  if (std::ranges::find(linear, true) != linear.end()) {
    CAIRN_ASSIGN(delta, GatedDeltaFromConfig(config, dimensions.hidden));
  }
  AttentionSpec attention;
  if (std::ranges::find(linear, false) != linear.end()) {
    CAIRN_ASSIGN(attention, AttentionFromConfig(config, dimensions));
    CAIRN_ASSIGN(attention.index->position_axes, PositionAxes(config));
  }
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
  CAIRN_TRY(AddStreams(config, model));
  CAIRN_TRY(AddNgrams(config, model));
  return model;
}

// Text turns as if positions had one axis.
constexpr RunFacts kQwen4 = {.partial_rotation = true};

Status CheckIndex(const HfConfig& config, const AttentionSpec& attention) {
  const SparseIndexSpec& index = *attention.index;
  if (index.pool == 0) return config.Missing("indexer_compress_ratio");
  if (attention.picks < index.pool || attention.picks % index.pool != 0) {
    return config.Unsupported("indexer_budget", "a positive multiple of indexer_compress_ratio");
  }
  if (attention.rope->width > index.width) {
    return config.Unsupported("indexer_head_dim", "at least as many channels as a head turns");
  }
  if (index.position_axes != 0 && index.position_axes != kPositionAxes) {
    return config.Unsupported("rope_parameters.mrope_section", "three axes");
  }
  return {};
}

Result<bool> HasSigmoidGate(const HfConfig& config) {
  CAIRN_ASSIGN(const std::string gate, config.StringOr("output_gate_type", "silu"));
  if (gate == "sigmoid") return true;
  if (gate == "silu") return false;
  return config.Unsupported("output_gate_type", "silu or sigmoid");
}

Status RunQwen4(const ConfigSource& source, ModelSpec& model) {
  const HfConfig& config = source.config;
  CAIRN_TRY(RequireSilu(config));
  CAIRN_TRY(DescribeDecoder(source, kQwen4, model));
  model.norm_weight_plus_one = true;
  if (std::get<GatedStreamsSpec>(model.residual).streams < 2) {
    return config.Unsupported("hc_count", "at least 2");
  }
  CAIRN_ASSIGN(const bool sigmoid, HasSigmoidGate(config));
  CAIRN_ASSIGN(const bool normalises, config.BoolOr("norm_topk_prob", true));
  for (LayerSpec& layer : model.layers) {
    if (auto* delta = std::get_if<DeltaRuleSpec>(&layer.mixer)) delta->sigmoid_gate = sigmoid;
    if (auto* attention = std::get_if<AttentionSpec>(&layer.mixer)) {
      CAIRN_TRY(CheckIndex(config, *attention));
      attention->output_gate = OutputGate::kChannels;
    }
    if (layer.ngram) {
      CAIRN_ASSIGN(layer.ngram->end_token, EndTokenOfNgrams(config));
    }
    auto* mixture = std::get_if<MixtureSpec>(&layer.feed_forward);
    if (mixture == nullptr) return config.Missing("num_experts");
    mixture->router.normalise = normalises;
  }
  return {};
}

constexpr auto kRows = std::to_array<SizedFamily>({
    {"qwen4_exp_text", Runs<Qwen4FromConfig, RunQwen4>},
});

}  // namespace

std::span<const SizedFamily> NgramFamilies() { return kRows; }

}  // namespace cairn
