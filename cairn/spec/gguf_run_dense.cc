// GGUF files of attention-only families.
#include <array>
#include <string>
#include <variant>
#include <vector>

#include "cairn/spec/gguf_run.h"

namespace cairn {
namespace {

const AttentionSpec* FirstAttention(const ModelSpec& sized) {
  for (const LayerSpec& layer : sized.layers) {
    if (const auto* attention = std::get_if<AttentionSpec>(&layer.mixer)) return attention;
  }
  return nullptr;
}

// Biases and norms are where the tensors are.
Status AddAttention(const GgufSource& source, ConfigWriter& config) {
  const AttentionSpec* attention = FirstAttention(source.sized);
  if (attention == nullptr) return {};
  config.Set("attention_bias", attention->qkv_bias);
  config.Set("use_qk_norm", attention->query_key_norm);
  return {};
}

// These always weigh by shares of the picked experts.
Status Qwen3Moe(const GgufSource& source, ConfigWriter& config) {
  if (!config.Has("norm_topk_prob")) config.Set("norm_topk_prob", true);
  return AddAttention(source, config);
}

// Divisors of the frequencies stand in two tensors.
Status Phi3(const GgufSource& source, ConfigWriter& config) {
  const GgufTensors& tensors = source.tensors;
  if (tensors.rope_short_divisors.empty()) return {};
  const auto list = [](const std::vector<float>& values) {
    return std::vector<double>(values.begin(), values.end());
  };
  config.Set("rope_scaling.rope_type", "longrope");
  config.Set("rope_scaling.short_factor", list(tensors.rope_short_divisors));
  config.Set("rope_scaling.long_factor", list(tensors.rope_long_divisors));
  constexpr auto kNames = std::to_array<GgufName>({
      {"rope.scaling.original_context_length", "rope_scaling.original_max_position_embeddings"},
      {"rope.scaling.attn_factor", "rope_scaling.attention_factor", GgufName::Kind::kNumber},
  });
  return CopyKeys(source.keys, kNames, config);
}

Status GptOss(const GgufSource& source, ConfigWriter& config) {
  if (config.Has("rope_scaling.factor")) config.Set("rope_scaling.truncate", false);
  return AddAttention(source, config);
}

// Every fourth layer sees everything and doesn't turn, unless chunks are switched off. The files
// don't say that the largest of these models leaves out the norms.
Status Llama4(const GgufSource& source, ConfigWriter& config) {
  constexpr int64_t kExpertsOfLargest = 128;
  CAIRN_ASSIGN(const int64_t experts, source.keys.IntOr("expert_count", {0, 1 << 16}, 0));
  const std::vector<std::string> types = LayerTypesOf(source);
  std::vector<int64_t> turns;
  bool chunked = false;
  for (size_t i = 0; i < types.size(); ++i) {
    chunked = chunked || types[i] == "chunked_attention";
    turns.push_back((i + 1) % 4 != 0 ? 1 : 0);
  }
  if (!chunked) turns.assign(types.size(), 1);
  config.Set("no_rope_layers", turns);
  config.Set("use_qk_norm", experts != kExpertsOfLargest);
  return {};
}

constexpr auto kRows = std::to_array<GgufRun>({
    {.architecture = "qwen2", .model_type = "qwen2"},
    {.architecture = "qwen3", .model_type = "qwen3", .configure = AddAttention},
    {.architecture = "qwen3moe", .model_type = "qwen3_moe", .configure = Qwen3Moe},
    {.architecture = "phi3", .model_type = "phi3", .configure = Phi3},
    {.architecture = "hunyuan-dense", .model_type = "hunyuan_v1_dense", .configure = AddAttention},
    {.architecture = "gpt-oss", .model_type = "gpt_oss", .configure = GptOss},
    {.architecture = "llama4", .model_type = "llama4_text", .configure = Llama4},
});

}  // namespace

std::span<const GgufRun> DenseGgufRuns() { return kRows; }

}  // namespace cairn
