// Tensor names of families with latent attention.
#include <array>

#include "cairn/models/family_names.h"

namespace cairn {
namespace {

constexpr std::array kMistralLarge4 = {
    Rename{"embed_tokens", "tok_embeddings"},
    Rename{"lm_head", "output"},
    Rename{"rotary_emb.alpha", "lerope.alpha"},
    Rename{"mixer_norm", "attention_norm"},
    Rename{"feed_forward_norm", "ffn_norm"},
    Rename{"self_attn.q_proj", "attention.wq"},
    Rename{"self_attn.o_proj", "attention.wo"},
    Rename{"self_attn.kv_a_proj_with_mqa", "attention.wkv_a_with_mqa"},
    Rename{"self_attn.kv_a_layernorm", "attention.kv_a_norm"},
    Rename{"self_attn.kv_b_proj", "attention.wkv_b"},
    Rename{"self_attn.softmax_scaling.scale", "attention.ssmax_scaling.s"},
    Rename{"self_attn.softmax_scaling.bias", "attention.ssmax_scaling.b"},
    Rename{"self_attn.indexer.softmax_scaling.scale", "attention.indexer.ssmax_scaling.s"},
    Rename{"self_attn.indexer.softmax_scaling.bias", "attention.indexer.ssmax_scaling.b"},
    Rename{"self_attn.", "attention."},
    Rename{"mlp.gate_proj", "feed_forward.w1"},
    Rename{"mlp.up_proj", "feed_forward.w3"},
    Rename{"mlp.down_proj", "feed_forward.w2"},
    Rename{"mlp.shared_experts.gate_proj", "shared_experts.w1"},
    Rename{"mlp.shared_experts.up_proj", "shared_experts.w3"},
    Rename{"mlp.shared_experts.down_proj", "shared_experts.w2"},
    Rename{"mlp.experts.", "experts."},
    Rename{"mlp.gate", "gate"},
};
// Of the image's way in.
constexpr std::array<std::string_view, 3> kMistralLarge4Unread = {
    "patch_merger.", "pre_mm_projector_norm.", "vision_language_adapter."};

}  // namespace

constinit const FamilyTensors kMistralLarge4Tensors = {
    .family = "mistral_large4", .hugging_face = kMistralLarge4, .unread = kMistralLarge4Unread};

}  // namespace cairn
