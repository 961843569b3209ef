// Latent attention, with index keys or without.
#include <algorithm>
#include <array>
#include <string>

#include "cairn/spec/family_latent.h"
#include "cairn/spec/limits.h"
#include "cairn/spec/sized_families.h"

namespace cairn {
namespace {

constexpr FeedForwardTraits kUnbiased = {};
constexpr FeedForwardTraits kRouterBias = {.router_bias = {"", true}};

Result<ModelSpec> LatentModel(const ConfigSource& source, std::string_view family,
                              const FeedForwardTraits& traits, bool tied_head) {
  const HfConfig& config = source.config;
  CAIRN_ASSIGN(Dimensions frame, FrameFromConfig(config));
  CAIRN_ASSIGN(const LatentAttentionSpec latent, LatentFromConfig(config));
  CAIRN_ASSIGN(const auto index, IndexFromConfig(config));
  CAIRN_ASSIGN(const int64_t picks, PicksFromConfig(config));
  frame.heads = latent.heads;
  CAIRN_ASSIGN(ModelSpec model, SizedModel(source, family, frame, tied_head));
  std::string missing;
  CAIRN_ASSIGN(const auto networks, FeedForwardsFromConfig(config, frame, traits, missing));
  if (!missing.empty()) model.uncounted = missing + " is missing";
  std::vector<bool> indexed(networks.size(), false);
  if (index) {
    CAIRN_ASSIGN(indexed, IndexedLayers(config, networks.size()));
  }
  for (size_t i = 0; i < networks.size(); ++i) {
    LatentAttentionSpec attention = latent;
    if (indexed[i]) attention.index = index;
    if (index) attention.picks = picks;
    model.layers.push_back({.mixer = attention, .feed_forward = networks[i]});
  }
  return model;
}

constexpr DecoderTraits kPlain = {.family = "deepseek_v2"};

// use_mla false, or no latent rank: plain attention under the same type.
Result<ModelSpec> DeepSeekV2FromConfig(const ConfigSource& source) {
  CAIRN_ASSIGN(const bool latent, source.config.BoolOr("use_mla", true));
  if (!latent || source.config.IsNull("kv_lora_rank")) return DecoderFromConfig(source, kPlain);
  return LatentModel(source, "deepseek_v2", kUnbiased, false);
}

Result<ModelSpec> DeepSeekV3FromConfig(const ConfigSource& source) {
  return LatentModel(source, "deepseek_v3", kRouterBias, false);
}

Result<ModelSpec> GlmFromConfig(const ConfigSource& source) {
  return LatentModel(source, "glm_moe_dsa", kRouterBias, false);
}

Result<ModelSpec> MistralFromConfig(const ConfigSource& source) {
  return LatentModel(source, "mistral4", kUnbiased, false);
}

Result<ModelSpec> MiniCpm3FromConfig(const ConfigSource& source) {
  return LatentModel(source, "minicpm3", kUnbiased, true);
}

// Two attention blocks a layer, each with its own latent rows.
Result<ModelSpec> LongCatFromConfig(const ConfigSource& source) {
  CAIRN_ASSIGN(const Dimensions frame, FrameFromConfig(source.config));
  CAIRN_ASSIGN(const LatentAttentionSpec latent, LatentFromConfig(source.config));
  CAIRN_ASSIGN(ModelSpec model, SizedModel(source, "longcat_flash", frame, false));
  model.uncounted = "not all of its weights are described";
  model.layers.assign(static_cast<size_t>(2 * frame.layers),
                      {.mixer = latent, .feed_forward = NoFeedForward{}});
  return model;
}

constexpr auto kRows = std::to_array<SizedFamily>({
    {"deepseek_v2", DeepSeekV2FromConfig},
    {"deepseek_v3", DeepSeekV3FromConfig},
    {"deepseek_v32", DeepSeekV3FromConfig},
    {"kimi_k2", DeepSeekV3FromConfig},
    {"glm4_moe_lite", DeepSeekV3FromConfig},
    {"glm_moe_dsa", GlmFromConfig},
    {"minicpm3", MiniCpm3FromConfig},
    {"mistral4", MistralFromConfig},
    {"longcat_flash", LongCatFromConfig},
});

}  // namespace

std::span<const SizedFamily> LatentFamilies() { return kRows; }

}  // namespace cairn
