#include "cairn/spec/run_latent.h"

#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "cairn/spec/limits.h"
#include "cairn/spec/rope_config.h"

namespace cairn {
namespace {

// What the families vary.
struct LatentFacts {
  RunFacts run = {};
  bool splits_pairs = true;
  bool partial_rotation = false;  // partial_rotary_factor says again how wide the rotated part is
  bool rotates = true;
  bool only_latent = true;  // no layer is of another kind
  std::string_view groups_key = "n_group";
  std::string_view normalise_key = "norm_topk_prob";
  RouterSpec::Score score = RouterSpec::Score::kSigmoid;
  bool choice_bias = true;
  int64_t groups = 1;
  int64_t groups_kept = 1;
  bool normalise = true;
  double scale = 1;
};

constexpr LatentFacts kV2 = {
    .splits_pairs = false, .score = RouterSpec::Score::kSoftmax, .choice_bias = false};
constexpr LatentFacts kV3 = {.groups = 8, .groups_kept = 4, .scale = 2.5};
constexpr LatentFacts kGlm4Lite = {.run = {.norm_epsilon = 1e-5}, .scale = 1.8};
constexpr LatentFacts kGlmDsa = {.run = {.norm_epsilon = 1e-5}, .scale = 2.5};
constexpr LatentFacts kMistral4 = {
    .partial_rotation = true, .score = RouterSpec::Score::kSoftmax, .choice_bias = false};

constexpr LatentFacts kMistralLarge4 = {
    .run = {.norm_epsilon = 1e-5}, .score = RouterSpec::Score::kSoftmax, .choice_bias = false};

constexpr LatentFacts kKimi = {.run = {.norm_epsilon = 1e-5, .activation_key = ""},
                               .rotates = false,
                               .only_latent = false,
                               .groups_key = "num_expert_group",
                               .normalise_key = "moe_renormalize",
                               .scale = 2.446};
constexpr LatentFacts kBailing = {.run = {.rope_base = 6000000},
                                  .only_latent = false,
                                  .groups_key = "num_expert_group",
                                  .normalise_key = "moe_renormalize",
                                  .groups = 8,
                                  .groups_kept = 4,
                                  .scale = 2.5};

constexpr LatentFacts kGlm5 = {
    .run = {.norm_epsilon = 1e-5}, .rotates = false, .only_latent = false, .scale = 2.5};

Result<std::optional<HfConfig>> RopeSection(const HfConfig& config) {
  CAIRN_ASSIGN(std::optional<HfConfig> section, config.Child("rope_parameters"));
  if (section) return section;
  return config.Child("rope_scaling");
}

// A stretched context sharpens the softmax as well: by the square of YaRN's growth of the logits.
Result<double> ScaleOf(const HfConfig& config, const LatentAttentionSpec& latent) {
  const double scale = 1 / std::sqrt(static_cast<double>(latent.key_width + latent.rope_width));
  CAIRN_ASSIGN(const std::optional<HfConfig> section, RopeSection(config));
  if (!section) return scale;
  const std::string_view type_key = section->Has("rope_type") ? "rope_type" : "type";
  CAIRN_ASSIGN(const std::string type, section->StringOr(type_key, "default"));
  CAIRN_ASSIGN(const double mscale, section->FloatOr("mscale_all_dim", {0, 100}, 0));
  CAIRN_ASSIGN(const double factor, section->FloatOr("factor", {1e-3, 1e6}, 1));
  if (type == "default" || mscale == 0 || factor <= 1) return scale;
  const double growth = 0.1 * mscale * std::log(factor) + 1;
  return scale * growth * growth;
}

Status DescribeLatent(const HfConfig& config, const LatentFacts& facts, TokenCount context_length,
                      LatentAttentionSpec& latent) {
  if (latent.key_width == 0) return config.Missing("qk_nope_head_dim");
  if (latent.value_width == 0) return config.Missing("v_head_dim");
  CAIRN_ASSIGN(latent.scale, ScaleOf(config, latent));
  latent.projection_bias = latent.output_bias;
  if (latent.rope_width == 0 || !facts.rotates) return {};
  const int64_t head_width = latent.key_width + latent.rope_width;
  CAIRN_ASSIGN(
      Rope rope,
      RopeFromConfig(config, {.width = facts.partial_rotation ? head_width : latent.rope_width,
                              .base = facts.run.rope_base,
                              .context_length = context_length,
                              .partial = facts.partial_rotation}));
  rope.width = latent.rope_width;
  CAIRN_ASSIGN(const bool interleaved, config.BoolOr("rope_interleave", true));
  rope.pairs = interleaved ? RopePairs::kInterleaved : RopePairs::kHalfSplit;
  latent.splits_pairs = interleaved && facts.splits_pairs;
  latent.rope = rope;
  return {};
}

Status DescribeRouter(const HfConfig& config, const LatentFacts& facts, MixtureSpec& mixture) {
  RouterSpec& router = mixture.router;
  router.score = facts.score;
  router.choice_bias = facts.choice_bias;
  router.group_score = RouterSpec::GroupScore::kTwoLargest;
  constexpr IntRange kGroups = {1, 1 << 16};
  CAIRN_ASSIGN(router.groups, config.IntOr(facts.groups_key, kGroups, facts.groups));
  CAIRN_ASSIGN(router.groups_kept, config.IntOr("topk_group", kGroups, facts.groups_kept));
  CAIRN_ASSIGN(router.normalise, config.BoolOr(facts.normalise_key, facts.normalise));
  CAIRN_ASSIGN(router.scale, config.FloatOr("routed_scaling_factor", {-1e6, 1e6}, facts.scale));
  if (mixture.experts % router.groups != 0) {
    return config.Wrong(facts.groups_key, fmt::format("a divisor of {} experts", mixture.experts));
  }
  if (router.groups_kept > router.groups) {
    return config.Wrong("topk_group",
                        fmt::format("at most {}, {}", facts.groups_key, router.groups));
  }
  const int64_t candidates = mixture.experts / router.groups * router.groups_kept;
  if (mixture.experts_per_token > candidates) {
    return config.Wrong("num_experts_per_tok",
                        fmt::format("at most the {} experts of the groups kept", candidates));
  }
  return {};
}

Status DescribeModel(const ConfigSource& source, const LatentFacts& facts, ModelSpec& model) {
  CAIRN_TRY(DescribeDecoder(source, facts.run, model));
  CAIRN_ASSIGN(const bool bias, source.config.BoolOr("mlp_bias", false));
  if (bias) return source.config.Unsupported("mlp_bias", "false");
  for (LayerSpec& layer : model.layers) {
    auto* latent = std::get_if<LatentAttentionSpec>(&layer.mixer);
    if (latent == nullptr && facts.only_latent) return source.config.Unsupported("use_mla", "true");
    if (latent != nullptr) {
      CAIRN_TRY(DescribeLatent(source.config, facts, model.context_length, *latent));
    }
    if (auto* mixture = std::get_if<MixtureSpec>(&layer.feed_forward)) {
      CAIRN_TRY(DescribeRouter(source.config, facts, *mixture));
    }
  }
  return {};
}

// Whole pools are picked, and the tokens that no pool holds yet are read besides.
Status CheckPool(const HfConfig& config, int64_t picks, int64_t pool) {
  if (picks % pool != 0) {
    return config.Wrong("index_topk", fmt::format("a multiple of index_kpool ({})", pool));
  }
  CAIRN_ASSIGN(const bool tail, config.BoolOr("index_kpool_always_select_tail", true));
  if (tail || pool == 1) return {};
  return config.Unsupported("index_kpool_always_select_tail", "true");
}

// Index keys turn their leading channels as far as the heads' keys do.
Status DescribeIndex(const HfConfig& config, RopePairs pairs, ModelSpec& model) {
  CAIRN_ASSIGN(int64_t picks, config.IntOr("index_topk", {1, kMaxContext}, 2048));
  bool indexed = false;
  for (LayerSpec& layer : model.layers) {
    if (!std::holds_alternative<LatentAttentionSpec>(layer.mixer)) continue;
    auto& latent = std::get<LatentAttentionSpec>(layer.mixer);
    if (!indexed && latent.index && latent.index->pool > 0) {
      CAIRN_TRY(CheckPool(config, picks, latent.index->pool));
      picks += latent.index->pool - 1;
    }
    latent.picks = picks;
    if (!latent.index) {
      if (indexed) continue;
      return config.Unsupported("indexer_types", "an index in the first layer");
    }
    indexed = true;
    if (latent.query_rank == 0 && !latent.index->reads_hidden) return config.Missing("q_lora_rank");
    if (latent.index->query_heads == 0) return config.Missing("index_n_heads");
    if (!latent.rope) continue;
    if (latent.rope_width > latent.index->width) {
      return config.Wrong("index_head_dim", fmt::format("at least {}", latent.rope_width));
    }
    latent.index->rope = latent.rope;
    latent.index->rope->pairs = pairs;
    latent.index->splits_pairs = pairs == RopePairs::kInterleaved;
  }
  return {};
}

}  // namespace

// norm_topk_prob is in the files, but has no effect.
Status RunDeepSeekV2(const ConfigSource& source, ModelSpec& model) {
  const HfConfig& config = source.config;
  CAIRN_TRY(DescribeModel(source, kV2, model));
  CAIRN_ASSIGN(const std::string method, config.StringOr("topk_method", "greedy"));
  if (method != "greedy" && method != "group_limited_greedy") {
    return config.Unsupported("topk_method", "greedy and group_limited_greedy");
  }
  for (LayerSpec& layer : model.layers) {
    auto* mixture = std::get_if<MixtureSpec>(&layer.feed_forward);
    if (mixture == nullptr) continue;
    mixture->router.group_score = RouterSpec::GroupScore::kLargest;
    mixture->router.normalise = false;
    if (method == "greedy") mixture->router.groups = mixture->router.groups_kept = 1;
  }
  return {};
}

Status RunDeepSeekV3(const ConfigSource& source, ModelSpec& model) {
  return DescribeModel(source, kV3, model);
}

Status RunGlm4MoeLite(const ConfigSource& source, ModelSpec& model) {
  return DescribeModel(source, kGlm4Lite, model);
}

Status RunDeepSeekV32(const ConfigSource& source, ModelSpec& model) {
  CAIRN_TRY(DescribeModel(source, kV3, model));
  return DescribeIndex(source.config, RopePairs::kHalfSplit, model);
}

Status RunGlmMoeDsa(const ConfigSource& source, ModelSpec& model) {
  CAIRN_TRY(DescribeModel(source, kGlmDsa, model));
  return DescribeIndex(source.config, RopePairs::kInterleaved, model);
}

// Queries grow with the logarithm of how often the original context has been passed.
Status RunMistral4(const ConfigSource& source, ModelSpec& model) {
  const HfConfig& config = source.config;
  CAIRN_ASSIGN(const std::optional<HfConfig> section, RopeSection(config));
  if (!section) return config.Missing("rope_parameters");
  CAIRN_TRY(DescribeModel(source, kMistral4, model));
  CAIRN_ASSIGN(const double beta, section->FloatOr("llama_4_scaling_beta", {-1e3, 1e3}, 0));
  CAIRN_ASSIGN(const int64_t original,
               section->IntOr("original_max_position_embeddings", {1, kMaxContext}, 8192));
  if (beta == 0) return {};
  for (LayerSpec& layer : model.layers) {
    std::get<LatentAttentionSpec>(layer.mixer).temperature = {
        .scale = beta, .interval = static_cast<double>(original)};
  }
  return {};
}

// A layer that doesn't turn has no rotated part: its width is part of the others. Frequencies are
// trained, and the scale of queries is, too.
Status RunMistralLarge4(const ConfigSource& source, ModelSpec& model) {
  const HfConfig& config = source.config;
  for (const std::string_view key : {"no_rope_layers", "rope_parameters"}) {
    if (!config.Has(key)) return config.Missing(key);
  }
  for (LayerSpec& layer : model.layers) {
    auto& latent = std::get<LatentAttentionSpec>(layer.mixer);
    latent.position_scaling = true;
    if (!latent.index) continue;
    latent.index->position_scaling = true;
    latent.index->reads_hidden = true;
  }
  CAIRN_TRY(DescribeModel(source, kMistralLarge4, model));
  CAIRN_TRY(DescribeIndex(config, RopePairs::kInterleaved, model));
  CAIRN_ASSIGN(model.logit_cap, config.FloatOr("final_logit_softcapping", {0, 1e6}, 30));
  for (LayerSpec& layer : model.layers) {
    auto& latent = std::get<LatentAttentionSpec>(layer.mixer);
    latent.rank_norm_epsilon = model.norm_epsilon;
    latent.trained_frequencies = latent.rope.has_value();
    if (latent.rope && RopeAmplitude(*latent.rope) != 1) {
      return config.Unsupported("rope_parameters", "an attention_factor of 1");
    }
    if (auto* mixture = std::get_if<MixtureSpec>(&layer.feed_forward)) {
      mixture->router.normalise = true;
    }
  }
  return {};
}

namespace {

// Other activations than SiLU are its smooth bound, SiTU, in all networks.
Status DescribeKimiNetworks(const HfConfig& config, ModelSpec& model) {
  CAIRN_ASSIGN(const std::string activation, config.StringOr("hidden_act", "silu"));
  if (activation == "silu" || activation == "swish") return {};
  if (activation != "situ") return config.Unsupported("hidden_act", "silu and situ");
  Clip clip;
  CAIRN_ASSIGN(clip.limit, config.FloatOr("activation_situ_beta", {1e-3, 1e6}, 1));
  CAIRN_ASSIGN(const auto up_limit,
               config.OptionalFloat("activation_situ_linear_beta", {0, 1e6}, 0));
  clip.up_limit = up_limit.value_or(0);
  for (LayerSpec& layer : model.layers) {
    if (auto* mlp = std::get_if<GatedMlpSpec>(&layer.feed_forward)) {
      mlp->activation = Activation::kSitu;
      mlp->clip = clip;
    }
    if (auto* mixture = std::get_if<MixtureSpec>(&layer.feed_forward)) {
      mixture->activation = mixture->shared_activation = Activation::kSitu;
      mixture->clip = clip;
    }
  }
  return {};
}

}  // namespace

Status DescribeKimiLatent(const ConfigSource& source, ModelSpec& model) {
  const HfConfig& config = source.config;
  CAIRN_ASSIGN(const bool unturned, config.BoolOr("mla_use_nope", true));
  if (!unturned) return config.Unsupported("mla_use_nope", "true");
  for (const auto& [key, known] :
       {std::pair("moe_router_activation_func", "sigmoid"), std::pair("topk_method", "noaux_tc")}) {
    CAIRN_ASSIGN(const std::string written, config.StringOr(key, known));
    if (written != known) return config.Unsupported(key, known);
  }
  CAIRN_TRY(DescribeModel(source, kKimi, model));
  CAIRN_TRY(DescribeKimiNetworks(config, model));
  CAIRN_ASSIGN(const bool gated, config.BoolOr("mla_use_output_gate", false));
  for (LayerSpec& layer : model.layers) {
    auto* latent = std::get_if<LatentAttentionSpec>(&layer.mixer);
    if (latent != nullptr && gated) latent->output_gate = OutputGate::kOwnChannels;
  }
  return {};
}

Status DescribeGlm5Latent(const ConfigSource& source, ModelSpec& model) {
  const HfConfig& config = source.config;
  if (!config.Has("index_head_dim")) return config.Missing("index_head_dim");
  CAIRN_ASSIGN(const int64_t turning, config.IntOr("qk_rope_head_dim", {0, kMaxHeadWidth}, 0));
  if (turning != 0) return config.Unsupported("qk_rope_head_dim", "0");
  CAIRN_TRY(DescribeModel(source, kGlm5, model));
  CAIRN_TRY(DescribeIndex(config, RopePairs::kHalfSplit, model));
  for (LayerSpec& layer : model.layers) {
    auto* latent = std::get_if<LatentAttentionSpec>(&layer.mixer);
    if (latent != nullptr) latent->rank_norm_epsilon = model.norm_epsilon;
  }
  return {};
}

Status DescribeBailingLatent(const ConfigSource& source, ModelSpec& model) {
  CAIRN_TRY(DescribeModel(source, kBailing, model));
  for (LayerSpec& layer : model.layers) {
    auto* latent = std::get_if<LatentAttentionSpec>(&layer.mixer);
    if (latent != nullptr) latent->output_gate = OutputGate::kHeads;
  }
  return {};
}

}  // namespace cairn
