// Gemma 3n and 4: layers that read an earlier layer's keys and values, full layers of another
// shape, embeddings for each layer.
#include <algorithm>
#include <array>
#include <string>

#include "cairn/spec/family_gemma_run.h"
#include "cairn/spec/limits.h"
#include "cairn/spec/run_facts.h"
#include "cairn/spec/sized_families.h"

namespace cairn {
namespace {

constexpr int64_t kDefaultPeriod3n = 5;
constexpr int64_t kDefaultPeriod4 = 6;

// Windows as they are written, also those that can't bind: they tell the kinds of layers apart.
Result<std::vector<Lifetime>> WrittenLifetimes(const HfConfig& config, Dimensions dimensions,
                                               int64_t period) {
  dimensions.context_length = TokenCount(0);
  return LifetimesFromConfig(config, dimensions, WindowRule::kAlways, period);
}

Lifetime Bounded(const Lifetime& written, TokenCount context_length) {
  if (written.kind != Lifetime::Kind::kWindow) return written;
  return LifetimeOfWindow(context_length, written.tokens.value());
}

// The last `sharing` layers read the last earlier layer of their own kind.
Status ShareLastLayers(const HfConfig& config, const std::vector<Lifetime>& lifetimes,
                       bool projects_keys, ModelSpec& model) {
  const auto layers = static_cast<int64_t>(model.layers.size());
  CAIRN_ASSIGN(const int64_t sharing, config.IntOr("num_kv_shared_layers", {0, layers - 1}, 0));
  const auto owners = static_cast<size_t>(layers - sharing);
  for (size_t i = owners; i < model.layers.size(); ++i) {
    size_t from = owners;
    while (from > 0 && lifetimes[from - 1] != lifetimes[i]) --from;
    if (from == 0) {
      return config.Wrong("num_kv_shared_layers",
                          "few enough to leave each kind a layer that keeps its own");
    }
    const auto attention = std::get<AttentionSpec>(model.layers[i].mixer);
    model.layers[i].mixer =
        SharedAttentionSpec{attention, LayerIndex(static_cast<int32_t>(from - 1)), projects_keys};
  }
  return {};
}

Result<std::vector<int64_t>> Intermediates(const HfConfig& config, const Dimensions& dimensions) {
  const auto layers = static_cast<size_t>(dimensions.layers);
  if (!config.ListSize("intermediate_size")) {
    return std::vector<int64_t>(layers, dimensions.intermediate);
  }
  return config.Ints("intermediate_size", layers, {1, kMaxIntermediate});
}

// An embedding of each token for each layer and its projection from the residual. The one norm of
// the projections, `width` numbers, is left out, as in the counts that this is compared with.
Result<int64_t> PerLayerWidth(const HfConfig& config) {
  return config.IntOr("hidden_size_per_layer_input", {0, kMaxHidden}, 0);
}

Status AddPerLayerInputs(const HfConfig& config, int64_t width, ModelSpec& model) {
  if (width == 0) return {};
  CAIRN_ASSIGN(const int64_t vocabulary,
               config.IntOr("vocab_size_per_layer_input", {1, kMaxVocabulary}, model.vocabulary));
  const auto layers = static_cast<int64_t>(model.layers.size());
  model.other_parameters += layers * width * (vocabulary + model.hidden);
  // In each layer a gate, a projection and the norm behind it.
  model.other_parameters += layers * (2 * width * model.hidden + model.hidden);
  return {};
}

// AltUp: more residual streams, mixed by small matrices; LAuReL: a low-rank branch beside
// attention.
Status AddAltUp(const HfConfig& config, ModelSpec& model) {
  CAIRN_ASSIGN(const int64_t streams, config.IntOr("altup_num_inputs", {1, 64}, 4));
  CAIRN_ASSIGN(const int64_t rank, config.IntOr("laurel_rank", {0, kMaxHidden}, 64));
  const int64_t hidden = model.hidden;
  const int64_t in_layer =
      streams * hidden + hidden + streams * streams + streams * streams * streams;
  model.other_parameters += 2 * (streams - 1) * hidden * hidden;
  model.other_parameters +=
      static_cast<int64_t>(model.layers.size()) * (in_layer + hidden + 2 * rank * hidden + hidden);
  return {};
}

Result<ModelSpec> Gemma3nFromConfig(const ConfigSource& source) {
  const HfConfig& config = source.config;
  CAIRN_ASSIGN(const Dimensions dimensions, DimensionsFromConfig(config));
  CAIRN_ASSIGN(ModelSpec model, SizedModel(source, "gemma3n", dimensions, true));
  CAIRN_ASSIGN(const auto lifetimes, WrittenLifetimes(config, dimensions, kDefaultPeriod3n));
  CAIRN_ASSIGN(const auto widths, Intermediates(config, dimensions));
  for (size_t i = 0; i < lifetimes.size(); ++i) {
    AttentionSpec attention = AttentionOf(dimensions);
    attention.lifetime = Bounded(lifetimes[i], dimensions.context_length);
    attention.query_key_norm = true;
    model.layers.push_back({.mixer = attention,
                            .feed_forward = GatedMlpSpec{.intermediate = widths[i]},
                            .branch_output_norms = true});
  }
  CAIRN_TRY(ShareLastLayers(config, lifetimes, true, model));
  CAIRN_ASSIGN(const int64_t width, PerLayerWidth(config));
  CAIRN_TRY(AddPerLayerInputs(config, width, model));
  CAIRN_TRY(AddAltUp(config, model));
  return model;
}

// Full layers may have another width, other KV heads, and values made by the projection of keys.
Result<AttentionSpec> GlobalAttention(const HfConfig& config, const Dimensions& dimensions) {
  AttentionSpec global = AttentionOf(dimensions);
  CAIRN_ASSIGN(global.key_width,
               config.IntOr("global_head_dim", {1, kMaxHeadWidth}, dimensions.key_width));
  global.value_width = global.key_width;
  CAIRN_ASSIGN(global.value_is_key, config.BoolOr("attention_k_eq_v", false));
  // As in its class, the other number of heads counts only where values are made from keys.
  if (global.value_is_key) {
    CAIRN_ASSIGN(global.kv_heads,
                 config.IntOr("num_global_key_value_heads", {1, kMaxHeads}, dimensions.kv_heads));
  }
  global.query_key_norm = true;
  CAIRN_TRY(CheckHeads(config, global));
  return global;
}

// per_layer_config: by a layer's number, what differs from the config's own keys.
Status ReadOwnConfig(const HfConfig& config, size_t layer, AttentionSpec& attention) {
  CAIRN_ASSIGN(const auto listed, config.Child("per_layer_config"));
  if (!listed) return {};
  CAIRN_ASSIGN(const auto own, listed->Child(std::to_string(layer)));
  if (!own) return {};
  CAIRN_ASSIGN(attention.key_width,
               own->IntOr("head_dim", {1, kMaxHeadWidth}, attention.key_width));
  attention.value_width = attention.key_width;
  CAIRN_ASSIGN(attention.kv_heads,
               own->IntOr("num_key_value_heads", {1, kMaxHeads}, attention.kv_heads));
  return CheckHeads(*own, attention);
}

Status CheckPerLayerConfig(const HfConfig& config, size_t layers) {
  CAIRN_ASSIGN(const auto listed, config.Child("per_layer_config"));
  if (!listed) return {};
  size_t known = 0;
  for (size_t i = 0; i < layers; ++i) known += listed->Has(std::to_string(i)) ? 1 : 0;
  if (known == listed->KeyCount()) return {};
  return config.Wrong("per_layer_config",
                      fmt::format("layer numbers from 0 to {} as its keys", layers - 1));
}

// The router's scale, a scale for each expert, and three norms more than without experts.
Result<FeedForwardSpec> Gemma4Network(const HfConfig& config, const Dimensions& dimensions) {
  CAIRN_ASSIGN(const bool mixes, config.BoolOr("enable_moe_block", false));
  if (!mixes) return GatedMlpSpec{.intermediate = dimensions.intermediate};
  FeedForwardTraits traits;
  std::string missing;
  CAIRN_ASSIGN(const auto networks, FeedForwardsFromConfig(config, dimensions, traits, missing));
  const auto* found = std::get_if<MixtureSpec>(&networks.front());
  if (found == nullptr) return config.Wrong("num_experts", "at least 1 with enable_moe_block");
  MixtureSpec mixture = *found;
  mixture.shared_intermediate = dimensions.intermediate;
  mixture.other_parameters = dimensions.hidden * 4 + mixture.experts;
  return mixture;
}

Result<ModelSpec> Gemma4FromConfig(const ConfigSource& source) {
  const HfConfig& config = source.config;
  CAIRN_ASSIGN(const Dimensions dimensions, DimensionsFromConfig(config));
  CAIRN_ASSIGN(ModelSpec model, SizedModel(source, "gemma4", dimensions, true));
  CAIRN_ASSIGN(const auto lifetimes, WrittenLifetimes(config, dimensions, kDefaultPeriod4));
  CAIRN_ASSIGN(const AttentionSpec global, GlobalAttention(config, dimensions));
  CAIRN_ASSIGN(const FeedForwardSpec network, Gemma4Network(config, dimensions));
  CAIRN_TRY(CheckPerLayerConfig(config, lifetimes.size()));
  for (const Lifetime& lifetime : lifetimes) {
    AttentionSpec attention = AttentionOf(dimensions);
    attention.query_key_norm = true;
    attention.lifetime = Bounded(lifetime, dimensions.context_length);
    if (lifetime.kind == Lifetime::Kind::kAll) attention = global;
    CAIRN_TRY(ReadOwnConfig(config, model.layers.size(), attention));
    model.layers.push_back(
        {.mixer = attention, .feed_forward = network, .branch_output_norms = true});
  }
  CAIRN_TRY(ShareLastLayers(config, lifetimes, true, model));
  CAIRN_ASSIGN(const bool doubles, config.BoolOr("use_double_wide_mlp", false));
  for (LayerSpec& layer : model.layers) {
    if (!doubles || !std::holds_alternative<SharedAttentionSpec>(layer.mixer)) continue;
    if (auto* mlp = std::get_if<GatedMlpSpec>(&layer.feed_forward)) mlp->intermediate *= 2;
    if (auto* mixture = std::get_if<MixtureSpec>(&layer.feed_forward)) {
      mixture->shared_intermediate *= 2;
    }
  }
  CAIRN_ASSIGN(const int64_t width, PerLayerWidth(config));
  CAIRN_TRY(AddPerLayerInputs(config, width, model));
  return model;
}

constexpr auto kRows = std::to_array<SizedFamily>({
    {"gemma3n_text", Runs<Gemma3nFromConfig, DescribeGemma3nRun>},
    {"gemma4_text", Runs<Gemma4FromConfig, DescribeGemma4Run>},
});

}  // namespace

std::span<const SizedFamily> GemmaFamilies() { return kRows; }

}  // namespace cairn
