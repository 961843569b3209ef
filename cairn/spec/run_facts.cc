#include "cairn/spec/run_facts.h"

#include <cmath>
#include <utility>
#include <variant>

#include "cairn/spec/rope_config.h"

namespace cairn {
namespace {

constexpr FloatRange kEpsilonRange = {1e-12, 1};

// Sizes do without these numbers, matrices don't.
Status CheckDimensions(const HfConfig& config, const RunFacts& facts, const ModelSpec& model) {
  if (model.vocabulary == 0) return config.Missing("vocab_size");
  if (model.hidden == 0) return config.Missing("hidden_size");
  if (facts.bounded && model.context_length == TokenCount(0)) {
    return config.Missing("max_position_embeddings");
  }
  return {};
}

// Adds to each kind of layer part what most families compute alike.
class Describer {
 public:
  Describer(const ConfigSource& source, const RunFacts& facts, const ModelSpec& model)
      : config_(source.config), facts_(facts), context_(model.context_length) {}

  Status Read() {
    if (!facts_.activation_key.empty()) {
      CAIRN_ASSIGN(activation_,
                   ActivationFromConfig(config_, facts_.activation_key, facts_.activation));
    }
    CAIRN_ASSIGN(normalises_, config_.BoolOr("norm_topk_prob", false));
    return {};
  }

  Status operator()(AttentionSpec& attention) const {
    if (attention.heads == 0) return config_.Missing("num_attention_heads");
    attention.scale = 1 / std::sqrt(static_cast<double>(attention.key_width));
    if (!facts_.rotates) return {};
    CAIRN_ASSIGN(Rope rope, RopeFromConfig(config_, {.width = attention.key_width,
                                                     .base = facts_.rope_base,
                                                     .context_length = context_,
                                                     .partial = facts_.partial_rotation,
                                                     .part = facts_.rotated_part}));
    rope.pairs = facts_.pairs;
    attention.rope = rope;
    return {};
  }
  Status operator()(SharedAttentionSpec& shared) const { return (*this)(shared.attention); }
  Status operator()(GatedMlpSpec& mlp) const {
    mlp.activation = activation_;
    return mlp.intermediate == 0 ? config_.Missing("intermediate_size") : Status();
  }
  Status operator()(MlpSpec& mlp) const {
    mlp.activation = activation_;
    return mlp.intermediate == 0 ? config_.Missing("intermediate_size") : Status();
  }
  Status operator()(MixtureSpec& mixture) const {
    mixture.activation = activation_;
    mixture.shared_activation = activation_;
    mixture.router.normalise = normalises_;
    if (mixture.experts_per_token == 0) return config_.Missing("num_experts_per_tok");
    return mixture.intermediate == 0 ? config_.Missing("moe_intermediate_size") : Status();
  }
  // Others are their family's to describe.
  template <class Other>
  Status operator()(Other& /*other*/) const {
    return {};
  }

 private:
  const HfConfig& config_;
  const RunFacts& facts_;
  const TokenCount context_;
  Activation activation_ = Activation::kSilu;
  bool normalises_ = false;
};

}  // namespace

Status DescribeDecoder(const ConfigSource& source, const RunFacts& facts, ModelSpec& model) {
  CAIRN_TRY(CheckDimensions(source.config, facts, model));
  CAIRN_ASSIGN(model.norm_epsilon,
               source.config.FloatOr(facts.norm_key, kEpsilonRange, facts.norm_epsilon));
  Describer describer(source, facts, model);
  CAIRN_TRY(describer.Read());
  for (LayerSpec& layer : model.layers) {
    CAIRN_TRY(std::visit(describer, layer.mixer));
    CAIRN_TRY(std::visit(describer, layer.feed_forward));
  }
  model.sizing_only.clear();
  return {};
}

Result<ModelSpec> WithRun(const ConfigSource& source, Result<ModelSpec> sized,
                          DescribeRun describe) {
  if (!sized) return sized;
  ModelSpec model = *sized;
  const Status described = describe(source, model);
  if (described) return model;
  sized->sizing_only = described.error().message;
  return sized;
}

}  // namespace cairn
