// Decoders whose every layer was given its own size: by search and pruning, or by a schedule.
#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "cairn/spec/limits.h"
#include "cairn/spec/sized_families.h"

namespace cairn {
namespace {

// Rounded to a multiple of `divisor`, but never down by more than a tenth.
int64_t MadeDivisible(double value, int64_t divisor) {
  const auto step = static_cast<double>(divisor);
  auto rounded = static_cast<int64_t>(std::floor((value + step / 2) / step)) * divisor;
  rounded = std::max(divisor, rounded);
  return static_cast<double>(rounded) < 0.9 * value ? rounded + divisor : rounded;
}

struct ListedHeads {
  std::vector<int64_t> query;
  std::vector<int64_t> kv;
};

Result<ListedHeads> OpenElmHeads(const HfConfig& config, size_t layers) {
  ListedHeads heads;
  CAIRN_ASSIGN(heads.query, config.Ints("num_query_heads", layers, {1, kMaxHeads}));
  CAIRN_ASSIGN(heads.kv, config.Ints("num_kv_heads", layers, {1, kMaxHeads}));
  return heads;
}

Result<ModelSpec> OpenElmFromConfig(const ConfigSource& source) {
  const HfConfig& config = source.config;
  CAIRN_ASSIGN(const Dimensions frame, FrameFromConfig(config));
  CAIRN_ASSIGN(ModelSpec model, SizedModel(source, "openelm", frame, true));
  CAIRN_ASSIGN(model.tied_head, config.BoolOr("share_input_output_layers", model.tied_head));
  model.uncounted.clear();
  if (frame.vocabulary == 0) model.uncounted = "vocab_size is missing";
  const auto layers = static_cast<size_t>(frame.layers);
  CAIRN_ASSIGN(const ListedHeads heads, OpenElmHeads(config, layers));
  CAIRN_ASSIGN(const int64_t width, StateInt(config, "head_dim", kMaxHeadWidth));
  CAIRN_ASSIGN(const bool normed, config.BoolOr("normalize_qk_projections", true));
  CAIRN_ASSIGN(const bool gated, config.BoolOr("ffn_with_glu", true));
  CAIRN_ASSIGN(const int64_t divisor, config.IntOr("ffn_dim_divisor", {1, 1 << 16}, 256));
  std::vector<double> multipliers;
  if (config.Has("ffn_multipliers")) {
    CAIRN_ASSIGN(multipliers, config.Floats("ffn_multipliers", layers, {1e-3, 64}));
  } else {
    model.uncounted = "ffn_multipliers is missing";
  }
  for (size_t i = 0; i < layers; ++i) {
    AttentionSpec attention;
    attention.heads = heads.query[i];
    attention.kv_heads = heads.kv[i];
    attention.key_width = attention.value_width = width;
    attention.scale = 1;
    attention.query_key_norm = normed;
    CAIRN_TRY(CheckHeads(config, attention));
    int64_t intermediate = 0;
    if (!multipliers.empty()) {
      intermediate = MadeDivisible(multipliers[i] * static_cast<double>(frame.hidden), divisor);
    }
    FeedForwardSpec network = GatedMlpSpec{.intermediate = intermediate};
    if (!gated) network = MlpSpec{.intermediate = intermediate};
    model.layers.push_back({.mixer = attention, .feed_forward = network});
  }
  return model;
}

// One of a block's halves: absent, a single matrix, or the real thing.
enum class HalfKind : uint8_t { kNone, kLinear, kWhole };

Result<HalfKind> KindOfHalf(const HfConfig& half) {
  CAIRN_ASSIGN(const bool none, half.BoolOr("no_op", false));
  CAIRN_ASSIGN(const bool linear, half.BoolOr("replace_with_linear", false));
  if (none) return HalfKind::kNone;
  return linear ? HalfKind::kLinear : HalfKind::kWhole;
}

Result<MixerSpec> NasMixer(const HfConfig& block, const Dimensions& dimensions) {
  CAIRN_ASSIGN(const auto attention, block.Child("attention"));
  if (!attention) return block.Missing("attention");
  CAIRN_ASSIGN(const HalfKind kind, KindOfHalf(*attention));
  if (kind == HalfKind::kNone) return NoMixer{};
  if (kind == HalfKind::kLinear) return NoMixer{dimensions.hidden * dimensions.hidden};
  AttentionSpec spec = AttentionOf(dimensions);
  CAIRN_ASSIGN(const int64_t group, attention->Int("n_heads_in_group", {1, kMaxHeads}));
  if (spec.heads < 1 || spec.heads % group != 0) {
    return attention->Wrong("n_heads_in_group",
                            fmt::format("a divisor of num_attention_heads ({})", spec.heads));
  }
  spec.kv_heads = spec.heads / group;
  CAIRN_ASSIGN(const auto window,
               attention->OptionalInt("window_length", {1, kMaxContext}, std::nullopt));
  spec.lifetime = LifetimeOfWindow(dimensions.context_length, window);
  return spec;
}

// 2/3 of ffn_mult hidden sizes, rounded up to 256.
Result<FeedForwardSpec> NasNetwork(const HfConfig& block, const Dimensions& dimensions) {
  CAIRN_ASSIGN(const auto network, block.Child("ffn"));
  if (!network) return block.Missing("ffn");
  CAIRN_ASSIGN(const HalfKind kind, KindOfHalf(*network));
  if (kind == HalfKind::kNone) return NoFeedForward{};
  // A single matrix is as many weights as a network half as wide, without a gate.
  if (kind == HalfKind::kLinear) return MlpSpec{.intermediate = dimensions.hidden / 2};
  CAIRN_ASSIGN(const double multiplier, network->FloatOr("ffn_mult", {1e-3, 64}, 0));
  if (multiplier == 0) return network->Missing("ffn_mult");
  const auto wide =
      static_cast<int64_t>(2 * multiplier * static_cast<double>(dimensions.hidden) / 3);
  return GatedMlpSpec{.intermediate = (wide + 255) / 256 * 256};
}

Result<ModelSpec> NemotronNasFromConfig(const ConfigSource& source) {
  const HfConfig& config = source.config;
  CAIRN_ASSIGN(const Dimensions dimensions, DimensionsFromConfig(config));
  CAIRN_ASSIGN(ModelSpec model, SizedModel(source, "nemotron-nas", dimensions, false));
  CAIRN_ASSIGN(const auto blocks,
               config.Children("block_configs", static_cast<size_t>(dimensions.layers)));
  for (const HfConfig& block : blocks) {
    LayerSpec layer;
    CAIRN_ASSIGN(layer.mixer, NasMixer(block, dimensions));
    CAIRN_ASSIGN(layer.feed_forward, NasNetwork(block, dimensions));
    layer.norm_vectors = (std::holds_alternative<NoMixer>(layer.mixer) ? 0 : 1) +
                         (std::holds_alternative<NoFeedForward>(layer.feed_forward) ? 0 : 1);
    model.layers.push_back(std::move(layer));
  }
  return model;
}

constexpr auto kRows = std::to_array<SizedFamily>({
    {"openelm", OpenElmFromConfig},
    {"nemotron-nas", NemotronNasFromConfig},
});

}  // namespace

std::span<const SizedFamily> SearchedFamilies() { return kRows; }

}  // namespace cairn
