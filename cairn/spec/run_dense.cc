#include "cairn/spec/run_dense.h"

#include <optional>
#include <string_view>
#include <variant>

#include "cairn/spec/limits.h"

namespace cairn {
namespace {

constexpr RunFacts kQwen = {};
constexpr RunFacts kPhi3 = {.partial_rotation = true, .norm_epsilon = 1e-5};
constexpr RunFacts kHunyuan = {.norm_epsilon = 1e-5};
constexpr RunFacts kGptOss = {.rope_base = 150000, .norm_epsilon = 1e-5};
constexpr RunFacts kLlama4 = {
    .rope_base = 500000, .pairs = RopePairs::kInterleaved, .norm_epsilon = 1e-5};

AttentionSpec& AttentionAt(ModelSpec& model, size_t layer) {
  return std::get<AttentionSpec>(model.layers[layer].mixer);
}

// 1 for a layer that rotates, in a list or by the interval of those that don't.
Result<std::vector<bool>> RotatingLayers(const HfConfig& config, size_t layers) {
  std::vector<bool> rotates(layers);
  if (config.ListSize("no_rope_layers").value_or(0) > 0) {
    CAIRN_ASSIGN(const auto flags, config.Ints("no_rope_layers", layers, {0, 1}));
    for (size_t i = 0; i < layers; ++i) rotates[i] = flags[i] == 1;
    return rotates;
  }
  CAIRN_ASSIGN(const int64_t interval,
               config.IntOr("no_rope_layer_interval", {1, static_cast<int64_t>(1) << 20}, 4));
  for (size_t i = 0; i < layers; ++i) rotates[i] = (static_cast<int64_t>(i) + 1) % interval != 0;
  return rotates;
}

}  // namespace

Status RunQwen2(const ConfigSource& source, ModelSpec& model) {
  return DescribeDecoder(source, kQwen, model);
}

Status RunQwen3(const ConfigSource& source, ModelSpec& model) {
  return DescribeDecoder(source, kQwen, model);
}

Status RunPhi3(const ConfigSource& source, ModelSpec& model) {
  return DescribeDecoder(source, kPhi3, model);
}

// Rotated queries and keys are normed, so the state holds normed keys.
Status RunHunyuanDense(const ConfigSource& source, ModelSpec& model) {
  CAIRN_ASSIGN(const bool shares, source.config.BoolOr("use_cla", false));
  if (shares) return source.config.Unsupported("use_cla", "false for this architecture");
  CAIRN_TRY(DescribeDecoder(source, kHunyuan, model));
  for (size_t i = 0; i < model.layers.size(); ++i) AttentionAt(model, i).norm_after_rotation = true;
  return {};
}

// Layers that share have projected keys in common: each norms the rotated ones with its own weight.
// One expert a token is weighed by its probability, several by their shares.
Status RunHunyuan(const ConfigSource& source, ModelSpec& model) {
  const HfConfig& config = source.config;
  CAIRN_TRY(DescribeDecoder(source, kHunyuan, model));
  for (const std::string_view key :
       {"moe_drop_tokens", "moe_random_routing_dropped_token", "group_limited_greedy", "use_mla",
        "position_embedding_xdrope", "mlp_bias"}) {
    CAIRN_ASSIGN(const bool used, config.BoolOr(key, false));
    if (used) return config.Unsupported(key, "false");
  }
  CAIRN_ASSIGN(const bool rotates, config.BoolOr("use_rotary_pos_emb", true));
  if (!rotates) return config.Unsupported("use_rotary_pos_emb", "true");
  CAIRN_ASSIGN(const int64_t dense, config.IntOr("moe_layer_num_skipped", {0, kMaxLayers}, 0));
  if (dense != 0) return config.Unsupported("moe_layer_num_skipped", "0");
  CAIRN_ASSIGN(const bool normalises, config.BoolOr("norm_topk_prob", true));
  for (LayerSpec& layer : model.layers) {
    auto* shared = std::get_if<SharedAttentionSpec>(&layer.mixer);
    AttentionSpec& attention =
        shared != nullptr ? shared->attention : std::get<AttentionSpec>(layer.mixer);
    attention.norm_after_rotation = true;
    attention.key_weight_on_queries = attention.query_key_norm;
    auto* mixture = std::get_if<MixtureSpec>(&layer.feed_forward);
    if (mixture == nullptr) continue;
    if (mixture->experts_per_token > 1 && !normalises) {
      return config.Unsupported("norm_topk_prob", "true");
    }
    mixture->router.normalise = mixture->experts_per_token > 1;
  }
  return {};
}

Status RunGptOss(const ConfigSource& source, ModelSpec& model) {
  CAIRN_TRY(DescribeDecoder(source, kGptOss, model));
  CAIRN_ASSIGN(const double limit, source.config.FloatOr("swiglu_limit", {1e-3, 1e6}, 7));
  CAIRN_ASSIGN(const double alpha, source.config.FloatOr("swiglu_alpha", {1e-3, 1e3}, 1.702));
  for (size_t i = 0; i < model.layers.size(); ++i) {
    AttentionAt(model, i).sinks = true;
    auto* mixture = std::get_if<MixtureSpec>(&model.layers[i].feed_forward);
    if (mixture == nullptr) continue;
    mixture->router = {.score = RouterSpec::Score::kPickedLogits, .bias = true};
    mixture->activation = Activation::kClippedSilu;
    mixture->clip = {.limit = limit, .alpha = alpha};
  }
  return {};
}

// Layers that rotate norm what they rotated, without a weight; the others tune the temperature.
Status RunLlama4(const ConfigSource& source, ModelSpec& model) {
  const HfConfig& config = source.config;
  CAIRN_TRY(DescribeDecoder(source, kLlama4, model));
  CAIRN_ASSIGN(const std::vector<bool> rotates, RotatingLayers(config, model.layers.size()));
  CAIRN_ASSIGN(const bool norms, config.BoolOr("use_qk_norm", true));
  CAIRN_ASSIGN(const bool tunes, config.BoolOr("attn_temperature_tuning", true));
  CAIRN_ASSIGN(const double floor, config.FloatOr("floor_scale", {1, 1e9}, 8192));
  CAIRN_ASSIGN(const double scale, config.FloatOr("attn_scale", {0, 1e3}, 0.1));
  for (size_t i = 0; i < model.layers.size(); ++i) {
    AttentionSpec& attention = AttentionAt(model, i);
    attention.norm_after_rotation = true;
    attention.unit_norm = norms && rotates[i];
    if (!rotates[i]) {
      attention.rope.reset();
      if (tunes) attention.temperature = {.scale = scale, .interval = floor, .offset = 1};
    }
    auto* mixture = std::get_if<MixtureSpec>(&model.layers[i].feed_forward);
    if (mixture == nullptr) continue;
    mixture->router = {.score = RouterSpec::Score::kSigmoid, .scales_input = true};
  }
  return {};
}

}  // namespace cairn
