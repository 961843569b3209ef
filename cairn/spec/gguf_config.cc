#include "cairn/spec/gguf_config.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "cairn/spec/limits.h"

namespace cairn {
namespace {

using Json = nlohmann::json;

struct Renamed {
  std::string_view gguf;
  const char* config;
};
constexpr auto kNumbers = std::to_array<Renamed>({
    {"attention.q_lora_rank", "q_lora_rank"},
    {"attention.kv_lora_rank", "kv_lora_rank"},
    {"attention.sliding_window", "sliding_window"},
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

Status AddLatent(const GgufKeys& keys, const GgufFrame& frame, Json& config) {
  CAIRN_ASSIGN(const auto latent, LatentFromGguf(keys, frame));
  if (!latent) return {};
  config["qk_rope_head_dim"] = latent->rope_width;
  config["qk_nope_head_dim"] = latent->key_width;
  config["v_head_dim"] = latent->value_width;
  return {};
}

// One ratio for each layer; further ones are the prediction layers'.
Status AddCompression(const GgufKeys& keys, const GgufFrame& frame, Json& config) {
  constexpr std::string_view kRatios = "attention.compress_ratios";
  if (!keys.Has(kRatios)) return {};
  CAIRN_ASSIGN(auto ratios, keys.metadata().Ints(keys.Key(kRatios)));
  const auto layers = static_cast<size_t>(frame.blocks.layers);
  if (ratios.size() < layers) {
    return keys.Wrong(kRatios, static_cast<int64_t>(ratios.size()),
                      fmt::format("at least {} ratios, one per layer", layers));
  }
  ratios.resize(layers);
  config["compress_ratios"] = ratios;
  return {};
}

// The layers that own an index.
Status AddIndexers(const GgufKeys& keys, const GgufFrame& frame, Json& config) {
  constexpr std::string_view kTypes = "attention.indexer.types";
  if (!keys.Has(kTypes)) return {};
  CAIRN_ASSIGN(const auto flags, keys.PerLayer(kTypes, frame.blocks, {0, 1}));
  std::vector<std::string> types;
  for (const int64_t flag : flags) types.emplace_back(flag == 0 ? "shared" : "full");
  config["indexer_types"] = types;
  return {};
}

// Layers without KV heads are KDA's; the others have index keys where the file has any.
void AddLinearLayers(const GgufKeys& keys, const GgufFrame& frame, Json& config) {
  if (!keys.Has("kda.head_dim")) return;
  std::vector<std::string> types;
  for (const int64_t heads : frame.kv_heads) {
    types.emplace_back(heads == 0 ? "linear_attention" : "indexed_attention");
  }
  config["layer_types"] = types;
  config["linear_num_heads"] = *std::ranges::max_element(frame.heads);
}

}  // namespace

Result<std::string> ConfigFromGguf(const GgufKeys& keys, const GgufFrame& frame,
                                   std::string_view model_type) {
  Json config = {{"model_type", model_type},
                 {"num_hidden_layers", frame.blocks.layers},
                 {"hidden_size", frame.hidden}};
  CAIRN_ASSIGN(const auto vocabulary, GgufVocabulary(keys));
  if (vocabulary) config["vocab_size"] = *vocabulary;
  if (frame.context_length > TokenCount(0)) {
    config["max_position_embeddings"] = frame.context_length.value();
  }
  config["num_attention_heads"] = *std::ranges::max_element(frame.heads);
  config["num_key_value_heads"] = std::max<int64_t>(1, *std::ranges::max_element(frame.kv_heads));
  if (frame.key_width > 0) config["head_dim"] = frame.key_width;
  const int64_t intermediate = *std::ranges::max_element(frame.intermediate);
  if (intermediate > 0) config["intermediate_size"] = intermediate;
  for (const Renamed& number : kNumbers) {
    if (!keys.Has(number.gguf)) continue;
    CAIRN_ASSIGN(const int64_t value, keys.Int(number.gguf, {0, kMaxContext}));
    config[number.config] = value;
  }
  CAIRN_TRY(AddLatent(keys, frame, config));
  CAIRN_TRY(AddCompression(keys, frame, config));
  CAIRN_TRY(AddIndexers(keys, frame, config));
  AddLinearLayers(keys, frame, config);
  return config.dump();
}

}  // namespace cairn
