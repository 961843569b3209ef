#include "cairn/spec/config_layers.h"

#include <algorithm>
#include <array>
#include <utility>

#include "cairn/spec/limits.h"
#include "cairn/spec/quoted.h"

namespace cairn {
namespace {

constexpr std::array<std::string_view, 4> kExpertKeys = {"n_routed_experts", "num_local_experts",
                                                         "num_experts", "moe_num_experts"};
constexpr int64_t kMaxExperts = int64_t{1} << 16;
constexpr std::array<std::string_view, 6> kPerTokenKeys = {"num_experts_per_tok",
                                                           "num_experts_per_token",
                                                           "experts_per_token",
                                                           "top_k_experts",
                                                           "moe_topk",
                                                           "moe_top_k"};
// experts x width of one matrix row: keeps a model's parameters in 63 bits.
constexpr int64_t kMaxExpertRows = int64_t{1} << 29;
constexpr int64_t kMaxSharedWidth = 4 * kMaxIntermediate;

// "LLLG": L slides, G is full.
Result<std::vector<bool>> SlidingFromLetters(const HfConfig& config, std::string_view key,
                                             size_t layers) {
  CAIRN_ASSIGN(const std::string letters, config.String(key));
  if (letters.empty() || letters.find_first_not_of("LG") != std::string::npos) {
    return config.Wrong(key, "letters L and G");
  }
  std::vector<bool> sliding;
  sliding.reserve(layers);
  for (size_t i = 0; i < layers; ++i) sliding.push_back(letters[i % letters.size()] == 'L');
  return sliding;
}

Result<std::vector<bool>> SlidingByPeriod(const HfConfig& config, size_t layers, int64_t period) {
  constexpr std::array<std::string_view, 4> kKeys = {"sliding_window_pattern",
                                                     "_sliding_window_pattern", "layer_switch",
                                                     "global_attn_every_n_layers"};
  for (const std::string_view key : kKeys) {
    if (!config.Has(key)) continue;
    if (config.IsString(key)) return SlidingFromLetters(config, key, layers);
    CAIRN_ASSIGN(period, config.Int(key, {1, kMaxLayers}));
    break;
  }
  std::vector<bool> sliding;
  sliding.reserve(layers);
  for (size_t i = 0; i < layers; ++i) {
    sliding.push_back(period == 0 || (static_cast<int64_t>(i) + 1) % period != 0);
  }
  return sliding;
}

Result<std::vector<Lifetime>> LifetimesOfTypes(const HfConfig& config, const Dimensions& dimensions,
                                               std::optional<int64_t> window) {
  CAIRN_ASSIGN(const auto types,
               config.Strings("layer_types", static_cast<size_t>(dimensions.layers)));
  std::vector<Lifetime> lifetimes;
  for (const std::string& type : types) {
    if (type == "full_attention" || type == "attention") {
      lifetimes.push_back(Lifetime::All());
    } else if (type == "sliding_attention") {
      // A switch that is off leaves the number, or its absence, without a meaning.
      if (!window && !config.Has("use_sliding_window")) return config.Missing("sliding_window");
      lifetimes.push_back(LifetimeOfWindow(dimensions.context_length, window));
    } else if (type == "chunked_attention") {
      CAIRN_ASSIGN(const int64_t chunk, config.Int("attention_chunk_size", {1, kMaxContext}));
      lifetimes.push_back(Lifetime::Chunk(TokenCount(chunk)));
    } else {
      return Fail(ErrorCode::kUnsupported,
                  "{}: layer_types[{}] is {}, expected full_attention, sliding_attention or "
                  "chunked_attention",
                  config.where(), lifetimes.size(), Quoted(type));
    }
  }
  return lifetimes;
}

// Which layers have experts, if the model has any.
Result<std::vector<bool>> ExpertLayers(const HfConfig& config, size_t layers) {
  std::vector<bool> with_experts(layers, true);
  if (config.Has("mlp_layer_types")) {
    CAIRN_ASSIGN(const auto types, config.Strings("mlp_layer_types", layers));
    for (size_t i = 0; i < layers; ++i) with_experts[i] = types[i] != "dense";
    return with_experts;
  }
  if (config.ListSize("moe_layer_freq")) {
    CAIRN_ASSIGN(const auto flags, config.Ints("moe_layer_freq", layers, {0, 1}));
    for (size_t i = 0; i < layers; ++i) with_experts[i] = flags[i] != 0;
    return with_experts;
  }
  constexpr IntRange kPeriod = {1, kMaxLayers};
  CAIRN_ASSIGN(const int64_t dense, config.IntOr("first_k_dense_replace", {0, kMaxLayers}, 0));
  CAIRN_ASSIGN(const int64_t frequency, config.IntOr("moe_layer_freq", kPeriod, 1));
  CAIRN_ASSIGN(const int64_t step, config.IntOr("decoder_sparse_step", kPeriod, 1));
  CAIRN_ASSIGN(const int64_t interleave, config.IntOr("interleave_moe_layer_step", kPeriod, 1));
  CAIRN_ASSIGN(const int64_t period, config.IntOr("expert_layer_period", kPeriod, 1));
  CAIRN_ASSIGN(const int64_t offset, config.IntOr("expert_layer_offset", {0, kMaxLayers}, 0));
  for (size_t at = 0; at < layers; ++at) {
    const auto i = static_cast<int64_t>(at);
    with_experts[at] = i >= dense && i % frequency == 0 && (i + 1) % step == 0 &&
                       (i + 1) % interleave == 0 && (period == 1 || i % period == offset);
  }
  if (config.Has("mlp_only_layers")) {
    CAIRN_ASSIGN(const auto dense_layers,
                 config.IntsUpTo("mlp_only_layers", layers, {0, kMaxLayers}));
    for (const int64_t layer : dense_layers) {
      if (layer < static_cast<int64_t>(layers)) with_experts[static_cast<size_t>(layer)] = false;
    }
  }
  return with_experts;
}

// All shared experts of a layer together.
Result<int64_t> SharedWidth(const HfConfig& config, int64_t expert_width) {
  constexpr std::array<std::string_view, 4> kWidthKeys = {
      "shared_expert_intermediate_size", "moe_shared_expert_intermediate_size", "share_expert_dim",
      "shared_intermediate_size"};
  constexpr IntRange kWidth = {0, kMaxIntermediate};
  for (const std::string_view key : kWidthKeys) {
    if (config.Has(key)) return config.Int(key, kWidth);
  }
  constexpr std::array<std::string_view, 3> kCountKeys = {"n_shared_experts", "num_shared_experts",
                                                          "num_shared_expert"};
  CAIRN_ASSIGN(const auto count, FirstInt(config, kCountKeys, {0, 1024}));
  const int64_t width = count.value_or(0) * expert_width;
  if (width > kMaxSharedWidth) {
    return config.Wrong("moe_intermediate_size",
                        fmt::format("at most {} channels in all shared experts", kMaxSharedWidth));
  }
  return width;
}

// One number for all layers, or one for each; 0 where there is none, or no single one.
Result<int64_t> ExpertsPerToken(const HfConfig& config, const Dimensions& dimensions,
                                int64_t experts) {
  const IntRange range = {0, experts};
  for (const std::string_view key : kPerTokenKeys) {
    if (!config.Has(key)) continue;
    if (!config.ListSize(key)) return config.Int(key, range);
    CAIRN_ASSIGN(const auto each, config.Ints(key, static_cast<size_t>(dimensions.layers), range));
    const bool same = std::ranges::all_of(each, [&](int64_t k) { return k == each.front(); });
    return same ? each.front() : 0;
  }
  return 0;
}

Result<MixtureSpec> MixtureFromConfig(const HfConfig& config, const Dimensions& dimensions,
                                      const FeedForwardTraits& traits, int64_t experts) {
  MixtureSpec mixture;
  mixture.experts = experts;
  CAIRN_ASSIGN(mixture.experts_per_token, ExpertsPerToken(config, dimensions, experts));
  mixture.gated = traits.gated;
  mixture.expert_bias = traits.expert_bias;
  mixture.shared_gate = traits.shared_gate;
  CAIRN_ASSIGN(mixture.router_bias, traits.router_bias.Read(config));
  if (config.ListSize("moe_intermediate_size")) {
    CAIRN_ASSIGN(const auto widths,
                 config.Ints("moe_intermediate_size", static_cast<size_t>(dimensions.layers),
                             {1, kMaxIntermediate}));
    if (!std::ranges::all_of(widths, [&](int64_t width) { return width == widths.front(); })) {
      return config.Unsupported("moe_intermediate_size", "one width for all layers");
    }
    mixture.intermediate = widths.front();
  } else {
    CAIRN_ASSIGN(mixture.intermediate, config.IntOr("moe_intermediate_size", {1, kMaxIntermediate},
                                                    dimensions.intermediate));
  }
  CAIRN_ASSIGN(mixture.shared_intermediate, SharedWidth(config, mixture.intermediate));
  for (const std::string_view key : {"moe_latent_size", "routed_expert_hidden_size"}) {
    CAIRN_ASSIGN(const int64_t latent, config.IntOr(key, {1, kMaxHidden}, 0));
    mixture.latent = std::max(mixture.latent, latent);
  }
  if (mixture.experts * std::max<int64_t>(mixture.intermediate, 1) > kMaxExpertRows) {
    return config.Wrong("moe_intermediate_size",
                        fmt::format("at most {} rows in all experts", kMaxExpertRows));
  }
  return mixture;
}

}  // namespace

Result<std::vector<Lifetime>> LifetimesFromConfig(const HfConfig& config,
                                                  const Dimensions& dimensions, WindowRule rule,
                                                  int64_t period) {
  const auto layers = static_cast<size_t>(dimensions.layers);
  std::vector<Lifetime> lifetimes(layers);
  CAIRN_ASSIGN(std::optional<int64_t> window, WindowFromConfig(config));
  if (rule == WindowRule::kNever) return lifetimes;
  CAIRN_ASSIGN(const bool bounded,
               config.BoolOr("use_sliding_window", rule != WindowRule::kSwitched));
  if (!bounded) window.reset();
  if (config.Has("layer_types")) return LifetimesOfTypes(config, dimensions, window);
  if (rule == WindowRule::kNone) return lifetimes;
  const Lifetime sliding = LifetimeOfWindow(dimensions.context_length, window);
  if (rule == WindowRule::kSwitched) {
    CAIRN_ASSIGN(const int64_t first,
                 config.IntOr("max_window_layers", {0, 1 << 20}, dimensions.layers));
    for (size_t i = 0; i < layers; ++i) {
      if (static_cast<int64_t>(i) >= first) lifetimes[i] = sliding;
    }
    return lifetimes;
  }
  CAIRN_ASSIGN(const std::vector<bool> slides, SlidingByPeriod(config, layers, period));
  for (size_t i = 0; i < layers; ++i) {
    if (slides[i]) lifetimes[i] = sliding;
  }
  return lifetimes;
}

Result<std::vector<FeedForwardSpec>> FeedForwardsFromConfig(const HfConfig& config,
                                                            const Dimensions& dimensions,
                                                            const FeedForwardTraits& traits,
                                                            std::string& missing) {
  const auto layers = static_cast<size_t>(dimensions.layers);
  CAIRN_ASSIGN(const bool bias, traits.bias.Read(config));
  CAIRN_ASSIGN(const auto experts, FirstInt(config, kExpertKeys, {0, kMaxExperts}));
  int64_t width = dimensions.intermediate;
  if (width == 0) width = dimensions.hidden * traits.default_ratio;
  FeedForwardSpec dense = GatedMlpSpec{.intermediate = width, .bias = bias};
  if (!traits.gated) dense = MlpSpec{.intermediate = width, .bias = bias};
  std::vector<FeedForwardSpec> networks(layers, dense);
  size_t mixtures = 0;
  if (experts.value_or(0) > 0) {
    CAIRN_ASSIGN(const MixtureSpec mixture,
                 MixtureFromConfig(config, dimensions, traits, *experts));
    CAIRN_ASSIGN(const std::vector<bool> with_experts, ExpertLayers(config, layers));
    for (size_t i = 0; i < layers; ++i) {
      if (!with_experts[i]) continue;
      networks[i] = mixture;
      ++mixtures;
    }
    if (mixture.intermediate == 0 && mixtures > 0) missing = "moe_intermediate_size";
  }
  if (width == 0 && mixtures < layers) missing = "intermediate_size";
  return networks;
}

}  // namespace cairn
