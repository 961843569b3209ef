#include "cairn/spec/family_gemma_run.h"

#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cairn/spec/config_dimensions.h"
#include "cairn/spec/config_layers.h"
#include "cairn/spec/limits.h"
#include "cairn/spec/rope_config.h"

namespace cairn {
namespace {

constexpr FloatRange kEpsilonRange = {1e-12, 1};
constexpr FloatRange kCapRange = {1e-3, 1e6};
constexpr FloatRange kBaseRange = {1, 1e15};
constexpr FloatRange kFactorRange = {1e-3, 1e6};
constexpr double kGlobalBase = 1000000;
constexpr double kLocalBase = 10000;
constexpr double kDefaultCap3n = 30;
constexpr int64_t kDefaultPeriod3n = 5;
constexpr int64_t kDefaultPeriod4 = 6;

AttentionSpec& AttentionOfLayer(LayerSpec& layer) {
  if (auto* shared = std::get_if<SharedAttentionSpec>(&layer.mixer)) return shared->attention;
  return std::get<AttentionSpec>(layer.mixer);
}

// Which layers slide as the file writes it, also where the window can't bind.
Result<std::vector<bool>> SlidingLayers(const HfConfig& config, const ModelSpec& model,
                                        int64_t period) {
  Dimensions dimensions;
  dimensions.layers = static_cast<int64_t>(model.layers.size());
  CAIRN_ASSIGN(const std::vector<Lifetime> lifetimes,
               LifetimesFromConfig(config, dimensions, WindowRule::kAlways, period));
  std::vector<bool> sliding;
  sliding.reserve(lifetimes.size());
  for (const Lifetime& lifetime : lifetimes) {
    sliding.push_back(lifetime.kind == Lifetime::Kind::kWindow);
  }
  return sliding;
}

Status CheckCausal(const HfConfig& config) {
  constexpr std::string_view kKey = "use_bidirectional_attention";
  if (!config.IsString(kKey)) {
    CAIRN_ASSIGN(const bool bidirectional, config.BoolOr(kKey, false));
    return bidirectional ? config.Unsupported(kKey, "false, or vision for images alone") : Status();
  }
  CAIRN_ASSIGN(const std::string which, config.String(kKey));
  if (which == "vision") return {};
  return config.Unsupported(kKey, "false, or vision for images alone");
}

// All but rotations.
Status DescribeSurroundings(const HfConfig& config, ModelSpec& model) {
  if (!model.uncounted.empty()) {
    return Fail(ErrorCode::kInvalidArgument, "{}: {}", config.where(), model.uncounted);
  }
  if (model.context_length == TokenCount(0)) return config.Missing("max_position_embeddings");
  CAIRN_TRY(CheckCausal(config));
  CAIRN_ASSIGN(model.norm_epsilon, config.FloatOr("rms_norm_eps", kEpsilonRange, 1e-6));
  model.embedding_scale = std::sqrt(static_cast<double>(model.hidden));
  CAIRN_ASSIGN(const bool bias, config.BoolOr("attention_bias", false));
  CAIRN_ASSIGN(const Activation activation,
               ActivationFromConfig(config, "hidden_activation", "gelu_pytorch_tanh"));
  for (LayerSpec& layer : model.layers) {
    AttentionSpec& attention = AttentionOfLayer(layer);
    attention.scale = 1;
    attention.value_norm = true;
    attention.qkv_bias = bias;
    attention.output_bias = bias;
    if (auto* mlp = std::get_if<GatedMlpSpec>(&layer.feed_forward)) {
      if (mlp->intermediate == 0) return config.Missing("intermediate_size");
      mlp->activation = activation;
    }
    if (auto* mixture = std::get_if<MixtureSpec>(&layer.feed_forward)) {
      if (mixture->shared_intermediate == 0) return config.Missing("intermediate_size");
      if (mixture->intermediate == 0) return config.Missing("moe_intermediate_size");
      if (mixture->experts_per_token == 0) return config.Missing("top_k_experts");
      mixture->activation = activation;
      mixture->shared_activation = activation;
      mixture->beside_network = true;
      mixture->router.normalise = true;
    }
  }
  return {};
}

Result<LayerInputsSpec> LayerInputs(const HfConfig& config, const ModelSpec& model) {
  LayerInputsSpec inputs;
  CAIRN_ASSIGN(inputs.width, config.IntOr("hidden_size_per_layer_input", {0, kMaxHidden}, 0));
  CAIRN_ASSIGN(inputs.vocabulary,
               config.IntOr("vocab_size_per_layer_input", {1, kMaxVocabulary}, model.vocabulary));
  CAIRN_ASSIGN(inputs.activation,
               ActivationFromConfig(config, "hidden_activation", "gelu_pytorch_tanh"));
  return inputs;
}

Result<Rope> RopeOfSection(const HfConfig& section, const RopeDefaults& defaults) {
  CAIRN_ASSIGN(const std::string type, section.StringOr("rope_type", "default"));
  if (type != "proportional") return RopeFromSection(section, defaults);
  Rope rope;
  rope.width = defaults.width;
  CAIRN_ASSIGN(rope.base, section.FloatOr("rope_theta", kBaseRange, defaults.base));
  CAIRN_ASSIGN(const double part, section.FloatOr("partial_rotary_factor", {0, 1}, 1));
  RopeProportional proportional;
  CAIRN_ASSIGN(proportional.factor, section.FloatOr("factor", kFactorRange, 1));
  const double turning = part * static_cast<double>(rope.width);
  proportional.turning_pairs = static_cast<int64_t>(std::floor(turning / 2));
  rope.scaling = proportional;
  return rope;
}

// rope_parameters {full_attention {..}, sliding_attention {..}}, or the older rope_theta beside
// rope_local_base_freq.
Status DescribeRopes(const HfConfig& config, const std::vector<bool>& sliding, ModelSpec& model) {
  CAIRN_ASSIGN(const auto parameters, config.Child("rope_parameters"));
  std::optional<HfConfig> full;
  std::optional<HfConfig> local;
  if (parameters) {
    CAIRN_ASSIGN(full, parameters->Child("full_attention"));
    CAIRN_ASSIGN(local, parameters->Child("sliding_attention"));
  } else {
    CAIRN_ASSIGN(full, config.Child("rope_scaling"));
  }
  CAIRN_ASSIGN(const double base, config.FloatOr("rope_theta", kBaseRange, kGlobalBase));
  CAIRN_ASSIGN(const double local_base,
               config.FloatOr("rope_local_base_freq", kBaseRange, kLocalBase));
  for (size_t i = 0; i < sliding.size(); ++i) {
    AttentionSpec& attention = AttentionOfLayer(model.layers[i]);
    const RopeDefaults defaults = {.width = attention.key_width,
                                   .base = sliding[i] ? local_base : base,
                                   .context_length = model.context_length};
    if (defaults.width % 2 != 0) return config.Wrong("head_dim", "an even number");
    const std::optional<HfConfig>& section = sliding[i] ? local : full;
    Rope rope;
    rope.width = defaults.width;
    rope.base = defaults.base;
    if (section) {
      CAIRN_ASSIGN(rope, RopeOfSection(*section, defaults));
    }
    attention.rope = rope;
  }
  return {};
}

Status DescribeSparsity(const HfConfig& config, ModelSpec& model) {
  constexpr size_t kSparseLayers = 10;
  constexpr double kDefault = 0.95;
  const size_t layers = model.layers.size();
  std::vector<double> pattern(layers, 0);
  if (layers > kSparseLayers) std::fill_n(pattern.begin(), kSparseLayers, kDefault);
  if (config.Has("activation_sparsity_pattern")) {
    CAIRN_ASSIGN(pattern, config.Floats("activation_sparsity_pattern", layers, {0, 0.999999}));
  }
  for (size_t i = 0; i < layers; ++i) {
    std::get<GatedMlpSpec>(model.layers[i].feed_forward).gate_sparsity = pattern[i];
  }
  return {};
}

// What a full layer's heads are like must be written, and nothing else may differ by layer.
Status CheckLayerConfigs(const HfConfig& config, const ModelSpec& model) {
  CAIRN_ASSIGN(const auto listed, config.Child("per_layer_config"));
  if (!listed) {
    return config.Has("global_head_dim") ? Status() : config.Missing("global_head_dim");
  }
  for (size_t i = 0; i < model.layers.size(); ++i) {
    CAIRN_ASSIGN(const auto own, listed->Child(std::to_string(i)));
    if (!own) continue;
    const size_t known = (own->Has("head_dim") ? 1 : 0) + (own->Has("num_key_value_heads") ? 1 : 0);
    if (own->KeyCount() != known) {
      return config.Unsupported("per_layer_config", "head_dim and num_key_value_heads of layers");
    }
  }
  return {};
}

// A layer that reads another's rows must read what is there.
Status CheckShared(const HfConfig& config, ModelSpec& model) {
  for (LayerSpec& layer : model.layers) {
    const auto* shared = std::get_if<SharedAttentionSpec>(&layer.mixer);
    if (shared == nullptr) continue;
    const auto& source =
        std::get<AttentionSpec>(model.layers[static_cast<size_t>(shared->source.value())].mixer);
    if (source.kv_heads != shared->attention.kv_heads ||
        source.key_width != shared->attention.key_width) {
      return config.Unsupported("num_kv_shared_layers",
                                "layers with heads like those of the layer that they read");
    }
  }
  return {};
}

}  // namespace

Status DescribeGemma3nRun(const ConfigSource& source, ModelSpec& model) {
  const HfConfig& config = source.config;
  CAIRN_TRY(DescribeSurroundings(config, model));
  CAIRN_ASSIGN(const auto cap,
               config.OptionalFloat("final_logit_softcapping", kCapRange, kDefaultCap3n));
  model.logit_cap = cap.value_or(0);
  AltUpSpec altup;
  CAIRN_ASSIGN(altup.streams, config.IntOr("altup_num_inputs", {1, 64}, 4));
  CAIRN_ASSIGN(altup.active, config.IntOr("altup_active_idx", {0, altup.streams - 1}, 0));
  CAIRN_ASSIGN(altup.low_rank, config.IntOr("laurel_rank", {1, kMaxHidden}, 64));
  CAIRN_ASSIGN(altup.scales_active, config.BoolOr("altup_correct_scale", true));
  CAIRN_ASSIGN(altup.inputs, LayerInputs(config, model));
  if (altup.inputs.width == 0) {
    return config.Wrong("hidden_size_per_layer_input", "a number above 0");
  }
  model.residual = altup;
  CAIRN_ASSIGN(const auto sliding, SlidingLayers(config, model, kDefaultPeriod3n));
  CAIRN_TRY(DescribeRopes(config, sliding, model));
  CAIRN_TRY(DescribeSparsity(config, model));
  model.sizing_only.clear();
  return {};
}

Status DescribeGemma4Run(const ConfigSource& source, ModelSpec& model) {
  const HfConfig& config = source.config;
  CAIRN_TRY(DescribeSurroundings(config, model));
  CAIRN_ASSIGN(const auto cap,
               config.OptionalFloat("final_logit_softcapping", kCapRange, std::nullopt));
  model.logit_cap = cap.value_or(0);
  CAIRN_ASSIGN(const LayerInputsSpec inputs, LayerInputs(config, model));
  model.residual = PerLayerInputsSpec{inputs};
  CAIRN_TRY(CheckLayerConfigs(config, model));
  CAIRN_TRY(CheckShared(config, model));
  CAIRN_ASSIGN(const auto sliding, SlidingLayers(config, model, kDefaultPeriod4));
  if (sliding.back()) return config.Unsupported("layer_types", "full_attention in the last layer");
  CAIRN_TRY(DescribeRopes(config, sliding, model));
  model.sizing_only.clear();
  return {};
}

}  // namespace cairn
