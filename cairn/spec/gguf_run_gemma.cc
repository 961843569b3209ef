// GGUF files of Gemma 3n and 4.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <string>
#include <variant>
#include <vector>

#include "cairn/spec/gguf_run.h"
#include "cairn/spec/limits.h"

namespace cairn {
namespace {

constexpr auto kOfBoth = std::to_array<GgufName>({
    {"attention.shared_kv_layers", "num_kv_shared_layers"},
    {"embedding_length_per_layer_input", "hidden_size_per_layer_input"},
    {"altup.active_idx", "altup_active_idx"},
    {"altup.num_inputs", "altup_num_inputs"},
});

// Rotations of both kinds of layers, and the table of their inputs.
Status Surroundings(const GgufSource& source, ConfigWriter& config) {
  CAIRN_ASSIGN(const double base, source.keys.FloatOr("rope.freq_base", 1000000));
  CAIRN_ASSIGN(const double local, source.keys.FloatOr("rope.freq_base_swa", 10000));
  config.Drop("rope_theta");
  config.Drop("partial_rotary_factor");
  config.Set("rope_parameters.full_attention.rope_theta", base);
  config.Set("rope_parameters.sliding_attention.rope_theta", local);
  if (!source.tensors.rows) return {};
  if (const auto rows = source.tensors.rows("per_layer_token_embd.weight")) {
    config.Set("vocab_size_per_layer_input", *rows);
  }
  return {};
}

// The file says how many standard deviations above the mean the bound is.
Status SetSparsity(const GgufSource& source, ConfigWriter& config) {
  constexpr std::string_view kScale = "activation_sparsity_scale";
  if (!source.keys.Has(kScale)) return {};
  CAIRN_ASSIGN(const std::vector<double> deviations,
               source.keys.metadata().Floats(source.keys.Key(kScale)));
  std::vector<double> pattern;
  for (const double deviation : deviations) {
    if (std::isnan(deviation)) {
      return Fail(ErrorCode::kInvalidArgument, "{}: key {} holds {}, expected numbers",
                  source.keys.where(), source.keys.Key(kScale), deviation);
    }
    pattern.push_back(0.5 * std::erfc(-deviation / std::numbers::sqrt2));
  }
  config.Set("activation_sparsity_pattern", pattern);
  return {};
}

Status Gemma3n(const GgufSource& source, ConfigWriter& config) {
  CAIRN_TRY(Surroundings(source, config));
  CAIRN_TRY(SetSparsity(source, config));
  config.Set("intermediate_size", source.frame.intermediate);
  config.Set("altup_correct_scale", source.tensors.has("blk.0.altup_correct_scale.weight"));
  if (!source.tensors.rows) return {};
  if (const auto rank = source.tensors.rows("blk.0.laurel_l.weight")) {
    config.Set("laurel_rank", *rank);
  }
  return {};
}

// Of full layers: the pairs that turn have a divisor of 1, the others one beyond all positions.
void SetProportional(const GgufSource& source, ConfigWriter& config) {
  constexpr float kStill = 1e20F;
  const std::vector<float>& divisors = source.tensors.rope_divisors;
  const auto turning = std::ranges::count_if(divisors, [](float d) { return d < kStill; });
  double part = 0.25;
  if (!divisors.empty()) {
    part = (static_cast<double>(turning) + 0.25) / static_cast<double>(divisors.size());
  }
  config.Set("rope_parameters.full_attention.rope_type", "proportional");
  config.Set("rope_parameters.full_attention.partial_rotary_factor", std::min(part, 1.0));
}

// Heads of full layers are of their own; without a projection of values keys make them.
void SetHeads(const GgufSource& source, ConfigWriter& config) {
  const GgufFrame& frame = source.frame;
  config.Set("head_dim", frame.sliding_key_width);
  config.Set("global_head_dim", frame.key_width);
  for (size_t i = 0; i < frame.kv_heads.size(); ++i) {
    if (source.layers.slides[i]) {
      config.Set("num_key_value_heads", std::max<int64_t>(1, frame.kv_heads[i]));
      continue;
    }
    config.Set("num_global_key_value_heads", std::max<int64_t>(1, frame.kv_heads[i]));
    // Layers that read another's rows may have no projections.
    if (!std::holds_alternative<AttentionSpec>(source.sized.layers[i].mixer)) continue;
    const bool fused = source.tensors.has(fmt::format("blk.{}.attn_qkv.weight", i));
    const bool values = source.tensors.has(fmt::format("blk.{}.attn_v.weight", i));
    config.Set("attention_k_eq_v", !fused && !values);
  }
}

Status Gemma4(const GgufSource& source, ConfigWriter& config) {
  CAIRN_TRY(Surroundings(source, config));
  SetProportional(source, config);
  SetHeads(source, config);
  const std::vector<int64_t>& widths = source.frame.intermediate;
  const int64_t narrow = *std::ranges::min_element(widths);
  bool doubles = false;
  for (const int64_t width : widths) {
    doubles = doubles || width != narrow;
    if (width == narrow || width == 2 * narrow) continue;
    return source.keys.Wrong("feed_forward_length", width, "one width, or twice as much");
  }
  config.Set("intermediate_size", narrow);
  config.Set("use_double_wide_mlp", doubles);
  CAIRN_ASSIGN(const int64_t experts, source.keys.IntOr("expert_count", {0, 1 << 16}, 0));
  config.Set("enable_moe_block", experts > 0);
  config.Set("use_bidirectional_attention", "vision");
  return {};
}

constexpr auto kRows = std::to_array<GgufRun>({
    {"gemma3n", "gemma3n_text", kOfBoth, Gemma3n},
    {"gemma4", "gemma4_text", kOfBoth, Gemma4, /*takes_divisors=*/false},
});

}  // namespace

std::span<const GgufRun> GemmaGgufRuns() { return kRows; }

}  // namespace cairn
