// Latent attention, with index keys or without.
#include <algorithm>
#include <array>
#include <string>

#include "cairn/spec/family_latent.h"
#include "cairn/spec/limits.h"
#include "cairn/spec/run_latent.h"
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
constexpr DecoderTraits kPlainV3 = {.family = "deepseek_v3",
                                    .feed_forward = {.router_bias = {"", true}}};

// use_mla false, or no latent rank: plain attention under the same type.
Result<ModelSpec> DeepSeekV2FromConfig(const ConfigSource& source) {
  CAIRN_ASSIGN(const bool latent, source.config.BoolOr("use_mla", true));
  if (!latent || source.config.IsNull("kv_lora_rank")) return DecoderFromConfig(source, kPlain);
  return LatentModel(source, "deepseek_v2", kUnbiased, false);
}

Result<ModelSpec> DeepSeekV3FromConfig(const ConfigSource& source) {
  CAIRN_ASSIGN(const bool latent, source.config.BoolOr("use_mla", true));
  if (!latent) return DecoderFromConfig(source, kPlainV3);
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

// A layer's two dense networks, the first of them beside the experts; some of those return what
// they are given and have no weights but in the router.
Status LongCatNetworks(const HfConfig& config, FeedForwardSpec& first, FeedForwardSpec& second,
                       std::string& missing) {
  CAIRN_ASSIGN(const int64_t dense, config.IntOr("ffn_hidden_size", {1, kMaxIntermediate}, 0));
  CAIRN_ASSIGN(const int64_t width,
               config.IntOr("expert_ffn_hidden_size", {1, kMaxIntermediate}, 0));
  CAIRN_ASSIGN(const int64_t experts, config.IntOr("n_routed_experts", {1, 1 << 16}, 0));
  CAIRN_ASSIGN(const int64_t idle, config.IntOr("zero_expert_num", {0, 1 << 16}, 0));
  CAIRN_ASSIGN(const int64_t hidden, config.IntOr("hidden_size", {1, kMaxHidden}, 0));
  CAIRN_ASSIGN(const int64_t used, config.IntOr("moe_topk", {1, 1 << 16}, 0));
  if (dense == 0) missing = "ffn_hidden_size";
  if (width == 0) missing = "expert_ffn_hidden_size";
  if (experts == 0) missing = "n_routed_experts";
  if (!missing.empty()) return {};
  constexpr int64_t kMaxExpertRows = int64_t{1} << 29;
  if (experts * width > kMaxExpertRows) {
    return config.Wrong("expert_ffn_hidden_size",
                        fmt::format("at most {} rows in all experts", kMaxExpertRows));
  }
  MixtureSpec mixture;
  mixture.experts = experts;
  mixture.experts_per_token = used;
  mixture.intermediate = width;
  mixture.shared_intermediate = dense;
  mixture.router_bias = true;
  mixture.other_parameters = idle * (hidden + 1);
  first = mixture;
  second = GatedMlpSpec{.intermediate = dense};
  return {};
}

// Two attention blocks a layer, each with its own latent rows.
Result<ModelSpec> LongCatFromConfig(const ConfigSource& source) {
  CAIRN_ASSIGN(Dimensions frame, FrameFromConfig(source.config));
  CAIRN_ASSIGN(const LatentAttentionSpec latent, LatentFromConfig(source.config));
  frame.heads = latent.heads;
  CAIRN_ASSIGN(ModelSpec model, SizedModel(source, "longcat_flash", frame, false));
  FeedForwardSpec networks[2] = {NoFeedForward{}, NoFeedForward{}};
  std::string missing;
  CAIRN_TRY(LongCatNetworks(source.config, networks[0], networks[1], missing));
  if (!missing.empty()) model.uncounted = missing + " is missing";
  for (int64_t i = 0; i < 2 * frame.layers; ++i) {
    model.layers.push_back({.mixer = latent, .feed_forward = networks[i % 2]});
  }
  return model;
}

constexpr auto kRows = std::to_array<SizedFamily>({
    {"deepseek_v2", Runs<DeepSeekV2FromConfig, RunDeepSeekV2>},
    {"deepseek_v3", Runs<DeepSeekV3FromConfig, RunDeepSeekV3>},
    {"deepseek_v32", Runs<DeepSeekV3FromConfig, RunDeepSeekV32>},
    {"kimi_k2", Runs<DeepSeekV3FromConfig, RunDeepSeekV3>},
    {"glm4_moe_lite", Runs<DeepSeekV3FromConfig, RunGlm4MoeLite>},
    {"glm_moe_dsa", Runs<GlmFromConfig, RunGlmMoeDsa>},
    {"minicpm3", MiniCpm3FromConfig},
    {"mistral4", Runs<MistralFromConfig, RunMistral4>},
    {"longcat_flash", LongCatFromConfig},
});

}  // namespace

std::span<const SizedFamily> LatentFamilies() { return kRows; }

}  // namespace cairn
