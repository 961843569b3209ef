// Tensor names of DeepSeek V4.
#include <array>

#include "cairn/models/family_names.h"

namespace cairn {
namespace {

constexpr std::array kNames = {
    Rename{"lm_head", "head"},
    Rename{"mixer_norm", "attn_norm"},
    Rename{"feed_forward_norm", "ffn_norm"},
    Rename{"self_attn.", "attn."},
    Rename{"mlp.gate.e_score_correction_bias", "ffn.gate.bias"},
    Rename{"mlp.shared_experts.gate_proj", "ffn.shared_experts.w1"},
    Rename{"mlp.shared_experts.up_proj", "ffn.shared_experts.w3"},
    Rename{"mlp.shared_experts.down_proj", "ffn.shared_experts.w2"},
    Rename{"mlp.", "ffn."},
};

}  // namespace

constinit const FamilyTensors kDeepSeek4Tensors = {.family = "deepseek_v4", .hugging_face = kNames};

}  // namespace cairn
