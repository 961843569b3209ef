// Tensor names of Gemma 3n and 4.
#include <array>

#include "cairn/models/family_names.h"

namespace cairn {
namespace {

// "post_attention_layernorm" really comes after attention there.
constexpr std::array kNames = {
    Rename{"mixer_output_norm", "post_attention_layernorm"},
    Rename{"feed_forward_norm", "pre_feedforward_layernorm"},
    Rename{"feed_forward_output_norm", "post_feedforward_layernorm"},
    Rename{"mlp.gate", "router.proj"},
    Rename{"mlp.experts.", "experts."},
};
// Layers that read another's rows may hold projections of their own in the file.
constexpr std::array<std::string_view, 8> kUnread = {
    "self_attn.k_proj", "self_attn.v_proj", "self_attn.k_norm", "attn_k.",
    "attn_v.",          "attn_k_norm.",     "embed_vision.",    "embed_audio."};

}  // namespace

constinit const FamilyTensors kGemma3nTensors = {
    .family = "gemma3n", .hugging_face = kNames, .unread = kUnread};
constinit const FamilyTensors kGemma4Tensors = {
    .family = "gemma4", .hugging_face = kNames, .unread = kUnread};

}  // namespace cairn
