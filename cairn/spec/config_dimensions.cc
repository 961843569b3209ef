#include "cairn/spec/config_dimensions.h"

#include <algorithm>
#include <array>
#include <string>

#include "cairn/spec/limits.h"

namespace cairn {
namespace {

constexpr std::array<std::string_view, 5> kLayerKeys = {"num_hidden_layers", "n_layer", "n_layers",
                                                        "num_layers", "num_transformer_layers"};
constexpr std::array<std::string_view, 4> kHiddenKeys = {"hidden_size", "n_embd", "d_model",
                                                         "model_dim"};
constexpr std::array<std::string_view, 3> kHeadKeys = {"num_attention_heads", "n_head", "n_heads"};
constexpr std::array<std::string_view, 2> kKvHeadKeys = {"num_key_value_heads", "n_head_kv"};
constexpr std::array<std::string_view, 3> kWidthKeys = {"head_dim", "attention_head_dim",
                                                        "kv_channels"};
constexpr std::array<std::string_view, 5> kIntermediateKeys = {
    "intermediate_size", "ffn_hidden_size", "n_inner", "ffn_dim", "ff_intermediate_size"};
constexpr std::array<std::string_view, 8> kContextKeys = {
    "max_position_embeddings", "n_positions",        "max_seq_len",    "seq_length",
    "max_sequence_length",     "max_context_length", "context_length", "model_max_length"};

}  // namespace

Result<std::optional<int64_t>> FirstInt(const HfConfig& config,
                                        std::span<const std::string_view> spellings,
                                        IntRange range) {
  std::optional<int64_t> first;
  std::string_view first_key;
  for (const std::string_view key : spellings) {
    if (!config.Has(key)) continue;
    CAIRN_ASSIGN(const int64_t value, config.Int(key, range));
    if (first && *first != value) {
      return config.Wrong(key, fmt::format("{}, as {} says", *first, first_key));
    }
    if (!first) first_key = key;
    first = value;
  }
  return first;
}

Result<int64_t> RequireInt(const HfConfig& config, std::span<const std::string_view> spellings,
                           IntRange range) {
  CAIRN_ASSIGN(const std::optional<int64_t> value, FirstInt(config, spellings, range));
  if (!value) return config.Missing(spellings.front());
  return *value;
}

Result<int64_t> LayerCountFromConfig(const HfConfig& config) {
  return RequireInt(config, kLayerKeys, {1, kMaxLayers});
}

namespace {

Result<Dimensions> FrameOfLayers(const HfConfig& config, int64_t layers) {
  Dimensions frame;
  frame.layers = layers;
  CAIRN_ASSIGN(const auto hidden, FirstInt(config, kHiddenKeys, {1, kMaxHidden}));
  frame.hidden = hidden.value_or(0);
  for (const std::string_view key : kIntermediateKeys) {
    if (!config.Has(key)) continue;
    // A list says it layer by layer, which only its family can read.
    if (const std::optional<size_t> size = config.ListSize(key)) {
      if (*size == static_cast<size_t>(layers)) continue;
      return config.Wrong(key, fmt::format("an integer, or a list of {}", layers));
    }
    CAIRN_ASSIGN(frame.intermediate, config.Int(key, {0, kMaxIntermediate}));
    break;
  }
  const std::string_view vocabulary =
      config.Has("padded_vocab_size") ? "padded_vocab_size" : "vocab_size";
  CAIRN_ASSIGN(frame.vocabulary, config.IntOr(vocabulary, {1, kMaxVocabulary}, 0));
  for (const std::string_view key : kContextKeys) {
    if (!config.Has(key)) continue;
    CAIRN_ASSIGN(const int64_t context, config.Int(key, {1, kMaxContext}));
    frame.context_length = TokenCount(context);
    break;
  }
  return frame;
}

}  // namespace

Result<Dimensions> FrameFromConfig(const HfConfig& config) {
  CAIRN_ASSIGN(const int64_t layers, LayerCountFromConfig(config));
  return FrameOfLayers(config, layers);
}

Result<Dimensions> DimensionsFromConfig(const HfConfig& config) {
  CAIRN_ASSIGN(const int64_t layers, LayerCountFromConfig(config));
  return DimensionsOfLayers(config, layers);
}

Result<Dimensions> DimensionsOfLayers(const HfConfig& config, int64_t layers) {
  CAIRN_ASSIGN(Dimensions dimensions, FrameOfLayers(config, layers));
  CAIRN_ASSIGN(const auto heads, FirstInt(config, kHeadKeys, {1, kMaxHeads}));
  CAIRN_ASSIGN(auto kv_heads, FirstInt(config, kKvHeadKeys, {1, kMaxHeads}));
  CAIRN_ASSIGN(const bool grouped, config.BoolOr("multi_query_attention", false));
  if (!kv_heads && grouped) {
    CAIRN_ASSIGN(kv_heads, config.Int("multi_query_group_num", {1, kMaxHeads}));
  }
  if (!kv_heads && !heads) return config.Missing(kHeadKeys.front());
  dimensions.heads = heads.value_or(0);
  dimensions.kv_heads = kv_heads.value_or(dimensions.heads);
  for (const std::string_view key : kWidthKeys) {
    if (!config.Has(key)) continue;
    CAIRN_ASSIGN(dimensions.key_width, config.Int(key, {1, kMaxHeadWidth}));
    break;
  }
  if (dimensions.key_width == 0) {
    if (dimensions.heads == 0) return config.Missing(kHeadKeys.front());
    if (dimensions.hidden == 0) return config.Missing(kHiddenKeys.front());
    if (dimensions.hidden % dimensions.heads != 0) {
      return config.Wrong(
          config.Has("n_head") ? "n_head" : kHeadKeys.front(),
          fmt::format("a divisor of hidden_size ({}), or a head_dim", dimensions.hidden));
    }
    dimensions.key_width = dimensions.hidden / dimensions.heads;
  }
  dimensions.value_width = dimensions.key_width;
  CAIRN_TRY(CheckHeads(config, AttentionOf(dimensions)));
  return dimensions;
}

Result<int64_t> StateInt(const HfConfig& config, std::string_view key, int64_t max) {
  return config.Int(key, {1, max});
}

Result<int64_t> StateIntOr(const HfConfig& config, std::string_view key, int64_t max,
                           int64_t absent) {
  return config.IntOr(key, {1, max}, absent);
}

Status CheckHeads(const HfConfig& config, const AttentionSpec& attention) {
  if (attention.kv_heads < 1) return config.Missing(kHeadKeys.front());
  if (attention.heads % attention.kv_heads != 0) {
    return config.Wrong(kKvHeadKeys.front(),
                        fmt::format("a divisor of num_attention_heads ({})", attention.heads));
  }
  const int64_t heads = std::max(attention.heads, attention.kv_heads);
  if (heads * std::max(attention.key_width, attention.value_width) > kMaxProjection) {
    return config.Wrong(kHeadKeys.front(),
                        fmt::format("at most {} channels in all heads", kMaxProjection));
  }
  return {};
}

Result<ModelSpec> SizedModel(const ConfigSource& source, std::string_view family,
                             const Dimensions& dimensions, bool tied_head) {
  ModelSpec model;
  model.family = family;
  model.vocabulary = dimensions.vocabulary;
  model.hidden = dimensions.hidden;
  model.context_length = dimensions.context_length;
  model.norm_epsilon = 1e-6;
  model.sizing_only = "only what it keeps is described";
  CAIRN_ASSIGN(model.tied_head, source.config.BoolOr("tie_word_embeddings",
                                                     source.outer_tied_head.value_or(tied_head)));
  if (dimensions.vocabulary == 0) model.uncounted = "vocab_size is missing";
  if (dimensions.hidden == 0) model.uncounted = "hidden_size is missing";
  if (dimensions.hidden != 0 && dimensions.heads == 0) {
    model.uncounted = "num_attention_heads is missing";
  }
  return model;
}

AttentionSpec AttentionOf(const Dimensions& dimensions) {
  AttentionSpec attention;
  attention.heads = dimensions.heads;
  attention.kv_heads = dimensions.kv_heads;
  attention.key_width = dimensions.key_width;
  attention.value_width = dimensions.value_width;
  attention.scale = 1;
  return attention;
}

Lifetime LifetimeOfWindow(TokenCount context_length, std::optional<int64_t> window) {
  if (!window) return Lifetime::All();
  const bool bounded = context_length > TokenCount(0);
  if (bounded && TokenCount(*window) >= context_length) return Lifetime::All();
  return Lifetime::Window(TokenCount(*window));
}

Result<std::optional<int64_t>> WindowFromConfig(const HfConfig& config) {
  constexpr std::array<std::string_view, 3> kKeys = {"sliding_window", "sliding_window_size",
                                                     "attention_window_size"};
  return FirstInt(config, kKeys, {1, kMaxContext});
}

Result<std::optional<DType>> StateTypeFromConfig(const HfConfig& config, std::string_view key) {
  if (!config.Has(key)) return std::nullopt;
  CAIRN_ASSIGN(const std::string name, config.String(key));
  if (name == "float32") return DType::kF32;
  if (name == "bfloat16") return DType::kBF16;
  if (name == "float16") return DType::kF16;
  if (name == "auto") return std::nullopt;
  return config.Wrong(key, "float32, bfloat16, float16 or auto");
}

}  // namespace cairn
