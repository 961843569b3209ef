// Tensor names of families whose attention reads its rows otherwise.
#include <array>

#include "cairn/models/family_names.h"

namespace cairn {
namespace {

constexpr std::array kZaya = {
    Rename{"self_attn.q_proj", "self_attn.qkv_proj.q_proj"},
    Rename{"self_attn.k_proj", "self_attn.qkv_proj.k_proj"},
};

}  // namespace

constinit const FamilyTensors kZayaTensors = {.family = "zaya", .hugging_face = kZaya};

}  // namespace cairn
