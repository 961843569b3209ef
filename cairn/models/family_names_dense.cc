// Tensor names of attention-only families.
#include <array>

#include "cairn/models/family_names.h"

namespace cairn {
namespace {

// "post_attention_layernorm" really comes after attention there.
constexpr std::array kFourNorms = {
    Rename{"mixer_output_norm", "post_attention_layernorm"},
    Rename{"feed_forward_norm", "pre_feedforward_layernorm"},
    Rename{"feed_forward_output_norm", "post_feedforward_layernorm"},
};
constexpr std::array kHunyuan = {
    Rename{"self_attn.q_norm", "self_attn.query_layernorm"},
    Rename{"self_attn.k_norm", "self_attn.key_layernorm"},
};
constexpr std::array kHunyuanShared = {
    Rename{"self_attn.q_norm", "self_attn.query_layernorm"},
    Rename{"self_attn.k_norm", "self_attn.key_layernorm"},
    Rename{"mlp.gate", "mlp.gate.wg"},
    Rename{"mlp.shared_expert.", "mlp.shared_mlp."},
};
constexpr std::array kLlama4 = {
    Rename{"mlp.gate", "feed_forward.router"},
    Rename{"mlp.", "feed_forward."},
};
constexpr std::array kGptOss = {
    Rename{"mlp.gate", "mlp.router"},
};
constexpr std::array kGptOssGguf = {
    Rename{"feed_forward_norm", "post_attention_norm"},
};

}  // namespace

constinit const FamilyTensors kGemma2Tensors = {.family = "gemma2", .hugging_face = kFourNorms};
constinit const FamilyTensors kGemma3Tensors = {.family = "gemma3", .hugging_face = kFourNorms};
constinit const FamilyTensors kHunyuanDenseTensors = {.family = "hunyuan_v1_dense",
                                                      .hugging_face = kHunyuan};
constinit const FamilyTensors kHunyuanTensors = {.family = "hunyuan",
                                                 .hugging_face = kHunyuanShared};
constinit const FamilyTensors kLlama4Tensors = {
    .family = "llama4", .hugging_face = kLlama4, .transposed_experts = true};
constinit const FamilyTensors kGptOssTensors = {.family = "gpt_oss",
                                                .hugging_face = kGptOss,
                                                .gguf = kGptOssGguf,
                                                .transposed_experts = true,
                                                .interleaved_experts = true};

}  // namespace cairn
