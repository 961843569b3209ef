// GGUF files of families with latent attention.
#include <array>
#include <string_view>

#include "cairn/spec/gguf_run.h"

namespace cairn {
namespace {

enum Gating : int64_t { kUnstated = 0, kSoftmax = 1, kSigmoid = 2 };

bool HasChoiceBias(const GgufSource& source) {
  for (size_t i = 0; i < source.sized.layers.size(); ++i) {
    if (source.tensors.has(fmt::format("blk.{}.exp_probs_b.bias", i))) return true;
  }
  return false;
}

// Older files don't say how experts are scored; only sigmoids come with biases of the choice.
Result<int64_t> GatingOf(const GgufSource& source) {
  constexpr std::string_view kGating = "expert_gating_func";
  CAIRN_ASSIGN(const int64_t gating, source.keys.IntOr(kGating, {0, 1 << 10}, kUnstated));
  if (gating == kUnstated) return HasChoiceBias(source) ? kSigmoid : kSoftmax;
  if (gating == kSoftmax || gating == kSigmoid) return gating;
  return Fail(ErrorCode::kUnsupported, "{}: key {} is {}; supported: 1 (softmax), 2 (sigmoid)",
              source.keys.where(), source.keys.Key(kGating), gating);
}

// What an absent key means here isn't what the families' classes take by default.
Status Latent(const GgufSource& source, ConfigWriter& config) {
  constexpr std::string_view kTemperature = "attention.temperature_scale";
  if (source.keys.Has(kTemperature)) {
    return Fail(ErrorCode::kUnsupported, "{}: key {} is not supported", source.keys.where(),
                source.keys.Key(kTemperature));
  }
  const auto set_absent = [&](std::string_view key, ConfigWriter::Value value) {
    if (!config.Has(key)) config.Set(key, std::move(value));
  };
  set_absent("n_group", int64_t{1});
  set_absent("topk_group", int64_t{1});
  set_absent("norm_topk_prob", false);
  set_absent("routed_scaling_factor", 1.0);
  // A tenth of it, for the sake of the first files.
  constexpr std::string_view kLogMultiplier = "rope.scaling.yarn_log_multiplier";
  if (!source.keys.Has(kLogMultiplier)) return {};
  CAIRN_ASSIGN(const double multiplier, source.keys.Float(kLogMultiplier));
  config.Set("rope_scaling.mscale", multiplier * 10);
  config.Set("rope_scaling.mscale_all_dim", multiplier * 10);
  return {};
}

// One architecture for several families: how they score experts tells which.
Status DeepSeek2(const GgufSource& source, ConfigWriter& config) {
  CAIRN_TRY(Latent(source, config));
  CAIRN_ASSIGN(const int64_t gating, GatingOf(source));
  if (gating == kSigmoid) {
    config.Set("model_type", "deepseek_v3");
    return {};
  }
  CAIRN_ASSIGN(const int64_t groups, source.keys.IntOr("expert_group_count", {0, 1 << 16}, 1));
  config.Set("topk_method", groups > 1 ? "group_limited_greedy" : "greedy");
  return {};
}

Status Sigmoid(const GgufSource& source, ConfigWriter& config) {
  CAIRN_TRY(Latent(source, config));
  CAIRN_ASSIGN(const int64_t gating, GatingOf(source));
  if (gating == kSigmoid) return {};
  return Fail(ErrorCode::kUnsupported, "{}: key {} is {}; supported: 2 (sigmoid)",
              source.keys.where(), source.keys.Key("expert_gating_func"), gating);
}

constexpr auto kRows = std::to_array<GgufRun>({
    {.architecture = "deepseek2", .model_type = "deepseek_v2", .configure = DeepSeek2},
    {.architecture = "deepseek32", .model_type = "deepseek_v32", .configure = Sigmoid},
    {.architecture = "glm-dsa", .model_type = "glm_moe_dsa", .configure = Sigmoid},
});

}  // namespace

std::span<const GgufRun> LatentGgufRuns() { return kRows; }

}  // namespace cairn
