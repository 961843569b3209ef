// Tensor names of families whose layers keep states of fixed size, or some of them.
#include <array>

#include "cairn/models/family_names.h"

namespace cairn {
namespace {

constexpr std::array kLfm2 = {
    Rename{"norm", "embedding_norm"},
    Rename{"mixer_norm", "operator_norm"},
    Rename{"feed_forward_norm", "ffn_norm"},
    Rename{"self_attn.o_proj", "self_attn.out_proj"},
    Rename{"self_attn.q_norm", "self_attn.q_layernorm"},
    Rename{"self_attn.k_norm", "self_attn.k_layernorm"},
    Rename{"mlp.gate_proj", "feed_forward.w1"},
    Rename{"mlp.up_proj", "feed_forward.w3"},
    Rename{"mlp.down_proj", "feed_forward.w2"},
};
constexpr std::array kLfm2Gguf = {
    Rename{"norm", "token_embd_norm"},
};
// A layer has one norm.
constexpr std::array kNemotronHGguf = {
    Rename{"feed_forward_norm", "attn_norm"},
};
// Whatever a layer is made of, it is called its mixer.
constexpr std::array kMamba = {
    Rename{"embed_tokens", "embeddings"},
    Rename{"norm", "norm_f"},
    Rename{"mixer_norm", "norm"},
    Rename{"feed_forward_norm", "norm"},
    Rename{"mamba.", "mixer."},
    Rename{"self_attn.", "mixer."},
    Rename{"mlp.", "mixer."},
};
constexpr std::array kJamba = {
    Rename{"norm", "final_layernorm"},
    Rename{"feed_forward_norm", "pre_ff_layernorm"},
    Rename{"mlp.gate", "feed_forward.router"},
    Rename{"mlp.", "feed_forward."},
};
constexpr std::array kFalconH1 = {
    Rename{"norm", "final_layernorm"},
    Rename{"feed_forward_norm", "pre_ff_layernorm"},
    Rename{"mlp.", "feed_forward."},
};
constexpr std::array kRwkv = {
    Rename{"embed_tokens", "embeddings"},
    Rename{"embedding_norm", "blocks.0.pre_ln"},
    Rename{"layers.", "blocks."},
    Rename{"norm", "ln_out"},
    Rename{"lm_head", "head"},
    Rename{"mixer_norm", "ln1"},
    Rename{"feed_forward_norm", "ln2"},
};

}  // namespace

constinit const FamilyTensors kLfm2Tensors = {
    .family = "lfm2", .hugging_face = kLfm2, .gguf = kLfm2Gguf};
constinit const FamilyTensors kMambaTensors = {.family = "mamba", .hugging_face = kMamba};
constinit const FamilyTensors kMamba2Tensors = {.family = "mamba2", .hugging_face = kMamba};
constinit const FamilyTensors kJambaTensors = {.family = "jamba", .hugging_face = kJamba};
constinit const FamilyTensors kNemotronHTensors = {
    .family = "nemotron_h", .hugging_face = kMamba, .gguf = kNemotronHGguf};
constinit const FamilyTensors kFalconH1Tensors = {.family = "falcon_h1", .hugging_face = kFalconH1};
constinit const FamilyTensors kRwkvTensors = {.family = "rwkv", .hugging_face = kRwkv};

}  // namespace cairn
