// GGUF files of families whose layers keep states of fixed size, or some of them.
#include <array>
#include <string>
#include <variant>
#include <vector>

#include "cairn/spec/gguf_run.h"
#include "cairn/spec/limits.h"

namespace cairn {
namespace {

using Kind = GgufName::Kind;

constexpr auto kDelta = std::to_array<GgufName>({
    {"ssm.group_count", "linear_num_key_heads"},
    {"ssm.time_step_rank", "linear_num_value_heads"},
    {"ssm.state_size", "linear_key_head_dim"},
});
constexpr auto kMamba = std::to_array<GgufName>({
    {"ssm.inner_size", "intermediate_size"},
    {"ssm.state_size", "state_size"},
    {"ssm.conv_kernel", "conv_kernel"},
    {"ssm.time_step_rank", "time_step_rank"},
    {"attention.layer_norm_rms_epsilon", "layer_norm_epsilon", Kind::kNumber},
});
constexpr auto kMamba2 = std::to_array<GgufName>({
    {"ssm.state_size", "state_size"},
    {"ssm.conv_kernel", "conv_kernel"},
    {"ssm.time_step_rank", "num_heads"},
    {"ssm.group_count", "n_groups"},
    {"attention.layer_norm_rms_epsilon", "layer_norm_epsilon", Kind::kNumber},
});
constexpr auto kJamba = std::to_array<GgufName>({
    {"ssm.state_size", "mamba_d_state"},
    {"ssm.conv_kernel", "mamba_d_conv"},
    {"ssm.time_step_rank", "mamba_dt_rank"},
});
constexpr auto kFalconH1 = std::to_array<GgufName>({
    {"ssm.inner_size", "mamba_d_ssm"},
    {"ssm.state_size", "mamba_d_state"},
    {"ssm.conv_kernel", "mamba_d_conv"},
    {"ssm.time_step_rank", "mamba_n_heads"},
    {"ssm.group_count", "mamba_n_groups"},
});
constexpr auto kNemotronH = std::to_array<GgufName>({
    {"ssm.state_size", "ssm_state_size"},
    {"ssm.conv_kernel", "conv_kernel"},
    {"ssm.time_step_rank", "mamba_num_heads"},
    {"ssm.group_count", "n_groups"},
    {"attention.layer_norm_rms_epsilon", "layer_norm_epsilon", Kind::kNumber},
});
constexpr auto kLfm2 = std::to_array<GgufName>({
    {"shortconv.l_cache", "conv_L_cache"},
    {"attention.layer_norm_rms_epsilon", "norm_eps", Kind::kNumber},
});

// In any layer.
bool HasTensor(const GgufSource& source, std::string_view name) {
  for (size_t i = 0; i < source.sized.layers.size(); ++i) {
    if (source.tensors.has(fmt::format("blk.{}.{}", i, name))) return true;
  }
  return false;
}

// Of each of the heads that ssm.time_step_rank counts.
Status SetHeadWidth(const GgufSource& source, std::string_view key, ConfigWriter& config) {
  CAIRN_ASSIGN(const int64_t inner, source.keys.Int("ssm.inner_size", {1, kMaxProjection}));
  CAIRN_ASSIGN(const int64_t heads, source.keys.Int("ssm.time_step_rank", {1, kMaxHeads}));
  if (inner % heads != 0) {
    return source.keys.Wrong("ssm.time_step_rank", heads,
                             fmt::format("a divisor of ssm.inner_size ({})", inner));
  }
  config.Set(key, inner / heads);
  return {};
}

Status Qwen3Next(const GgufSource& source, ConfigWriter& config) {
  return SetHeadWidth(source, "linear_value_head_dim", config);
}

Status Mamba(const GgufSource& source, ConfigWriter& config) {
  constexpr std::string_view kNorms = "ssm.dt_b_c_rms";
  CAIRN_ASSIGN(const bool norms, source.keys.BoolOr(kNorms, false));
  if (norms) {
    return Fail(ErrorCode::kUnsupported, "{}: key {} is true; supported: false",
                source.keys.where(), source.keys.Key(kNorms));
  }
  config.Set("use_conv_bias", HasTensor(source, "ssm_conv1d.bias"));
  return {};
}

Status Mamba2(const GgufSource& source, ConfigWriter& config) {
  config.Set("use_conv_bias", HasTensor(source, "ssm_conv1d.bias"));
  return SetHeadWidth(source, "head_dim", config);
}

Status Jamba(const GgufSource& source, ConfigWriter& config) {
  CAIRN_ASSIGN(const int64_t inner, source.keys.Int("ssm.inner_size", {1, kMaxProjection}));
  // Times hidden_size, cut to a whole number.
  config.Set("mamba_expand",
             (static_cast<double>(inner) + 0.5) / static_cast<double>(source.frame.hidden));
  config.Set("mamba_conv_bias", HasTensor(source, "ssm_conv1d.bias"));
  return {};
}

// Factors are in the weights already. A norm comes after the gate.
Status FalconH1(const GgufSource& source, ConfigWriter& config) {
  config.Set("mamba_conv_bias", HasTensor(source, "ssm_conv1d.bias"));
  config.Set("mamba_rms_norm", HasTensor(source, "ssm_norm.weight"));
  config.Set("mamba_norm_before_gate", false);
  return SetHeadWidth(source, "mamba_d_head", config);
}

Status NemotronH(const GgufSource& source, ConfigWriter& config) {
  std::vector<std::string> blocks;
  for (const LayerSpec& layer : source.sized.layers) {
    if (std::holds_alternative<MambaSpec>(layer.mixer)) {
      blocks.emplace_back("mamba");
    } else if (std::holds_alternative<AttentionSpec>(layer.mixer)) {
      blocks.emplace_back("attention");
    } else if (std::holds_alternative<MixtureSpec>(layer.feed_forward)) {
      blocks.emplace_back("moe");
    } else {
      blocks.emplace_back("mlp");
      const auto* mlp = std::get_if<MlpSpec>(&layer.feed_forward);
      if (mlp != nullptr) config.Set("intermediate_size", mlp->intermediate);
    }
  }
  config.Set("layers_block_type", blocks);
  config.Drop("layer_types");
  config.Drop("mlp_layer_types");
  config.Set("use_conv_bias", HasTensor(source, "ssm_conv1d.bias"));
  config.Set("mlp_bias", HasTensor(source, "ffn_up.bias"));
  return SetHeadWidth(source, "mamba_head_dim", config);
}

Status Lfm2(const GgufSource& source, ConfigWriter& config) {
  std::vector<std::string> types = LayerTypesOf(source);
  for (std::string& type : types) {
    if (type == "linear_attention") type = "conv";
  }
  config.Set("layer_types", types);
  config.Set("block_auto_adjust_ff_dim", false);  // what the file says is adjusted
  config.Set("conv_bias", HasTensor(source, "shortconv.conv.bias"));
  return {};
}

Status KimiLinear(const GgufSource& /*source*/, ConfigWriter& config) {
  config.Set("moe_renormalize", true);
  return {};
}

constexpr auto kRows = std::to_array<GgufRun>({
    {"qwen3next", "qwen3_next", kDelta, Qwen3Next},
    {"qwen35", "qwen3_5_text", kDelta, Qwen3Next},
    {"qwen35moe", "qwen3_5_moe_text", kDelta, Qwen3Next},
    {"mamba", "mamba", kMamba, Mamba},
    {"mamba2", "mamba2", kMamba2, Mamba2},
    {"jamba", "jamba", kJamba, Jamba},
    {"falcon-h1", "falcon_h1", kFalconH1, FalconH1},
    {"nemotron_h", "nemotron_h", kNemotronH, NemotronH},
    {"nemotron_h_moe", "nemotron_h", kNemotronH, NemotronH},
    {"lfm2", "lfm2", kLfm2, Lfm2},
    {.architecture = "kimi-linear", .model_type = "kimi_linear", .configure = KimiLinear},
});

}  // namespace

std::span<const GgufRun> RecurrentGgufRuns() { return kRows; }

}  // namespace cairn
