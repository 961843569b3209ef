#include "cairn/spec/gguf_networks.h"

#include <algorithm>

#include "cairn/spec/limits.h"

namespace cairn {
namespace {

constexpr int64_t kMaxExperts = int64_t{1} << 16;
// experts x width of one matrix row: keeps what is multiplied with it in 63 bits.
constexpr int64_t kMaxExpertRows = int64_t{1} << 29;
constexpr int64_t kMaxSharedWidth = 4 * kMaxIntermediate;

struct Mixtures {
  int64_t experts = 0;
  std::vector<int64_t> per_token;
  std::vector<int64_t> width;
  int64_t shared_width = 0;
  int64_t shared_count = 0;
  int64_t latent = 0;
};

Result<Mixtures> ReadMixtures(const GgufKeys& keys, const GgufFrame& frame, int64_t experts) {
  constexpr IntRange kWidth = {0, kMaxIntermediate};
  Mixtures mixtures;
  mixtures.experts = experts;
  CAIRN_ASSIGN(mixtures.per_token,
               keys.PerLayerOr("expert_used_count", frame.blocks, {0, experts}, 0));
  mixtures.width = frame.intermediate;
  constexpr std::string_view kLength = "expert_feed_forward_length";
  if (keys.Has(kLength)) {
    CAIRN_ASSIGN(mixtures.width, keys.PerLayer(kLength, frame.blocks, kWidth));
  }
  const int64_t widest = *std::ranges::max_element(mixtures.width);
  if (experts * std::max<int64_t>(widest, 1) > kMaxExpertRows) {
    return keys.Wrong("expert_count", experts,
                      fmt::format("at most {} rows in all experts", kMaxExpertRows));
  }
  CAIRN_ASSIGN(mixtures.shared_width,
               keys.IntOr("expert_shared_feed_forward_length", {0, kMaxSharedWidth}, 0));
  CAIRN_ASSIGN(mixtures.shared_count, keys.IntOr("expert_shared_count", {0, 1024}, 0));
  if (mixtures.shared_count * widest > kMaxSharedWidth) {
    return keys.Wrong("expert_shared_count", mixtures.shared_count,
                      fmt::format("at most {} channels in all shared experts", kMaxSharedWidth));
  }
  CAIRN_ASSIGN(mixtures.latent, keys.IntOr("expert_latent_length", {0, kMaxHidden}, 0));
  return mixtures;
}

Result<std::vector<bool>> ExpertLayers(const GgufKeys& keys, const GgufFrame& frame,
                                       const GgufTensors& tensors) {
  constexpr IntRange kPeriod = {1, kMaxLayers};
  const auto layers = static_cast<size_t>(frame.blocks.layers);
  std::vector<bool> by_tensors(layers);
  for (size_t i = 0; i < layers; ++i) {
    by_tensors[i] = tensors.has(fmt::format("blk.{}.ffn_gate_inp.weight", i));
  }
  const bool any = std::ranges::find(by_tensors, true) != by_tensors.end();
  if (tensors.complete && any) return by_tensors;
  CAIRN_ASSIGN(const int64_t dense, keys.IntOr("leading_dense_block_count", {0, kMaxLayers}, 0));
  CAIRN_ASSIGN(const int64_t step, keys.IntOr("interleave_moe_layer_step", kPeriod, 1));
  std::vector<bool> by_keys(layers);
  for (size_t i = 0; i < layers; ++i) {
    const auto layer = static_cast<int64_t>(i);
    by_keys[i] = layer >= dense && (layer + 1) % step == 0;
  }
  return by_keys;
}

}  // namespace

Result<std::vector<FeedForwardSpec>> NetworksFromGguf(const GgufKeys& keys, const GgufFrame& frame,
                                                      const GgufTensors& tensors, bool gated) {
  CAIRN_ASSIGN(const int64_t experts, keys.IntOr("expert_count", {0, kMaxExperts}, 0));
  CAIRN_ASSIGN(const Mixtures mixtures, ReadMixtures(keys, frame, experts));
  std::vector<bool> with_experts(frame.intermediate.size(), false);
  if (experts > 0) {
    CAIRN_ASSIGN(with_experts, ExpertLayers(keys, frame, tensors));
  }
  const bool listed = keys.IsArray("feed_forward_length");
  std::vector<FeedForwardSpec> networks;
  for (size_t i = 0; i < frame.intermediate.size(); ++i) {
    const int64_t width = frame.intermediate[i];
    if (width == 0 && (listed || experts == 0)) {
      networks.emplace_back(NoFeedForward{});
    } else if (with_experts[i]) {
      const int64_t shared = mixtures.shared_width != 0 ? mixtures.shared_width
                                                        : mixtures.shared_count * mixtures.width[i];
      networks.emplace_back(MixtureSpec{.experts = experts,
                                        .experts_per_token = mixtures.per_token[i],
                                        .intermediate = mixtures.width[i],
                                        .shared_intermediate = shared,
                                        .latent = mixtures.latent,
                                        .gated = gated});
    } else if (gated) {
      networks.emplace_back(GatedMlpSpec{.intermediate = width});
    } else {
      networks.emplace_back(MlpSpec{.intermediate = width});
    }
  }
  return networks;
}

}  // namespace cairn
