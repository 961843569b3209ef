#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "cairn/sizing/activations.h"

namespace cairn {
namespace {

int64_t FatesIn(const LayerSpec& layer, Fate fate) {
  const auto list = ActivationsOf(layer, 64, {});
  return std::ranges::count(list, fate, &LayerActivation::fate);
}

std::vector<MixerSpec> EveryMixer() {
  AttentionSpec attention;
  attention.heads = 4;
  attention.kv_heads = 2;
  attention.key_width = attention.value_width = 16;
  LatentAttentionSpec latent;
  latent.heads = 4;
  latent.latent_width = 32;
  latent.rope_width = 8;
  latent.key_width = latent.value_width = 16;
  CompressedAttentionSpec compressed;
  compressed.heads = 4;
  compressed.width = 32;
  DeltaRuleSpec delta;
  delta.key_heads = delta.value_heads = 4;
  delta.key_width = delta.value_width = 16;
  LinearAttentionSpec linear;
  linear.heads = 4;
  linear.key_width = linear.value_width = 16;
  MambaSpec mamba;
  mamba.version = 2;
  mamba.inner = 128;
  mamba.state = 16;
  mamba.heads = 4;
  mamba.groups = 1;
  SharedAttentionSpec shared;
  shared.attention = attention;
  CrossAttentionSpec cross;
  cross.attention = attention;
  return {attention,
          shared,
          cross,
          latent,
          compressed,
          delta,
          linear,
          mamba,
          AttentionBesideMambaSpec{.attention = attention, .mamba = mamba},
          RwkvSpec{.version = 7, .heads = 4, .width = 16},
          ShortConvSpec{.channels = 64, .kernel = 4},
          RecurrentGateSpec{.width = 64, .conv_kernel = 4}};
}

}  // namespace

TEST_CASE("every kind of layer passes one activation on and lists its stages") {
  for (const MixerSpec& mixer : EveryMixer()) {
    const LayerSpec layer = {.mixer = mixer, .feed_forward = GatedMlpSpec{.intermediate = 96}};
    CAPTURE(KindOf(mixer));
    CHECK_EQ(FatesIn(layer, Fate::kPassedOn), 1);
    CHECK_EQ(FatesIn(layer, Fate::kResidual), 2);
    const auto stages = StagesOf(layer, 64, {});
    CHECK_EQ(stages.size(), 7);
    for (const ActivationStage& stage : stages) CHECK_GE(stage.live_width, 2 * 64);
  }
}

TEST_CASE("MLA keeps one row and drops the keys and values that it expands") {
  const MixerSpec latent = EveryMixer()[3];
  const LayerSpec layer = {.mixer = latent, .feed_forward = NoFeedForward{}};
  CHECK_EQ(FatesIn(layer, Fate::kKept), 1);
  const auto list = ActivationsOf(layer, 64, {});
  const auto row = std::ranges::find(list, Fate::kKept, &LayerActivation::fate);
  CHECK_EQ(row->width, 40);
}

TEST_CASE("experts gather a row of the chunk for each of a token's picks") {
  const MixtureSpec mixture = {
      .experts = 8, .experts_per_token = 2, .intermediate = 32, .shared_intermediate = 64};
  const LayerSpec layer = {.mixer = NoMixer{}, .feed_forward = mixture};
  const auto stages = StagesOf(layer, 64, {});
  REQUIRE_EQ(stages.size(), 4);
  // residual, normed, two gathered rows, gate and up of 2 x 32 + 64, scores of 8 experts
  CHECK_EQ(stages[1].live_width, 64 + 64 + 2 * 64 + 2 * (2 * 32 + 64) + 8);
  CHECK_EQ(stages[2].live_width, 64 + 2 * (2 * 32 + 64) + 8 + (2 * 32 + 64));
}

TEST_CASE("expert parallel cards gather their own picks only") {
  const MixtureSpec mixture = {.experts = 8, .experts_per_token = 4, .intermediate = 32};
  const LayerSpec layer = {.mixer = NoMixer{}, .feed_forward = mixture};
  Parallelism cards;
  cards.tp = cards.ep = 4;
  // residual, normed, one gathered row, gate and up of 4 x 32 / 4, scores of 8 experts
  CHECK_EQ(StagesOf(layer, 64, cards)[1].live_width, 64 + 64 + 64 + 2 * 32 + 8);
}

TEST_CASE("a layer that is nothing has its norm's stage alone") {
  const LayerSpec layer = {.mixer = NoMixer{}, .feed_forward = NoFeedForward{}};
  CHECK_EQ(StagesOf(layer, 64, {}).size(), 1);
  CHECK_EQ(ActivationsOf(layer, 64, {}).size(), 2);
}

}  // namespace cairn
