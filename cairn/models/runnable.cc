#include "cairn/models/runnable.h"

#include <string>
#include <variant>

namespace cairn {
namespace {

// What no part computes; empty: nothing. The rows of parts.cc have their counterpart here.
struct MissingMixer {
  std::string operator()(const AttentionSpec& attention) const {
    if (attention.index && attention.index->block == 0) return KindOf(attention);
    if (attention.conv_kernel != 0 ||
        (attention.conv_history != 0 && attention.conv_head_kernel == 0)) {
      return "attention behind a convolution";
    }
    if (attention.output_gate == OutputGate::kHeads) return "attention with a gate for each head";
    return "";
  }
  std::string operator()(const SharedAttentionSpec& shared) const {
    return (*this)(shared.attention);
  }
  std::string operator()(const DeltaRuleSpec& /*delta*/) const { return ""; }
  std::string operator()(const LinearAttentionSpec& /*linear*/) const { return ""; }
  std::string operator()(const ShortConvSpec& /*conv*/) const { return ""; }
  std::string operator()(const MambaSpec& /*mamba*/) const { return ""; }
  std::string operator()(const AttentionBesideMambaSpec& both) const {
    return both.shares_weights ? KindOf(both) : (*this)(both.attention);
  }
  std::string operator()(const RwkvSpec& rwkv) const {
    return rwkv.version == 4 ? "" : KindOf(rwkv);
  }
  std::string operator()(const LatentAttentionSpec& latent) const {
    const bool ranked = latent.query_rank > 0 || (latent.index && latent.index->reads_hidden);
    if (latent.index && (latent.picks < 1 || !ranked)) return KindOf(latent);
    if (latent.output_gate == OutputGate::kChannels) return "latent attention with such a gate";
    if (latent.rope_width > kMaxLatentRope) return "latent attention with so wide a rotation";
    return "";
  }
  std::string operator()(const CompressedAttentionSpec& compressed) const {
    return compressed.rope ? "" : KindOf(compressed);
  }
  std::string operator()(const NoMixer& none) const {
    return none.parameters == 0 ? "" : KindOf(none);
  }
  template <class Other>
  std::string operator()(const Other& other) const {
    return KindOf(other);
  }
};

struct MissingFeedForward {
  std::string operator()(const GatedMlpSpec& /*mlp*/) const { return ""; }
  std::string operator()(const MlpSpec& /*mlp*/) const { return ""; }
  std::string operator()(const MixtureSpec& mixture) const {
    const bool known = mixture.experts > 0 && mixture.experts_per_token > 0 &&
                       mixture.experts_per_token <= mixture.experts;
    return known ? "" : "a mixture of an unknown number of experts";
  }
  std::string operator()(const ChannelMixSpec& /*mix*/) const { return ""; }
  std::string operator()(const NoFeedForward& /*none*/) const { return ""; }
};

struct HasResidual {
  bool operator()(const PlainResidualSpec& /*plain*/) const { return true; }
  bool operator()(const ChannelScalesSpec& /*scales*/) const { return true; }
  bool operator()(const PerLayerInputsSpec& /*inputs*/) const { return true; }
  bool operator()(const AltUpSpec& /*altup*/) const { return true; }
  bool operator()(const HyperConnectionsSpec& /*streams*/) const { return true; }
  template <class Other>
  bool operator()(const Other& /*other*/) const {
    return false;
  }
};

std::string MissingFor(const LayerSpec& layer) {
  const std::string mixer = std::visit(MissingMixer(), layer.mixer);
  if (!mixer.empty()) return mixer;
  if (layer.ngram) return "n-gram embeddings";
  return std::visit(MissingFeedForward(), layer.feed_forward);
}

}  // namespace

Status CheckRunnable(const ModelSpec& model) {
  for (size_t i = 0; i < model.layers.size(); ++i) {
    const std::string missing = MissingFor(model.layers[i]);
    if (missing.empty()) continue;
    return Fail(ErrorCode::kUnsupported, "{} can be sized but not run yet: layer {} is {}",
                model.family, i, missing);
  }
  if (!std::visit(HasResidual(), model.residual)) {
    return Fail(ErrorCode::kUnsupported, "{} can be sized but not run yet: its residual streams",
                model.family);
  }
  if (model.sizing_only.empty()) return {};
  return Fail(ErrorCode::kUnsupported, "{} can be sized but not run yet: {}", model.family,
              model.sizing_only);
}

}  // namespace cairn
