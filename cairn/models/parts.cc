#include "cairn/models/parts.h"

#include <variant>

namespace cairn {
namespace {

// CheckRunnable has refused the kinds without a row, and lists the same ones.
struct MixerMaker {
  const LayerBuild& build;

  MixerOr operator()(const AttentionSpec& spec) const {
    if (spec.conv_head_kernel > 0) return MakeZayaAttention(build, spec);
    if (spec.index) return MakeBlockSparseAttention(build, spec);
    return MakeAttention(build, spec);
  }
  MixerOr operator()(const SharedAttentionSpec& spec) const {
    return MakeSharedAttention(build, spec);
  }
  MixerOr operator()(const DeltaRuleSpec& spec) const { return MakeDelta(build, spec); }
  MixerOr operator()(const LinearAttentionSpec& spec) const {
    return MakeLinearAttention(build, spec);
  }
  MixerOr operator()(const ShortConvSpec& spec) const { return MakeShortConv(build, spec); }
  MixerOr operator()(const MambaSpec& spec) const { return MakeMamba(build, spec); }
  MixerOr operator()(const AttentionBesideMambaSpec& spec) const {
    return MakeAttentionBesideMamba(build, spec);
  }
  MixerOr operator()(const RwkvSpec& spec) const { return MakeRwkv(build, spec); }
  MixerOr operator()(const LatentAttentionSpec& spec) const {
    return MakeLatentAttention(build, spec);
  }
  MixerOr operator()(const CompressedAttentionSpec& spec) const {
    return MakeCompressedAttention(build, spec);
  }
  MixerOr operator()(const NoMixer& /*none*/) const { return nullptr; }
  template <class Other>
  MixerOr operator()(const Other& /*other*/) const {
    return Fail(ErrorCode::kUnsupported, "there is no mixer for {}", KindOf(build.spec().mixer));
  }
};

struct FeedForwardMaker {
  const LayerBuild& build;

  FeedForwardOr operator()(const GatedMlpSpec& spec) const {
    // Some files call a dense network otherwise than the experts of other layers.
    return MakeGatedMlp(build, spec, build.loader.Has("dense_mlp.down_proj") ? "dense_mlp" : "mlp");
  }
  FeedForwardOr operator()(const MlpSpec& spec) const { return MakeMlp(build, spec); }
  FeedForwardOr operator()(const ChannelMixSpec& spec) const { return MakeChannelMix(build, spec); }
  FeedForwardOr operator()(const MixtureSpec& spec) const {
    return spec.beside_network ? MakeMixtureBesideNetwork(build, spec) : MakeMixture(build, spec);
  }
  FeedForwardOr operator()(const NoFeedForward& /*none*/) const { return nullptr; }
};

struct ResidualMaker {
  const ModelBuild& build;

  ResidualOr operator()(const PlainResidualSpec& /*plain*/) const {
    return MakePlainResidual(build);
  }
  ResidualOr operator()(const ChannelScalesSpec& /*scales*/) const {
    return MakeScaledResidual(build);
  }
  ResidualOr operator()(const PerLayerInputsSpec& spec) const {
    return MakeLayerInputsResidual(build, spec);
  }
  ResidualOr operator()(const HyperConnectionsSpec& spec) const {
    return MakeHyperResidual(build, spec);
  }
  ResidualOr operator()(const GatedStreamsSpec& spec) const {
    return MakeGatedResidual(build, spec);
  }
  ResidualOr operator()(const AttendedBlocksSpec& spec) const {
    return MakeAttendedBlocksResidual(build, spec);
  }
  ResidualOr operator()(const AltUpSpec& spec) const { return MakeAltUpResidual(build, spec); }
};

}  // namespace

MixerOr MakeMixer(const LayerBuild& build) {
  return std::visit(MixerMaker{build}, build.spec().mixer);
}

FeedForwardOr MakeFeedForward(const LayerBuild& build) {
  return std::visit(FeedForwardMaker{build}, build.spec().feed_forward);
}

ResidualOr MakeResidual(const ModelBuild& build) {
  return std::visit(ResidualMaker{build}, build.model.residual);
}

}  // namespace cairn
