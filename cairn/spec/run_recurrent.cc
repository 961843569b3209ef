#include "cairn/spec/run_recurrent.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <variant>
#include <vector>

#include "cairn/spec/rope_config.h"

namespace cairn {
namespace {

constexpr FloatRange kFactorRange = {-1e6, 1e6};

constexpr RunFacts kLfm2 = {.rope_base = 1e6, .norm_epsilon = 1e-5, .norm_key = "norm_eps"};
constexpr RunFacts kMamba = {
    .norm_epsilon = 1e-5, .norm_key = "layer_norm_epsilon", .bounded = false};
constexpr RunFacts kJamba = {.rotates = false};
constexpr RunFacts kNemotron = {.rotates = false,
                                .norm_epsilon = 1e-5,
                                .norm_key = "layer_norm_epsilon",
                                .activation_key = "mlp_hidden_act",
                                .activation = "relu2"};
constexpr RunFacts kFalcon = {.norm_epsilon = 1e-5};

Status RequireSilu(const HfConfig& config, std::string_view key) {
  CAIRN_ASSIGN(const Activation activation, ActivationFromConfig(config, key, "silu"));
  return activation == Activation::kSilu ? Status() : config.Unsupported(key, "silu");
}

// Bounds of the step width, for all Mamba 2 layers.
void SetSteps(std::array<double, 2> bounds, MambaSpec& mamba) {
  mamba.step_low = bounds[0];
  mamba.step_high = bounds[1];
}

}  // namespace

Status RunLfm2(const ConfigSource& source, ModelSpec& model) {
  for (const LayerSpec& layer : model.layers) {
    if (std::holds_alternative<GatedMlpSpec>(layer.feed_forward)) continue;
    return Fail(ErrorCode::kUnsupported, "experts of lfm2_moe");
  }
  return DescribeDecoder(source, kLfm2, model);
}

Status RunMamba(const ConfigSource& source, ModelSpec& model) {
  CAIRN_TRY(RequireSilu(source.config, "hidden_act"));
  return DescribeDecoder(source, kMamba, model);
}

Status RunMamba2(const ConfigSource& source, ModelSpec& model) {
  const HfConfig& config = source.config;
  CAIRN_TRY(RequireSilu(config, "hidden_act"));
  CAIRN_TRY(DescribeDecoder(source, kMamba, model));
  CAIRN_ASSIGN(const bool bias, config.BoolOr("use_bias", false));
  CAIRN_ASSIGN(const auto bounds, config.Bounds("time_step_limit", {0, 1e9}, {0, HUGE_VAL}));
  for (LayerSpec& layer : model.layers) {
    auto& mamba = std::get<MambaSpec>(layer.mixer);
    mamba.input_bias = mamba.output_bias = bias;
    SetSteps(bounds, mamba);
  }
  return {};
}

Status RunJamba(const ConfigSource& source, ModelSpec& model) {
  CAIRN_TRY(DescribeDecoder(source, kJamba, model));
  CAIRN_TRY(RequireSilu(source.config, "hidden_act"));
  for (LayerSpec& layer : model.layers) {
    auto* mixture = std::get_if<MixtureSpec>(&layer.feed_forward);
    if (mixture != nullptr) mixture->router = {};  // softmax over all, as it is
  }
  return {};
}

// Each block is a mixer or a network. The router is DeepSeek V3's.
Status RunNemotronH(const ConfigSource& source, ModelSpec& model) {
  const HfConfig& config = source.config;
  CAIRN_TRY(DescribeDecoder(source, kNemotron, model));
  CAIRN_TRY(RequireSilu(config, "mamba_hidden_act"));
  CAIRN_ASSIGN(const bool bias, config.BoolOr("use_bias", false));
  CAIRN_ASSIGN(const bool mlp_bias, config.BoolOr("mlp_bias", false));
  CAIRN_ASSIGN(const double low, config.FloatOr("time_step_min", {0, 1e9}, 0.001));
  RouterSpec router = {.score = RouterSpec::Score::kSigmoid,
                       .choice_bias = true,
                       .group_score = RouterSpec::GroupScore::kTwoLargest};
  CAIRN_ASSIGN(router.groups, config.IntOr("n_group", {1, 1 << 16}, 1));
  CAIRN_ASSIGN(router.groups_kept, config.IntOr("topk_group", {1, router.groups}, 1));
  CAIRN_ASSIGN(router.normalise, config.BoolOr("norm_topk_prob", true));
  CAIRN_ASSIGN(router.scale, config.FloatOr("routed_scaling_factor", kFactorRange, 1));
  for (LayerSpec& layer : model.layers) {
    if (auto* mamba = std::get_if<MambaSpec>(&layer.mixer)) {
      mamba->input_bias = mamba->output_bias = bias;
      mamba->step_low = low;
    }
    if (auto* mlp = std::get_if<MlpSpec>(&layer.feed_forward)) mlp->bias = mlp_bias;
    auto* mixture = std::get_if<MixtureSpec>(&layer.feed_forward);
    if (mixture == nullptr) continue;
    if (mlp_bias) return config.Unsupported("mlp_bias", "false beside experts");
    if (mixture->experts % router.groups != 0) {
      return config.Wrong("n_group", fmt::format("a divisor of {} experts", mixture->experts));
    }
    mixture->router = router;
  }
  return {};
}

namespace {

Status DescribeFalconMamba(const HfConfig& config, MambaSpec& mamba) {
  CAIRN_ASSIGN(mamba.input_bias, config.BoolOr("mamba_proj_bias", false));
  CAIRN_ASSIGN(mamba.output_bias, config.BoolOr("projectors_bias", false));
  CAIRN_ASSIGN(mamba.gated_norm, config.BoolOr("mamba_rms_norm", false));
  CAIRN_ASSIGN(mamba.gates_after_norm, config.BoolOr("mamba_norm_before_gate", true));
  CAIRN_ASSIGN(mamba.input_factor, config.FloatOr("ssm_in_multiplier", kFactorRange, 1));
  CAIRN_ASSIGN(const auto bounds, config.Bounds("time_step_limit", {0, 1e9}, {0, HUGE_VAL}));
  SetSteps(bounds, mamba);
  if (!config.Has("ssm_multipliers")) return {};
  CAIRN_ASSIGN(const auto factors,
               config.Floats("ssm_multipliers", mamba.part_factors.size(), kFactorRange));
  std::ranges::copy(factors, mamba.part_factors.begin());
  return {};
}

Status DescribeFalconLayers(const HfConfig& config, ModelSpec& model) {
  AttentionBesideMambaSpec read;
  CAIRN_ASSIGN(const double key, config.FloatOr("key_multiplier", kFactorRange, 1));
  CAIRN_ASSIGN(read.attention_input_factor,
               config.FloatOr("attention_in_multiplier", kFactorRange, 1));
  CAIRN_ASSIGN(read.attention_output_factor,
               config.FloatOr("attention_out_multiplier", kFactorRange, 1));
  CAIRN_ASSIGN(read.mamba_output_factor, config.FloatOr("ssm_out_multiplier", kFactorRange, 1));
  std::vector<double> network = {1, 1};
  if (config.Has("mlp_multipliers")) {
    CAIRN_ASSIGN(network, config.Floats("mlp_multipliers", 2, kFactorRange));
  }
  for (LayerSpec& layer : model.layers) {
    auto* both = std::get_if<AttentionBesideMambaSpec>(&layer.mixer);
    auto* mlp = std::get_if<GatedMlpSpec>(&layer.feed_forward);
    if (both == nullptr || mlp == nullptr) {
      return config.Unsupported("attn_layer_indices", "attention in all layers");
    }
    CAIRN_TRY(DescribeFalconMamba(config, both->mamba));
    both->attention.key_factor = key;
    both->attention_input_factor = read.attention_input_factor;
    both->attention_output_factor = read.attention_output_factor;
    both->mamba_output_factor = read.mamba_output_factor;
    mlp->gate_factor = network[0];
    mlp->output_factor = network[1];
  }
  return {};
}

// Attention is inside of a layer that has Mamba besides.
Status DescribeAttentionBeside(const HfConfig& config, ModelSpec& model) {
  for (LayerSpec& layer : model.layers) {
    auto* both = std::get_if<AttentionBesideMambaSpec>(&layer.mixer);
    if (both == nullptr) continue;
    AttentionSpec& attention = both->attention;
    attention.scale = 1 / std::sqrt(static_cast<double>(attention.key_width));
    CAIRN_ASSIGN(attention.rope, RopeFromConfig(config, {.width = attention.key_width,
                                                         .base = kFalcon.rope_base,
                                                         .context_length = model.context_length}));
  }
  return {};
}

}  // namespace

Status RunFalconH1(const ConfigSource& source, ModelSpec& model) {
  const HfConfig& config = source.config;
  CAIRN_TRY(DescribeDecoder(source, kFalcon, model));
  CAIRN_TRY(RequireSilu(config, "hidden_act"));
  CAIRN_TRY(DescribeAttentionBeside(config, model));
  CAIRN_TRY(DescribeFalconLayers(config, model));
  CAIRN_ASSIGN(model.embedding_scale, config.FloatOr("embedding_multiplier", kFactorRange, 1));
  CAIRN_ASSIGN(model.logit_factor, config.FloatOr("lm_head_multiplier", kFactorRange, 1));
  return {};
}

// After every few layers the residual is halved, and what later layers add is halved with it: that
// keeps it small, and shows where norms add their epsilon.
Status RunRwkv(const ConfigSource& source, ModelSpec& model) {
  const HfConfig& config = source.config;
  CAIRN_TRY(DescribeDecoder(source, kMamba, model));
  CAIRN_ASSIGN(const int64_t width,
               config.IntOr("attention_hidden_size", {1, int64_t{1} << 40}, model.hidden));
  if (width != model.hidden) return config.Unsupported("attention_hidden_size", "hidden_size");
  CAIRN_ASSIGN(const int64_t period, config.IntOr("rescale_every", {-1, 1 << 20}, 6));
  model.norm = NormKind::kLayer;
  model.embedding_norm = true;
  model.final_norm_epsilon = 1e-5;
  double scale = 1;
  for (size_t i = 0; i < model.layers.size(); ++i) {
    LayerSpec& layer = model.layers[i];
    layer.mixer_scale = layer.feed_forward_scale = {.keep = 1, .add = scale};
    if (period <= 0 || (static_cast<int64_t>(i) + 1) % period != 0) continue;
    scale /= 2;
    layer.feed_forward_scale = {.keep = 0.5, .add = scale};
  }
  return {};
}

}  // namespace cairn
