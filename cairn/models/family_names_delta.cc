// Tensor names of families with linear attention.
#include <array>

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
    Rename{"mlp.", "block_sparse_moe."},
};
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
constinit const FamilyTensors kKimiLinearTensors = {.family = "kimi_linear", .hugging_face = kKimi};
constinit const FamilyTensors kMiniMaxTensors = {.family = "minimax", .hugging_face = kMiniMax};
constinit const FamilyTensors kQwen3NextTensors = {.family = "qwen3_next", .gguf = kQwenGguf};
constinit const FamilyTensors kQwen35Tensors = {
    .family = "qwen3_5", .gguf = kQwenGguf, .key_heads_in_turn = true};
constinit const FamilyTensors kRetNetTensors = {.family = "retnet", .hugging_face = kRetNet};

}  // namespace cairn
