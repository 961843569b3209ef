// Tensor names of families with linear attention.
#include <array>
#include <string_view>

#include "cairn/models/family_names.h"

namespace cairn {
namespace {

constexpr std::array kMiniMax = {
    Rename{"mlp.", "block_sparse_moe."},
};
// "post_attention_norm" really comes before the network there.
constexpr std::array kQwenGguf = {
    Rename{"feed_forward_norm", "post_attention_norm"},
};
constexpr std::array kKimi = {
    Rename{"dense_mlp.", "mlp."},
    Rename{"mlp.fc1_latent_proj", "block_sparse_moe.routed_expert_down_proj"},
    Rename{"mlp.latent_norm", "block_sparse_moe.routed_expert_norm"},
    Rename{"mlp.fc2_latent_proj", "block_sparse_moe.routed_expert_up_proj"},
    Rename{"mlp.", "block_sparse_moe."},
};
// Before the first layer there is nothing to mix.
constexpr std::array<std::string_view, 2> kKimiUnread = {"layers.0.self_attention_res_",
                                                         "mm_projector."};
constexpr std::array kRetNet = {
    Rename{"embed_tokens", "embeddings"},
    Rename{"mixer_norm", "attn_norm"},
    Rename{"feed_forward_norm", "mlp_norm"},
    Rename{"self_attn.", "attn."},
};
constexpr std::array kBailing = {
    Rename{"embed_tokens", "word_embeddings"},
    Rename{"self_attn.o_proj", "attention.dense"},
    Rename{"self_attn.", "attention."},
    Rename{"mlp.gate.e_score_correction_bias", "mlp.gate.expert_bias"},
};

}  // namespace

constinit const FamilyTensors kBailingHybridTensors = {.family = "bailing_hybrid",
                                                       .hugging_face = kBailing};
constinit const FamilyTensors kKimiLinearTensors = {
    .family = "kimi_linear", .hugging_face = kKimi, .unread = kKimiUnread};
constinit const FamilyTensors kMiniMaxTensors = {.family = "minimax", .hugging_face = kMiniMax};
constinit const FamilyTensors kQwen3NextTensors = {.family = "qwen3_next", .gguf = kQwenGguf};
constinit const FamilyTensors kQwen35Tensors = {
    .family = "qwen3_5", .gguf = kQwenGguf, .key_heads_in_turn = true};
constinit const FamilyTensors kRetNetTensors = {.family = "retnet", .hugging_face = kRetNet};

}  // namespace cairn
