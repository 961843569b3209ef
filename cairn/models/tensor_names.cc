#include "cairn/models/tensor_names.h"

#include <fmt/core.h>

#include <array>

namespace cairn {
namespace {

constexpr TensorNames kGguf = {
    .embedding = "token_embd",
    .head = "output",
    .final_norm = "output_norm",
    .layer_prefix = "blk.",
    .mixer_norm = "attn_norm",
    .mixer_output_norm = "post_attention_norm",
    .query = "attn_q",
    .key = "attn_k",
    .value = "attn_v",
    .attention_output = "attn_output",
    .query_norm = "attn_q_norm",
    .key_norm = "attn_k_norm",
    .feed_forward_norm = "ffn_norm",
    .feed_forward_output_norm = "post_ffw_norm",
    .gate = "ffn_gate",
    .up = "ffn_up",
    .down = "ffn_down",
};

constexpr TensorNames kHuggingFace = {
    .embedding = "embed_tokens",
    .head = "lm_head",
    .final_norm = "norm",
    .layer_prefix = "layers.",
    .mixer_norm = "input_layernorm",
    .mixer_output_norm = "",
    .query = "self_attn.q_proj",
    .key = "self_attn.k_proj",
    .value = "self_attn.v_proj",
    .attention_output = "self_attn.o_proj",
    .query_norm = "self_attn.q_norm",
    .key_norm = "self_attn.k_norm",
    .feed_forward_norm = "post_attention_layernorm",
    .feed_forward_output_norm = "",
    .gate = "mlp.gate_proj",
    .up = "mlp.up_proj",
    .down = "mlp.down_proj",
};

// Gemma 2 and 3: "post_attention_layernorm" really comes after attention there.
constexpr TensorNames WithBranchOutputNorms(TensorNames names) {
  names.mixer_output_norm = "post_attention_layernorm";
  names.feed_forward_norm = "pre_feedforward_layernorm";
  names.feed_forward_output_norm = "post_feedforward_layernorm";
  return names;
}

constexpr TensorNames kHuggingFaceFourNorms = WithBranchOutputNorms(kHuggingFace);

constexpr std::array<std::string_view, 4> kPrefixes = {"model.", "model.language_model.",
                                                       "language_model.model.", "language_model."};

}  // namespace

std::string NamingScheme::Global(std::string_view stem) const {
  return fmt::format("{}{}", prefix, stem);
}

std::string NamingScheme::Layer(LayerIndex layer, std::string_view stem) const {
  return fmt::format("{}{}{}.{}", prefix, names->layer_prefix, layer.value(), stem);
}

std::string NamingScheme::Head() const {
  std::string_view outside = prefix;
  if (outside.ends_with("model.")) outside.remove_suffix(std::string_view("model.").size());
  if (outside.ends_with("language_")) outside.remove_suffix(std::string_view("language_").size());
  if (outside.ends_with("model.")) outside = "";
  return fmt::format("{}{}", outside, names->head);
}

NamingScheme NamingSchemeOf(const WeightFile& file, const ModelSpec& spec) {
  if (file.Find("token_embd.weight") != nullptr) return {&kGguf, ""};
  const bool four_norms = !spec.layers.empty() && spec.layers.front().branch_output_norms;
  const TensorNames* names = four_norms ? &kHuggingFaceFourNorms : &kHuggingFace;
  for (const std::string_view prefix : kPrefixes) {
    if (file.Find(fmt::format("{}{}.weight", prefix, names->embedding)) != nullptr) {
      return {names, std::string(prefix)};
    }
  }
  return {names, std::string(kPrefixes.front())};
}

}  // namespace cairn
