#include "cairn/models/runnable.h"

#include <string>
#include <variant>

namespace cairn {
namespace {

// What no part computes; empty: nothing. The rows of parts.cc have their counterpart here.
struct MissingMixer {
  std::string operator()(const AttentionSpec& attention) const {
    const bool picks = attention.index && (attention.index->block > 0 || attention.index->pool > 0);
    if (attention.index && !picks) return KindOf(attention);
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

std::string MissingFor(const ModelSpec& model, const LayerSpec& layer) {
  const std::string mixer = std::visit(MissingMixer(), layer.mixer);
  if (!mixer.empty()) return mixer;
  const bool gated = std::holds_alternative<GatedStreamsSpec>(model.residual);
  if (layer.ngram && !gated) return "n-gram embeddings without gated streams";
  const bool half = std::holds_alternative<NoMixer>(layer.mixer) ||
                    std::holds_alternative<NoFeedForward>(layer.feed_forward);
  if (half && gated) return "half a layer between gated streams";
  return std::visit(MissingFeedForward(), layer.feed_forward);
}

}  // namespace

Status CheckRunnable(const ModelSpec& model) {
  for (size_t i = 0; i < model.layers.size(); ++i) {
    const std::string missing = MissingFor(model, model.layers[i]);
    if (missing.empty()) continue;
    return Fail(ErrorCode::kUnsupported, "{} can be sized but not run yet: layer {} is {}",
                model.family, i, missing);
  }
  if (model.sizing_only.empty()) return {};
  return Fail(ErrorCode::kUnsupported, "{} can be sized but not run yet: {}", model.family,
              model.sizing_only);
}

}  // namespace cairn
