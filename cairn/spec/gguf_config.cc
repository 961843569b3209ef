#include "cairn/spec/gguf_config.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cairn/spec/limits.h"
#include "cairn/spec/quoted.h"

namespace cairn {
namespace {

constexpr auto kNumbers = std::to_array<GgufName>({
    {"attention.q_lora_rank", "q_lora_rank"},
    {"attention.kv_lora_rank", "kv_lora_rank"},
    {"attention.indexer.key_length", "index_head_dim"},
    {"attention.indexer.head_count", "index_n_heads"},
    {"attention.indexer.top_k", "index_topk"},
    {"attention.indexer.kpool", "index_kpool"},
    {"attention.output_group_count", "o_groups"},
    {"attention.output_lora_rank", "o_lora_rank"},
    {"hyper_connection.count", "hc_mult"},
    {"hash_layer_count", "num_hash_layers"},
    {"expert_count", "n_routed_experts"},
    {"expert_used_count", "num_experts_per_tok"},
    {"expert_feed_forward_length", "moe_intermediate_size"},
    {"expert_shared_count", "n_shared_experts"},
    {"leading_dense_block_count", "first_k_dense_replace"},
    {"kda.head_dim", "linear_head_dim"},
    {"ssm.conv_kernel", "linear_conv_kernel_dim"},
});

constexpr auto kOfRunning = std::to_array<GgufName>({
    {"attention.layer_norm_rms_epsilon", "rms_norm_eps", GgufName::Kind::kNumber},
    {"rope.freq_base", "rope_theta", GgufName::Kind::kNumber},
    {"expert_weights_scale", "routed_scaling_factor", GgufName::Kind::kNumber},
    {"expert_weights_norm", "norm_topk_prob", GgufName::Kind::kFlag},
    {"expert_shared_feed_forward_length", "shared_expert_intermediate_size"},
    {"expert_group_count", "n_group"},
    {"expert_group_used_count", "topk_group"},
    {"expert_latent_length", "moe_latent_size"},
    {"moe_latent_size", "moe_latent_size"},
    {"final_logit_softcapping", "final_logit_softcapping", GgufName::Kind::kNumber},
});
constexpr auto kOfYarn = std::to_array<GgufName>({
    {"rope.scaling.original_context_length", "rope_scaling.original_max_position_embeddings"},
    {"rope.scaling.yarn_beta_fast", "rope_scaling.beta_fast", GgufName::Kind::kNumber},
    {"rope.scaling.yarn_beta_slow", "rope_scaling.beta_slow", GgufName::Kind::kNumber},
    {"rope.scaling.yarn_attn_factor", "rope_scaling.attention_factor", GgufName::Kind::kNumber},
});

Status AddLatent(const GgufKeys& keys, const GgufFrame& frame, ConfigWriter& config) {
  CAIRN_ASSIGN(const auto latent, LatentFromGguf(keys, frame));
  if (!latent) return {};
  config.Set("qk_rope_head_dim", latent->rope_width);
  config.Set("qk_nope_head_dim", latent->key_width);
  config.Set("v_head_dim", latent->value_width);
  return {};
}

// One ratio for each layer; further ones are the prediction layers'.
Status AddCompression(const GgufKeys& keys, const GgufFrame& frame, ConfigWriter& config) {
  constexpr std::string_view kRatios = "attention.compress_ratios";
  if (!keys.Has(kRatios)) return {};
  CAIRN_ASSIGN(auto ratios, keys.metadata().Ints(keys.Key(kRatios)));
  const auto layers = static_cast<size_t>(frame.blocks.layers);
  if (ratios.size() < layers) {
    return keys.Wrong(kRatios, static_cast<int64_t>(ratios.size()),
                      fmt::format("at least {} ratios, one per layer", layers));
  }
  ratios.resize(layers);
  config.Set("compress_ratios", ratios);
  return {};
}

// The layers that own an index.
Status AddIndexers(const GgufKeys& keys, const GgufFrame& frame, ConfigWriter& config) {
  constexpr std::string_view kTypes = "attention.indexer.types";
  if (!keys.Has(kTypes)) return {};
  CAIRN_ASSIGN(const auto flags, keys.PerLayer(kTypes, frame.blocks, {0, 1}));
  std::vector<std::string> types;
  for (const int64_t flag : flags) types.emplace_back(flag == 0 ? "shared" : "full");
  config.Set("indexer_types", types);
  return {};
}

// Layers without KV heads are KDA's; the others have index keys where the file has any.
void AddLinearLayers(const GgufKeys& keys, const GgufFrame& frame, ConfigWriter& config) {
  if (!keys.Has("kda.head_dim")) return;
  std::vector<std::string> types;
  for (const int64_t heads : frame.kv_heads) {
    types.emplace_back(heads == 0 ? "linear_attention" : "indexed_attention");
  }
  config.Set("layer_types", types);
  config.Set("linear_num_heads", *std::ranges::max_element(frame.heads));
}

// Zero and one are what converters write for "no scaling".
Status AddRopeScaling(const GgufKeys& keys, ConfigWriter& config) {
  CAIRN_ASSIGN(const std::string type, keys.StringOr("rope.scaling.type", "linear"));
  const std::string_view key =
      keys.Has("rope.scaling.factor") ? "rope.scaling.factor" : "rope.scale_linear";
  CAIRN_ASSIGN(const double factor, keys.FloatOr(key, 1));
  if (type == "none" || (type == "linear" && (factor == 0 || factor == 1))) return {};
  if (type != "linear" && type != "yarn") {
    return Fail(ErrorCode::kUnsupported,
                "{}: key {} {} is not supported; supported: none, linear, yarn", keys.where(),
                keys.Key("rope.scaling.type"), Quoted(type));
  }
  config.Set("rope_scaling.rope_type", type);
  config.Set("rope_scaling.factor", factor);
  if (type == "linear") return {};
  return CopyKeys(keys, kOfYarn, config);
}

}  // namespace

Status CopyKeys(const GgufKeys& keys, std::span<const GgufName> names, ConfigWriter& config) {
  for (const GgufName& name : names) {
    if (!keys.Has(name.gguf)) continue;
    if (name.kind == GgufName::Kind::kInteger) {
      CAIRN_ASSIGN(const int64_t value, keys.Int(name.gguf, {0, kMaxContext}));
      config.Set(name.config, value);
    } else if (name.kind == GgufName::Kind::kNumber) {
      CAIRN_ASSIGN(const double value, keys.Float(name.gguf));
      config.Set(name.config, value);
    } else {
      CAIRN_ASSIGN(const bool value, keys.BoolOr(name.gguf, false));
      config.Set(name.config, value);
    }
  }
  return {};
}

Result<ConfigWriter> ConfigFromGguf(const GgufKeys& keys, const GgufFrame& frame,
                                    std::string_view model_type) {
  ConfigWriter config;
  config.Set("model_type", std::string(model_type));
  config.Set("num_hidden_layers", frame.blocks.layers);
  config.Set("hidden_size", frame.hidden);
  CAIRN_ASSIGN(const auto vocabulary, GgufVocabulary(keys));
  if (vocabulary) config.Set("vocab_size", *vocabulary);
  if (frame.context_length > TokenCount(0)) {
    config.Set("max_position_embeddings", frame.context_length.value());
  }
  config.Set("num_attention_heads", *std::ranges::max_element(frame.heads));
  config.Set("num_key_value_heads",
             std::max<int64_t>(1, *std::ranges::max_element(frame.kv_heads)));
  if (frame.key_width > 0) config.Set("head_dim", frame.key_width);
  const int64_t intermediate = *std::ranges::max_element(frame.intermediate);
  if (intermediate > 0) config.Set("intermediate_size", intermediate);
  CAIRN_ASSIGN(const int64_t window, keys.IntOr("attention.sliding_window", {0, kMaxContext}, 0));
  if (window > 0) config.Set("sliding_window", window);
  CAIRN_TRY(CopyKeys(keys, kNumbers, config));
  CAIRN_TRY(AddLatent(keys, frame, config));
  CAIRN_TRY(AddCompression(keys, frame, config));
  CAIRN_TRY(AddIndexers(keys, frame, config));
  AddLinearLayers(keys, frame, config);
  return config;
}

Status AddRunKeys(const GgufKeys& keys, int64_t width, ConfigWriter& config) {
  CAIRN_TRY(CopyKeys(keys, kOfRunning, config));
  CAIRN_TRY(AddRopeScaling(keys, config));
  CAIRN_ASSIGN(const int64_t turning, keys.IntOr("rope.dimension_count", {1, kMaxContext}, width));
  if (width == 0) return {};
  config.Set("partial_rotary_factor", 1.0);
  if (turning == width) return {};
  if (turning > width) {
    return keys.Wrong("rope.dimension_count", turning,
                      fmt::format("at most the {} channels of a head", width));
  }
  // Of the part and the width the config's reader makes the whole number again.
  config.Set("partial_rotary_factor",
             (static_cast<double>(turning) + 0.5) / static_cast<double>(width));
  return {};
}

}  // namespace cairn
