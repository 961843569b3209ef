// RWKV 4 to 7: what moves from token to token has a fixed size in all of them.
#include <array>
#include <cmath>
#include <string>

#include "cairn/spec/limits.h"
#include "cairn/spec/run_recurrent.h"
#include "cairn/spec/sized_families.h"

namespace cairn {
namespace {

// Heads are channels / width; a count next to it must agree. Version 4 has no heads.
Result<RwkvSpec> HeadsFromConfig(const HfConfig& config, int version, int64_t channels) {
  RwkvSpec rwkv = {.version = version, .heads = 1, .width = channels};
  if (version == 4) return rwkv;
  constexpr std::array<std::string_view, 2> kKeys = {"head_dim", "head_size"};
  CAIRN_ASSIGN(const auto width, FirstInt(config, kKeys, {1, kMaxHeadWidth}));
  rwkv.width = width.value_or(64);
  if (channels % rwkv.width != 0) {
    return config.Wrong(config.Has("head_dim") ? "head_dim" : "head_size",
                        fmt::format("a divisor of {} channels", channels));
  }
  rwkv.heads = channels / rwkv.width;
  CAIRN_ASSIGN(const int64_t written, config.IntOr("num_heads", {1, kMaxHidden}, rwkv.heads));
  if (written != rwkv.heads) {
    return config.Wrong("num_heads", fmt::format("{} or null", rwkv.heads));
  }
  return rwkv;
}

struct Widths {
  int64_t hidden = 0;
  int64_t channels = 0;      // of all heads
  int64_t intermediate = 0;  // of the channel mix
};

// Key, value, receptance and output; decay and bonus of each channel; three mixes with the token
// before. The channel mix has two mixes and a receptance of its own.
int64_t Version4Parameters(const Widths& w) {
  const int64_t time_mix = 4 * w.hidden * w.channels + 2 * w.channels + 3 * w.hidden;
  return time_mix + 2 * w.hidden * w.intermediate + w.hidden * w.hidden + 2 * w.hidden;
}

// A gate and its mix more, and a norm with bias over each head's output.
int64_t Version5Parameters(const Widths& w) {
  return Version4Parameters(w) + w.hidden * w.channels + w.hidden + 2 * w.channels;
}

// Ranks of the four low-rank projections, by their key or else by the width.
struct Ranks {
  int64_t decay = 0;
  int64_t rate = 0;
  int64_t value = 0;
  int64_t gate = 0;
};

int64_t RankOf(double width) {
  return std::max<int64_t>(32, static_cast<int64_t>(std::round(width / 32)) * 32);
}

Result<Ranks> RanksFromConfig(const HfConfig& config, int64_t hidden) {
  constexpr std::array<std::string_view, 2> kDecay = {"decay_low_rank_dim", "lora_rank_decay"};
  constexpr std::array<std::string_view, 2> kRate = {"a_low_rank_dim", "lora_rank_iclr"};
  constexpr std::array<std::string_view, 2> kValue = {"v_low_rank_dim",
                                                      "lora_rank_value_residual_mix"};
  constexpr std::array<std::string_view, 2> kGate = {"gate_low_rank_dim", "lora_rank_gate"};
  constexpr IntRange kRank = {1, kMaxHidden};
  const auto width = static_cast<double>(hidden);
  Ranks ranks;
  CAIRN_ASSIGN(const auto decay, FirstInt(config, kDecay, kRank));
  CAIRN_ASSIGN(const auto rate, FirstInt(config, kRate, kRank));
  CAIRN_ASSIGN(const auto value, FirstInt(config, kValue, kRank));
  CAIRN_ASSIGN(const auto gate, FirstInt(config, kGate, kRank));
  ranks.decay = decay.value_or(RankOf(1.8 * std::sqrt(width)));
  ranks.rate = rate.value_or(RankOf(1.8 * std::sqrt(width)));
  ranks.value = value.value_or(RankOf(1.3 * std::sqrt(width)));
  ranks.gate = gate.value_or(RankOf(0.6 * std::pow(width, 0.8)));
  return ranks;
}

// The first layer doesn't mix its values with the first layer's.
int64_t Version7Parameters(const Widths& w, const Ranks& ranks, bool first) {
  const auto low_rank = [&](int64_t rank) { return rank * (w.hidden + w.channels); };
  int64_t count = 4 * w.hidden * w.channels + 6 * w.hidden + 3 * w.channels;
  count += low_rank(ranks.decay) + low_rank(ranks.rate) + low_rank(ranks.gate) + 2 * w.channels;
  if (!first) count += low_rank(ranks.value) + w.channels;
  count += 2 * w.channels;  // the norm over each head's output
  return count + 2 * w.hidden * w.intermediate + w.hidden;
}

int64_t DefaultIntermediate(int version, int64_t hidden) {
  return version == 5 || version == 6 ? hidden * 7 / 2 / 32 * 32 : 4 * hidden;
}

template <int version>
Result<ModelSpec> RwkvFromConfig(const ConfigSource& source) {
  const HfConfig& config = source.config;
  CAIRN_ASSIGN(Dimensions frame, FrameFromConfig(config));
  if (frame.hidden == 0) return config.Missing("hidden_size");
  Widths widths = {.hidden = frame.hidden};
  CAIRN_ASSIGN(widths.channels,
               StateIntOr(config, "attention_hidden_size", kMaxHidden, frame.hidden));
  widths.intermediate =
      frame.intermediate != 0 ? frame.intermediate : DefaultIntermediate(version, frame.hidden);
  CAIRN_ASSIGN(RwkvSpec rwkv, HeadsFromConfig(config, version, widths.channels));
  frame.heads = rwkv.heads;
  CAIRN_ASSIGN(ModelSpec model, SizedModel(source, "rwkv", frame, false));
  if (version == 6) model.uncounted = "its low-rank mixes aren't described";
  CAIRN_ASSIGN(const Ranks ranks, RanksFromConfig(config, frame.hidden));
  model.final_norm_vectors = 2;
  for (int64_t i = 0; i < frame.layers; ++i) {
    if (version == 4) rwkv.parameters = Version4Parameters(widths);
    if (version == 5) rwkv.parameters = Version5Parameters(widths);
    if (version == 7) rwkv.parameters = Version7Parameters(widths, ranks, i == 0);
    // One more norm before the first layer.
    LayerSpec layer = {
        .mixer = rwkv, .feed_forward = NoFeedForward{}, .norm_vectors = i == 0 ? 6 : 4};
    if (version == 4) layer.feed_forward = ChannelMixSpec{widths.intermediate};
    model.layers.push_back(std::move(layer));
  }
  return model;
}

constexpr auto kRows = std::to_array<SizedFamily>({
    {"rwkv", Runs<RwkvFromConfig<4>, RunRwkv>},
    {"rwkv5", RwkvFromConfig<5>},
    {"rwkv6", RwkvFromConfig<6>},
    {"rwkv7", RwkvFromConfig<7>},
});

}  // namespace

std::span<const SizedFamily> RwkvFamilies() { return kRows; }

}  // namespace cairn
