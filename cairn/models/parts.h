// The parts there are: one function a kind, each in the file of its kind, and the choice by spec.
#ifndef CAIRN_MODELS_PARTS_H_
#define CAIRN_MODELS_PARTS_H_

#include <memory>
#include <string_view>

#include "cairn/base/status.h"
#include "cairn/models/part.h"
#include "cairn/models/residual.h"

namespace cairn {

using MixerOr = Result<std::unique_ptr<Mixer>>;
using FeedForwardOr = Result<std::unique_ptr<FeedForward>>;
using NgramsOr = Result<std::unique_ptr<Ngrams>>;
using ResidualOr = Result<std::unique_ptr<Residual>>;

// Of the layer's spec; null for NoMixer and NoFeedForward. REQUIRES: CheckRunnable passed.
MixerOr MakeMixer(const LayerBuild& build);
FeedForwardOr MakeFeedForward(const LayerBuild& build);
// ngrams.cc; null where the layer has none.
NgramsOr MakeNgrams(const LayerBuild& build);
ResidualOr MakeResidual(const ModelBuild& build);

// mixer_attention.cc
MixerOr MakeAttention(const LayerBuild& build, const AttentionSpec& spec);
// Keys and values are another layer's.
MixerOr MakeSharedAttention(const LayerBuild& build, const SharedAttentionSpec& spec);
// mixer_delta.cc
MixerOr MakeDelta(const LayerBuild& build, const DeltaRuleSpec& spec);
// mixer_linear.cc
MixerOr MakeLinearAttention(const LayerBuild& build, const LinearAttentionSpec& spec);
// mixer_zaya.cc
MixerOr MakeZayaAttention(const LayerBuild& build, const AttentionSpec& spec);
// mixer_block_sparse.cc
MixerOr MakeBlockSparseAttention(const LayerBuild& build, const AttentionSpec& spec);
// mixer_short_conv.cc
MixerOr MakeShortConv(const LayerBuild& build, const ShortConvSpec& spec);
// mixer_mamba1.cc and mixer_mamba2.cc; the first of them chooses.
MixerOr MakeMamba(const LayerBuild& build, const MambaSpec& spec);
MixerOr MakeMamba1(const LayerBuild& build, const MambaSpec& spec);
MixerOr MakeMamba2(const LayerBuild& build, const MambaSpec& spec);
// mixer_beside.cc
MixerOr MakeAttentionBesideMamba(const LayerBuild& build, const AttentionBesideMambaSpec& spec);
// mixer_rwkv.cc
MixerOr MakeRwkv(const LayerBuild& build, const RwkvSpec& spec);
FeedForwardOr MakeChannelMix(const LayerBuild& build, const ChannelMixSpec& spec);
// mixer_latent.cc
MixerOr MakeLatentAttention(const LayerBuild& build, const LatentAttentionSpec& spec);
// mixer_compressed.cc
MixerOr MakeCompressedAttention(const LayerBuild& build, const CompressedAttentionSpec& spec);
// feed_forward.cc. `role` is "mlp" or where else in the layer the matrices are.
FeedForwardOr MakeGatedMlp(const LayerBuild& build, const GatedMlpSpec& spec,
                           std::string_view role = "mlp");
FeedForwardOr MakeMlp(const LayerBuild& build, const MlpSpec& spec, std::string_view role = "mlp");
// mixture.cc
FeedForwardOr MakeMixture(const LayerBuild& build, const MixtureSpec& spec);
// mixture_beside.cc
FeedForwardOr MakeMixtureBesideNetwork(const LayerBuild& build, const MixtureSpec& spec);
// residual_plain.cc
ResidualOr MakePlainResidual(const ModelBuild& build);
// residual_scales.cc
ResidualOr MakeScaledResidual(const ModelBuild& build);
// residual_layer_inputs.cc
ResidualOr MakeLayerInputsResidual(const ModelBuild& build, const PerLayerInputsSpec& spec);
// residual_hyper.cc
ResidualOr MakeHyperResidual(const ModelBuild& build, const HyperConnectionsSpec& spec);
// residual_gated.cc
ResidualOr MakeGatedResidual(const ModelBuild& build, const GatedStreamsSpec& spec);
// residual_blocks.cc
ResidualOr MakeAttendedBlocksResidual(const ModelBuild& build, const AttendedBlocksSpec& spec);
// residual_altup.cc
ResidualOr MakeAltUpResidual(const ModelBuild& build, const AltUpSpec& spec);

}  // namespace cairn

#endif  // CAIRN_MODELS_PARTS_H_
