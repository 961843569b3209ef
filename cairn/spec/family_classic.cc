// Decoders from before Llama: LayerNorms with biases, networks without a gate, learned positions.
#include <array>
#include <string>

#include "cairn/spec/limits.h"
#include "cairn/spec/sized_families.h"

namespace cairn {
namespace {

constexpr Choice kAlways = {"", true};

constexpr DecoderTraits kGpt2 = {
    .family = "gpt2",
    .tied_head = true,
    .qkv_bias = kAlways,
    .output_bias = kAlways,
    .feed_forward = {.gated = false, .bias = kAlways, .default_ratio = 4},
    .norm_vectors = 4,
    .final_norm_vectors = 2,
    .learned_positions = 0};
constexpr DecoderTraits kGptNeoX = {
    .family = "gpt_neox",
    .qkv_bias = {"attention_bias", true},
    .output_bias = {"attention_bias", true},
    .feed_forward = {.gated = false, .bias = kAlways, .default_ratio = 4},
    .norm_vectors = 4,
    .final_norm_vectors = 2};
// One norm for both branches; the head has a bias.
constexpr DecoderTraits kGptJ = {
    .family = "gptj",
    .head_bias = kAlways,
    .feed_forward = {.gated = false, .bias = kAlways, .default_ratio = 4},
    .norm_vectors = 2,
    .final_norm_vectors = 2};
constexpr DecoderTraits kPhi = {
    .family = "phi",
    .qkv_bias = kAlways,
    .output_bias = kAlways,
    .head_bias = kAlways,
    .feed_forward = {.gated = false, .bias = kAlways, .default_ratio = 4},
    .norm_vectors = 2,
    .final_norm_vectors = 2};
// Its table of positions starts two rows late.
constexpr DecoderTraits kOpt = {
    .family = "opt",
    .tied_head = true,
    .qkv_bias = {"enable_bias", true},
    .output_bias = {"enable_bias", true},
    .feed_forward = {.gated = false, .bias = {"enable_bias", true}, .default_ratio = 4},
    .norm_vectors = 4,
    .final_norm_vectors = 2,
    .learned_positions = 2};
// One more norm behind the embedding.
constexpr DecoderTraits kBloom = {
    .family = "bloom",
    .tied_head = true,
    .qkv_bias = kAlways,
    .output_bias = kAlways,
    .feed_forward = {.gated = false, .bias = kAlways, .default_ratio = 4},
    .norm_vectors = 4,
    .final_norm_vectors = 4};
constexpr DecoderTraits kFalcon = {
    .family = "falcon",
    .tied_head = true,
    .qkv_bias = {"bias", false},
    .output_bias = {"bias", false},
    .feed_forward = {.gated = false, .bias = {"bias", false}, .default_ratio = 4},
    .norm_vectors = 4,
    .final_norm_vectors = 2};
constexpr DecoderTraits kMpt = {
    .family = "mpt", .tied_head = true, .feed_forward = {.gated = false, .default_ratio = 4}};
constexpr DecoderTraits kDbrx = {.family = "dbrx"};

// multi_query: one KV head, whatever is written next to it.
Result<ModelSpec> BigCodeFromConfig(const ConfigSource& source) {
  CAIRN_ASSIGN(Dimensions dimensions, DimensionsFromConfig(source.config));
  CAIRN_ASSIGN(const bool multi_query, source.config.BoolOr("multi_query", true));
  dimensions.kv_heads = multi_query ? 1 : dimensions.heads;
  CAIRN_TRY(CheckHeads(source.config, AttentionOf(dimensions)));
  DecoderTraits traits = kGpt2;
  traits.family = "gpt_bigcode";
  return DecoderFromDimensions(source, traits, dimensions);
}

// num_kv_heads counts only in the new architecture; before it multi_query decides.
Result<ModelSpec> FalconFromConfig(const ConfigSource& source) {
  const HfConfig& config = source.config;
  CAIRN_ASSIGN(Dimensions dimensions, DimensionsFromConfig(config));
  CAIRN_ASSIGN(const bool grouped, config.BoolOr("new_decoder_architecture", false));
  CAIRN_ASSIGN(const bool multi_query, config.BoolOr("multi_query", true));
  CAIRN_ASSIGN(const bool parallel, config.BoolOr("parallel_attn", true));
  dimensions.kv_heads = multi_query ? 1 : dimensions.heads;
  if (grouped) {
    for (const std::string_view key : {"n_head_kv", "num_kv_heads"}) {
      CAIRN_ASSIGN(dimensions.kv_heads, config.IntOr(key, {1, kMaxHeads}, dimensions.heads));
      if (config.Has(key)) break;
    }
  }
  CAIRN_TRY(CheckHeads(config, AttentionOf(dimensions)));
  DecoderTraits traits = kFalcon;
  if (!grouped && parallel) traits.norm_vectors = 2;
  return DecoderFromDimensions(source, traits, dimensions);
}

Result<ModelSpec> MptFromConfig(const ConfigSource& source) {
  const HfConfig& config = source.config;
  CAIRN_ASSIGN(Dimensions dimensions, DimensionsFromConfig(config));
  CAIRN_ASSIGN(const auto attention, config.Child("attn_config"));
  DecoderTraits traits = kMpt;
  bool alibi = false;
  if (attention) {
    CAIRN_ASSIGN(const std::string type, attention->StringOr("attn_type", "multihead_attention"));
    if (type == "multiquery_attention") dimensions.kv_heads = 1;
    CAIRN_ASSIGN(dimensions.kv_heads,
                 attention->IntOr("kv_n_heads", {1, kMaxHeads}, dimensions.kv_heads));
    CAIRN_ASSIGN(alibi, attention->BoolOr("alibi", false));
  }
  CAIRN_TRY(CheckHeads(config, AttentionOf(dimensions)));
  CAIRN_ASSIGN(traits.feed_forward.default_ratio, config.IntOr("expansion_ratio", {1, 1024}, 4));
  CAIRN_ASSIGN(const bool no_bias, config.BoolOr("no_bias", true));
  CAIRN_ASSIGN(const bool learned, config.BoolOr("learned_pos_emb", true));
  if (learned && !alibi) traits.learned_positions = 0;
  if (!no_bias) {
    traits.qkv_bias = traits.output_bias = traits.feed_forward.bias = kAlways;
    traits.norm_vectors = 4;
    traits.final_norm_vectors = 2;
  }
  return DecoderFromDimensions(source, traits, dimensions);
}

Result<ModelSpec> DbrxFromConfig(const ConfigSource& source) {
  const HfConfig& config = source.config;
  CAIRN_ASSIGN(Dimensions dimensions, DimensionsFromConfig(config));
  CAIRN_ASSIGN(const auto attention, config.Child("attn_config"));
  CAIRN_ASSIGN(const auto experts, config.Child("ffn_config"));
  if (!attention) return config.Missing("attn_config");
  CAIRN_ASSIGN(dimensions.kv_heads, attention->IntOr("kv_n_heads", {1, kMaxHeads}, 1));
  CAIRN_TRY(CheckHeads(config, AttentionOf(dimensions)));
  CAIRN_ASSIGN(ModelSpec model, DecoderFromDimensions(source, kDbrx, dimensions));
  if (!experts) return model;
  CAIRN_ASSIGN(dimensions.intermediate, experts->Int("ffn_hidden_size", {1, kMaxIntermediate}));
  std::string missing;
  CAIRN_ASSIGN(const auto networks, FeedForwardsFromConfig(*experts, dimensions, {}, missing));
  for (size_t i = 0; i < networks.size(); ++i) model.layers[i].feed_forward = networks[i];
  model.uncounted = missing;
  return model;
}

constexpr auto kRows = std::to_array<SizedFamily>({
    {"gpt2", FromTraits<kGpt2>},
    {"gpt_bigcode", BigCodeFromConfig},
    {"gpt_neox", FromTraits<kGptNeoX>},
    {"gptj", FromTraits<kGptJ>},
    {"phi", FromTraits<kPhi>},
    {"phi-msft", FromTraits<kPhi>},
    {"opt", FromTraits<kOpt>},
    {"bloom", FromTraits<kBloom>},
    {"falcon", FalconFromConfig},
    {"RefinedWeb", FalconFromConfig},
    {"RefinedWebModel", FalconFromConfig},
    {"mpt", MptFromConfig},
    {"dbrx", DbrxFromConfig},
});

}  // namespace

std::span<const SizedFamily> ClassicFamilies() { return kRows; }

}  // namespace cairn
