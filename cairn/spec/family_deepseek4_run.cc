#include "cairn/spec/family_deepseek4_run.h"

#include <optional>
#include <string>
#include <string_view>

#include "cairn/spec/family_latent.h"
#include "cairn/spec/limits.h"
#include "cairn/spec/rope_config.h"

namespace cairn {
namespace {

constexpr FloatRange kEpsilonRange = {1e-12, 1};
constexpr FloatRange kBaseRange = {1, 1e15};
constexpr FloatRange kScaleRange = {0, 1e6};
constexpr FloatRange kLimitRange = {1e-3, 1e6};

// Layers without entries turn as `main` says, those with entries, and the entries, as `compress`.
struct Ropes {
  Rope main;
  Rope compress;
};

Result<Rope> Interleaved(Result<Rope> rope) {
  if (rope) rope->pairs = RopePairs::kInterleaved;
  return rope;
}

// rope_parameters {main {..}, compress {..}}, or the older rope_theta and compress_rope_theta,
// whose rope_scaling is of compress alone and leaves amplitudes as they are.
Result<Ropes> ReadRopes(const HfConfig& config, const ModelSpec& model, int64_t width) {
  Ropes ropes;
  RopeDefaults defaults = {.width = width, .context_length = model.context_length, .partial = true};
  CAIRN_ASSIGN(const auto parameters, config.Child("rope_parameters"));
  if (parameters && parameters->Has("main") && parameters->Has("compress")) {
    CAIRN_ASSIGN(const auto main, parameters->Child("main"));
    CAIRN_ASSIGN(const auto compress, parameters->Child("compress"));
    CAIRN_ASSIGN(ropes.main, Interleaved(RopeFromSection(*main, defaults)));
    CAIRN_ASSIGN(ropes.compress, Interleaved(RopeFromSection(*compress, defaults)));
    return ropes;
  }
  CAIRN_ASSIGN(const int64_t turning, config.IntOr("qk_rope_head_dim", {2, width}, width / 8));
  if (turning % 2 != 0) return config.Wrong("qk_rope_head_dim", "an even number");
  ropes.main.pairs = RopePairs::kInterleaved;
  ropes.main.width = turning;
  ropes.compress = ropes.main;
  CAIRN_ASSIGN(ropes.main.base, config.FloatOr("rope_theta", kBaseRange, 10000));
  CAIRN_ASSIGN(ropes.compress.base, config.FloatOr("compress_rope_theta", kBaseRange, 160000));
  CAIRN_ASSIGN(const auto scaling, config.Child("rope_scaling"));
  const std::optional<HfConfig>& section = scaling ? scaling : parameters;
  if (!section) return ropes;
  defaults.width = turning;
  CAIRN_ASSIGN(Rope scaled, RopeFromSection(*section, defaults));
  ropes.compress.scaling = scaled.scaling;
  if (auto* yarn = std::get_if<RopeYarn>(&ropes.compress.scaling)) {
    CAIRN_ASSIGN(yarn->attention_factor, section->FloatOr("attention_factor", kLimitRange, 1));
  }
  return ropes;
}

Status DescribeAttention(const HfConfig& config, const Ropes& ropes, LayerSpec& layer) {
  auto& attention = std::get<CompressedAttentionSpec>(layer.mixer);
  attention.rope = attention.ratio == 0 ? ropes.main : ropes.compress;
  if (attention.heads == 0) return config.Missing("num_attention_heads");
  if (!attention.index) return {};
  if (attention.index->query_heads == 0) return config.Missing("index_n_heads");
  if (attention.picks == 0) return config.Missing("index_topk");
  if (attention.index->width < attention.rope->width) {
    return config.Wrong("index_head_dim",
                        fmt::format("at least the {} channels that turn", attention.rope->width));
  }
  return {};
}

Status CheckNetworks(const HfConfig& config) {
  CAIRN_ASSIGN(const Activation activation, ActivationFromConfig(config, "hidden_act", "silu"));
  if (activation != Activation::kSilu) return config.Unsupported("hidden_act", "silu");
  CAIRN_ASSIGN(const std::string score, config.StringOr("scoring_func", "sqrtsoftplus"));
  if (score != "sqrtsoftplus") return config.Unsupported("scoring_func", "sqrtsoftplus");
  CAIRN_ASSIGN(const bool bias, config.BoolOr("mlp_bias", false));
  if (bias) return config.Unsupported("mlp_bias", "false");
  CAIRN_ASSIGN(const int64_t shared, config.IntOr("n_shared_experts", {0, 1024}, 1));
  if (shared != 1) return config.Unsupported("n_shared_experts", "1");
  if (config.Has("mlp_layer_types") || config.Has("num_hash_layers")) return {};
  return config.Missing("num_hash_layers");
}

// A layer whose router has no bias picks its experts by a table of token ids.
Status DescribeNetwork(const HfConfig& config, const ModelSpec& model, LayerSpec& layer) {
  auto* mixture = std::get_if<MixtureSpec>(&layer.feed_forward);
  if (mixture == nullptr) return config.Missing("n_routed_experts");
  if (mixture->experts_per_token == 0) return config.Missing("num_experts_per_tok");
  if (mixture->intermediate == 0) return config.Missing("moe_intermediate_size");
  mixture->activation = Activation::kClippedSilu;
  mixture->shared_activation = Activation::kClippedSilu;
  mixture->clip = {.limit = 10, .alpha = 1, .up_offset = 0};
  CAIRN_ASSIGN(mixture->clip.limit, config.FloatOr("swiglu_limit", kLimitRange, 10));
  RouterSpec& router = mixture->router;
  router.score = RouterSpec::Score::kSqrtSoftplus;
  router.normalise = true;
  CAIRN_ASSIGN(router.scale, config.FloatOr("routed_scaling_factor", kScaleRange, 1.5));
  router.choice_bias = mixture->router_bias;
  router.token_table = mixture->router_bias ? 0 : model.vocabulary;
  return {};
}

}  // namespace

Status DescribeDeepSeekV4Run(const ConfigSource& source, ModelSpec& model) {
  const HfConfig& config = source.config;
  if (!model.uncounted.empty()) {
    return Fail(ErrorCode::kInvalidArgument, "{}: {}", config.where(), model.uncounted);
  }
  if (model.context_length == TokenCount(0)) return config.Missing("max_position_embeddings");
  CAIRN_ASSIGN(model.norm_epsilon, config.FloatOr("rms_norm_eps", kEpsilonRange, 1e-6));
  CAIRN_ASSIGN(model.residual, HyperConnectionsFromConfig(config));
  CAIRN_TRY(CheckNetworks(config));
  const auto& first = std::get<CompressedAttentionSpec>(model.layers.front().mixer);
  CAIRN_ASSIGN(const Ropes ropes, ReadRopes(config, model, first.width));
  for (LayerSpec& layer : model.layers) {
    CAIRN_TRY(DescribeAttention(config, ropes, layer));
    CAIRN_TRY(DescribeNetwork(config, model, layer));
  }
  model.sizing_only.clear();
  return {};
}

}  // namespace cairn
