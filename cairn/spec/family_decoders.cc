// Llama's relatives: grouped heads, gated networks, and little else between them.
#include <array>

#include "cairn/spec/run_dense.h"
#include "cairn/spec/sized_families.h"

namespace cairn {
namespace {

constexpr Choice kAlways = {"", true};
constexpr Choice kAttentionBias = {"attention_bias", false};
constexpr Choice kPlainBias = {"bias", false};

constexpr DecoderTraits kLlamaLike = {.family = "llama",
                                      .qkv_bias = kAttentionBias,
                                      .output_bias = kAttentionBias,
                                      .feed_forward = {.bias = {"mlp_bias", false}}};
constexpr DecoderTraits kMistralLike = {.family = "mistral", .windows = WindowRule::kAlways};
constexpr DecoderTraits kGranite = {.family = "granite",
                                    .tied_head = true,
                                    .qkv_bias = kAttentionBias,
                                    .output_bias = kAttentionBias};
constexpr DecoderTraits kQwen2 = {.family = "qwen2",
                                  .qkv_bias = kAlways,
                                  .feed_forward = {.shared_gate = true},
                                  .windows = WindowRule::kSwitched};
constexpr DecoderTraits kQwen3 = {.family = "qwen3",
                                  .qkv_bias = kAttentionBias,
                                  .output_bias = kAttentionBias,
                                  .query_key_norm = QueryKeyNorm::kHead,
                                  .windows = WindowRule::kSwitched};
constexpr DecoderTraits kMimo = {
    .family = "mimo", .qkv_bias = {"attention_bias", true}, .windows = WindowRule::kSwitched};
constexpr DecoderTraits kQwen = {.family = "qwen", .qkv_bias = kAlways};
constexpr DecoderTraits kPhi3 = {.family = "phi3", .windows = WindowRule::kAlways};
constexpr DecoderTraits kPhiMoe = {.family = "phimoe",
                                   .qkv_bias = kAttentionBias,
                                   .output_bias = kAttentionBias,
                                   .head_bias = {"lm_head_bias", false},
                                   .norm_vectors = 4,
                                   .final_norm_vectors = 2,
                                   .windows = WindowRule::kAlways};
constexpr DecoderTraits kOlmo2 = {.family = "olmo2", .query_key_norm = QueryKeyNorm::kAllHeads};
constexpr DecoderTraits kOlmo3 = {.family = "olmo3",
                                  .query_key_norm = QueryKeyNorm::kAllHeads,
                                  .windows = WindowRule::kAlways,
                                  .period = 4};
constexpr DecoderTraits kInternLm = {
    .family = "internlm", .qkv_bias = {"bias", true}, .output_bias = {"bias", true}};
constexpr DecoderTraits kInternLm2 = {
    .family = "internlm2", .qkv_bias = kPlainBias, .output_bias = kPlainBias};
constexpr DecoderTraits kOrion = {.family = "orion", .norm_vectors = 4, .final_norm_vectors = 2};
constexpr DecoderTraits kStableLm = {.family = "stablelm",
                                     .qkv_bias = {"use_qkv_bias", false},
                                     .norm_vectors = 4,
                                     .final_norm_vectors = 2};
constexpr DecoderTraits kMiniCpm = {.family = "minicpm",
                                    .tied_head = true,
                                    .qkv_bias = kAttentionBias,
                                    .output_bias = kAttentionBias};
constexpr DecoderTraits kStarCoder2 = {.family = "starcoder2",
                                       .tied_head = true,
                                       .qkv_bias = {"use_bias", true},
                                       .output_bias = {"use_bias", true},
                                       .feed_forward = {.gated = false, .bias = {"use_bias", true}},
                                       .norm_vectors = 4,
                                       .final_norm_vectors = 2,
                                       .windows = WindowRule::kAlways};
constexpr DecoderTraits kCohere = {.family = "cohere",
                                   .tied_head = true,
                                   .qkv_bias = kAttentionBias,
                                   .output_bias = kAttentionBias,
                                   .query_key_norm = QueryKeyNorm::kAllHeads,
                                   .has_query_key_norm = {"use_qk_norm", false},
                                   .norm_vectors = 1};
constexpr DecoderTraits kCohere2 = {.family = "cohere2",
                                    .tied_head = true,
                                    .qkv_bias = kAttentionBias,
                                    .output_bias = kAttentionBias,
                                    .norm_vectors = 1,
                                    .windows = WindowRule::kAlways,
                                    .period = 4};
constexpr DecoderTraits kExaone = {.family = "exaone"};
constexpr DecoderTraits kExaone4 = {.family = "exaone4",
                                    .query_key_norm = QueryKeyNorm::kHead,
                                    .windows = WindowRule::kAlways,
                                    .period = 4};
constexpr DecoderTraits kChatGlm = {.family = "chatglm",
                                    .qkv_bias = {"add_qkv_bias", false},
                                    .output_bias = {"add_bias_linear", false},
                                    .feed_forward = {.bias = {"add_bias_linear", false}}};
constexpr DecoderTraits kGlm4 = {.family = "glm4", .qkv_bias = kAttentionBias, .norm_vectors = 4};
// The class has no biases by default, but every published model has them and says so; a file
// without the key is a shortened copy of one.
constexpr DecoderTraits kGlm4Moe = {.family = "glm4_moe",
                                    .qkv_bias = {"attention_bias", true},
                                    .query_key_norm = QueryKeyNorm::kHead,
                                    .has_query_key_norm = {"use_qk_norm", false},
                                    .feed_forward = {.router_bias = kAlways}};
constexpr DecoderTraits kMiniMaxM2 = {.family = "minimax_m2",
                                      .query_key_norm = QueryKeyNorm::kAllHeads,
                                      .has_query_key_norm = {"use_qk_norm", false},
                                      .feed_forward = {.router_bias = {"use_routing_bias", false}}};
constexpr DecoderTraits kGptOss = {.family = "gpt_oss",
                                   .qkv_bias = {"attention_bias", true},
                                   .output_bias = {"attention_bias", true},
                                   .feed_forward = {.router_bias = kAlways, .expert_bias = true},
                                   .windows = WindowRule::kAlways,
                                   .period = 2,
                                   .sinks = true};
constexpr DecoderTraits kDeepSeek = {
    .family = "deepseek", .qkv_bias = kAttentionBias, .output_bias = kAttentionBias};
constexpr DecoderTraits kHunyuanDense = {.family = "hunyuan_v1_dense",
                                         .qkv_bias = kAttentionBias,
                                         .output_bias = kAttentionBias,
                                         .query_key_norm = QueryKeyNorm::kHead,
                                         .has_query_key_norm = {"use_qk_norm", true}};
constexpr DecoderTraits kNemotron = {.family = "nemotron",
                                     .qkv_bias = kAttentionBias,
                                     .output_bias = kAttentionBias,
                                     .feed_forward = {.gated = false, .bias = {"mlp_bias", false}},
                                     .norm_vectors = 4,
                                     .final_norm_vectors = 2};

// The file's width is of gate and up together.
Result<ModelSpec> QwenFromConfig(const ConfigSource& source) {
  CAIRN_ASSIGN(Dimensions dimensions, DimensionsFromConfig(source.config));
  dimensions.intermediate /= 2;
  return DecoderFromDimensions(source, kQwen, dimensions);
}

// Attention of the sliding layers may differ in ways that these files leave out.
template <const DecoderTraits& traits>
Result<ModelSpec> Uncounted(const ConfigSource& source) {
  CAIRN_ASSIGN(ModelSpec model, DecoderFromConfig(source, traits));
  if (model.uncounted.empty()) model.uncounted = "not all of its weights are described";
  return model;
}

constexpr DecoderTraits kAfmoe = {.family = "afmoe", .windows = WindowRule::kAlways, .period = 4};
constexpr DecoderTraits kStep = {.family = "step3p7", .windows = WindowRule::kAlways};
constexpr DecoderTraits kPhi3Small = {.family = "phi3small",
                                      .tied_head = true,
                                      .qkv_bias = {"", true},
                                      .output_bias = {"", true},
                                      .feed_forward = {.bias = {"", true}},
                                      .norm_vectors = 4,
                                      .final_norm_vectors = 2};

constexpr auto kRows = std::to_array<SizedFamily>({
    {"llama", FromTraits<kLlamaLike>},
    {"smollm3", FromTraits<kLlamaLike>},
    {"mistral", FromTraits<kMistralLike>},
    {"ministral3", FromTraits<kMistralLike>},
    {"mixtral", FromTraits<kMistralLike>},
    {"baichuan", FromTraits<kLlamaLike>},
    {"xverse", FromTraits<kLlamaLike>},
    {"granite", FromTraits<kGranite>},
    {"granitemoe", FromTraits<kGranite>},
    {"qwen", QwenFromConfig},
    {"qwen2", Runs<FromTraits<kQwen2>, RunQwen2>},
    {"qwen2_moe", FromTraits<kQwen2>},
    {"qwen2_vl", FromTraits<kQwen2>},
    {"qwen2_vl_text", FromTraits<kQwen2>},
    {"qwen2_5_vl", FromTraits<kQwen2>},
    {"qwen2_5_vl_text", FromTraits<kQwen2>},
    {"seed_oss", FromTraits<kQwen2>},
    {"qwen3", Runs<FromTraits<kQwen3>, RunQwen3>},
    {"qwen3_moe", Runs<FromTraits<kQwen3>, RunQwen3>},
    {"qwen3_vl_text", FromTraits<kQwen3>},
    {"qwen2_5_omni_text", FromTraits<kQwen2>},
    {"qwen3_omni_moe_text", FromTraits<kQwen3>},
    {"qwen3_vl_moe_text", FromTraits<kQwen3>},
    {"mimo", FromTraits<kMimo>},
    {"phi3", Runs<FromTraits<kPhi3>, RunPhi3>},
    {"phi3_v", FromTraits<kPhi3>},
    {"phi3small", FromTraits<kPhi3Small>},
    {"phimoe", FromTraits<kPhiMoe>},
    {"olmo2", FromTraits<kOlmo2>},
    {"olmoe", FromTraits<kOlmo2>},
    {"olmo3", FromTraits<kOlmo3>},
    {"internlm", FromTraits<kInternLm>},
    {"internlm2", FromTraits<kInternLm2>},
    {"orion", FromTraits<kOrion>},
    {"stablelm", FromTraits<kStableLm>},
    {"minicpm", FromTraits<kMiniCpm>},
    {"starcoder2", FromTraits<kStarCoder2>},
    {"cohere", FromTraits<kCohere>},
    {"cohere2", FromTraits<kCohere2>},
    {"exaone", FromTraits<kExaone>},
    {"exaone4", FromTraits<kExaone4>},
    {"chatglm", FromTraits<kChatGlm>},
    {"glm4", FromTraits<kGlm4>},
    {"glm4_moe", FromTraits<kGlm4Moe>},
    {"minimax_m2", FromTraits<kMiniMaxM2>},
    {"gpt_oss", Runs<FromTraits<kGptOss>, RunGptOss>},
    {"deepseek", FromTraits<kDeepSeek>},
    {"hunyuan_v1_dense", Runs<FromTraits<kHunyuanDense>, RunHunyuanDense>},
    {"hunyuan_v1_moe", FromTraits<kHunyuanDense>},
    {"nemotron", FromTraits<kNemotron>},
    {"afmoe", Uncounted<kAfmoe>},
    {"step3p7", Uncounted<kStep>},
});

}  // namespace

std::span<const SizedFamily> DecoderFamilies() { return kRows; }

}  // namespace cairn
