#include "cairn/models/tensor_names.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "cairn/models/family_names.h"

namespace cairn {
namespace {

constexpr std::array kFamilies = {
    &kGemma2Tensors,        &kGemma3Tensors,    &kHunyuanTensors,       &kHunyuanDenseTensors,
    &kLlama4Tensors,        &kGptOssTensors,    &kMiniMaxTensors,       &kKimiLinearTensors,
    &kBailingHybridTensors, &kRetNetTensors,    &kZayaTensors,          &kLfm2Tensors,
    &kMambaTensors,         &kMamba2Tensors,    &kJambaTensors,         &kNemotronHTensors,
    &kFalconH1Tensors,      &kRwkvTensors,      &kMistralLarge4Tensors, &kGemma3nTensors,
    &kGemma4Tensors,        &kDeepSeek4Tensors, &kQwen3NextTensors,     &kQwen35Tensors,
};

constexpr std::array kGguf = {
    Rename{"layers.", "blk."},
    Rename{"embed_tokens", "token_embd"},
    Rename{"lm_head", "output"},
    Rename{"norm", "output_norm"},
    Rename{"mixer_norm", "attn_norm"},
    Rename{"mixer_output_norm", "post_attention_norm"},
    Rename{"feed_forward_norm", "ffn_norm"},
    Rename{"feed_forward_output_norm", "post_ffw_norm"},
    Rename{"self_attn.q_proj", "attn_q"},
    Rename{"self_attn.k_proj", "attn_k"},
    Rename{"self_attn.v_proj", "attn_v"},
    Rename{"self_attn.qkv_proj", "attn_qkv"},
    Rename{"self_attn.o_proj", "attn_output"},
    Rename{"self_attn.q_norm", "attn_q_norm"},
    Rename{"self_attn.k_norm", "attn_k_norm"},
    Rename{"self_attn.sinks", "attn_sinks.weight"},
    Rename{"mlp.gate_proj", "ffn_gate"},
    Rename{"mlp.up_proj", "ffn_up"},
    Rename{"mlp.down_proj", "ffn_down"},
    Rename{"mlp.gate_up_proj", "ffn_up"},
    Rename{"mlp.gate", "ffn_gate_inp"},
    Rename{"mlp.gate.e_score_correction_bias", "exp_probs_b.bias"},
    Rename{"mlp.experts.gate_proj", "ffn_gate_exps"},
    Rename{"mlp.experts.up_proj", "ffn_up_exps"},
    Rename{"mlp.experts.down_proj", "ffn_down_exps"},
    Rename{"mlp.experts.gate_up_proj", "ffn_gate_up_exps"},
    Rename{"mlp.shared_experts.gate_proj", "ffn_gate_shexp"},
    Rename{"mlp.shared_experts.up_proj", "ffn_up_shexp"},
    Rename{"mlp.shared_experts.down_proj", "ffn_down_shexp"},
    Rename{"mlp.shared_expert_gate", "ffn_gate_inp_shexp"},
    Rename{"mlp.fc1_latent_proj", "ffn_latent_down"},
    Rename{"mlp.fc2_latent_proj", "ffn_latent_up"},
    // Latent attention, and its index.
    Rename{"self_attn.q_a_proj", "attn_q_a"},
    Rename{"self_attn.q_b_proj", "attn_q_b"},
    Rename{"self_attn.q_a_layernorm", "attn_q_a_norm"},
    Rename{"self_attn.kv_a_proj_with_mqa", "attn_kv_a_mqa"},
    Rename{"self_attn.kv_a_layernorm", "attn_kv_a_norm"},
    Rename{"self_attn.kv_b_proj", "attn_kv_b"},
    Rename{"self_attn.k_b_proj", "attn_k_b"},
    Rename{"self_attn.v_b_proj", "attn_v_b"},
    Rename{"self_attn.indexer.wq_b", "indexer.attn_q_b"},
    Rename{"self_attn.indexer.wk", "indexer.attn_k"},
    Rename{"self_attn.indexer.k_norm", "indexer.k_norm"},
    Rename{"self_attn.indexer.weights_proj", "indexer.proj"},
    // Mamba.
    Rename{"mamba.in_proj", "ssm_in"},
    Rename{"mamba.conv1d", "ssm_conv1d"},
    Rename{"mamba.x_proj", "ssm_x"},
    Rename{"mamba.dt_proj", "ssm_dt"},
    Rename{"mamba.dt_bias", "ssm_dt.bias"},
    Rename{"mamba.dt_layernorm", "ssm_dt_norm"},
    Rename{"mamba.b_layernorm", "ssm_b_norm"},
    Rename{"mamba.c_layernorm", "ssm_c_norm"},
    Rename{"mamba.A_log", "ssm_a"},
    Rename{"mamba.D", "ssm_d"},
    Rename{"mamba.norm", "ssm_norm"},
    Rename{"mamba.out_proj", "ssm_out"},
    // The delta rule with a decay for each head, and with one for each channel.
    Rename{"linear_attn.in_proj_qkvz", "ssm_in"},
    Rename{"linear_attn.in_proj_ba", "ssm_ba"},
    Rename{"linear_attn.in_proj_qkv", "attn_qkv"},
    Rename{"linear_attn.in_proj_z", "attn_gate"},
    Rename{"linear_attn.in_proj_b", "ssm_beta"},
    Rename{"linear_attn.in_proj_a", "ssm_alpha"},
    Rename{"linear_attn.conv1d", "ssm_conv1d"},
    Rename{"linear_attn.dt_bias", "ssm_dt.bias"},
    Rename{"linear_attn.A_log", "ssm_a"},
    Rename{"linear_attn.norm", "ssm_norm"},
    Rename{"linear_attn.out_proj", "ssm_out"},
    Rename{"self_attn.q_conv1d", "ssm_conv1d_q"},
    Rename{"self_attn.k_conv1d", "ssm_conv1d_k"},
    Rename{"self_attn.v_conv1d", "ssm_conv1d_v"},
    Rename{"self_attn.f_a_proj", "ssm_f_a"},
    Rename{"self_attn.f_b_proj", "ssm_f_b"},
    Rename{"self_attn.g_a_proj", "ssm_g_a"},
    Rename{"self_attn.g_b_proj", "ssm_g_b"},
    Rename{"self_attn.b_proj", "ssm_beta"},
    Rename{"self_attn.dt_bias", "ssm_dt.bias"},
    Rename{"self_attn.A_log", "ssm_a"},
    Rename{"self_attn.o_norm", "ssm_norm"},
    // Gemma 3n and 4.
    Rename{"embed_tokens_per_layer", "per_layer_token_embd"},
    Rename{"per_layer_model_projection", "per_layer_model_proj"},
    Rename{"per_layer_projection_norm", "per_layer_proj_norm"},
    Rename{"per_layer_input_gate", "inp_gate"},
    Rename{"per_layer_projection", "proj"},
    Rename{"post_per_layer_input_norm", "post_norm"},
    Rename{"altup_projections", "altup_proj"},
    Rename{"altup_unembed_projections", "altup_unembd_proj"},
    Rename{"altup.router_norm", "altup_router_norm"},
    Rename{"altup.modality_router", "altup_router"},
    Rename{"altup.prediction_coefs", "altup_predict_coef"},
    Rename{"altup.correction_coefs", "altup_correct_coef"},
    Rename{"altup.correct_output_scale", "altup_correct_scale.weight"},
    Rename{"laurel.linear_left", "laurel_l"},
    Rename{"laurel.linear_right", "laurel_r"},
    Rename{"laurel.post_laurel_norm", "laurel_post_norm"},
    Rename{"layer_scalar", "layer_output_scale.weight"},
    Rename{"router.scale", "ffn_gate_inp.scale"},
    Rename{"router.per_expert_scale", "ffn_down_exps.scale"},
    Rename{"post_feedforward_layernorm_1", "post_ffw_norm_1"},
    Rename{"pre_feedforward_layernorm_2", "pre_ffw_norm_2"},
    Rename{"post_feedforward_layernorm_2", "post_ffw_norm_2"},
    // A gated convolution.
    Rename{"conv.", "shortconv."},
};

constexpr std::array kHuggingFace = {
    Rename{"mixer_norm", "input_layernorm"},
    Rename{"feed_forward_norm", "post_attention_layernorm"},
};

constexpr std::array<std::string_view, 7> kPrefixes = {"model.",
                                                       "model.language_model.",
                                                       "language_model.model.",
                                                       "language_model.",
                                                       "backbone.",
                                                       "rwkv.",
                                                       ""};
constexpr std::array<std::string_view, 3> kOutside = {"", "language_model.", "model."};

// Other towers, tables that a config determines, and rotations that the spec has taken in.
constexpr std::array<std::string_view, 10> kUnread = {
    "rotary_emb.inv_freq", "rope_freqs.weight",
    "rope_factors_",       "visual.",
    "vision_tower.",       "vision_model.",
    "vision_encoder.",     "multi_modal_projector.",
    "audio_tower.",        "mtp."};

const FamilyTensors* FindFamily(std::string_view name) {
  const auto* const found = std::ranges::find_if(
      kFamilies, [&](const FamilyTensors* family) { return family->family == name; });
  return found == kFamilies.end() ? nullptr : *found;
}

// The name that the rows give exactly this role; empty if none does.
std::string_view NameOfRole(std::span<const Rename> rows, std::string_view role) {
  const auto row = std::ranges::find(rows, role, &Rename::role);
  return row == rows.end() ? std::string_view() : row->name;
}

// The same of a role that begins with a row's.
std::string NameOfBeginning(std::span<const Rename> rows, std::string_view role) {
  for (const Rename& row : rows) {
    if (row.role.ends_with('.') && role.starts_with(row.role)) {
      return fmt::format("{}{}", row.name, role.substr(row.role.size()));
    }
  }
  return "";
}

bool ContainsAny(std::string_view name, std::span<const std::string_view> parts) {
  return std::ranges::any_of(
      parts, [&](std::string_view part) { return name.find(part) != std::string_view::npos; });
}

}  // namespace

TensorNames::TensorNames(const WeightFile& file, const ModelSpec& spec)
    : file_(file),
      spec_(spec),
      gguf_(file.Find("token_embd.weight") != nullptr),
      family_(FindFamily(spec.family)) {
  if (gguf_) return;
  prefix_ = kPrefixes.front();
  for (const std::string_view prefix : kPrefixes) {
    if (file.Find(fmt::format("{}{}.weight", prefix, Resolve("embed_tokens"))) == nullptr) continue;
    prefix_ = prefix;
    return;
  }
}

// A whole role first, then what it is without its suffix, then its beginning.
std::string TensorNames::Resolve(std::string_view role) const {
  std::array<std::span<const Rename>, 2> tables = {std::span<const Rename>(),
                                                   std::span<const Rename>(kHuggingFace)};
  if (gguf_) tables[1] = kGguf;
  if (family_ != nullptr) tables[0] = gguf_ ? family_->gguf : family_->hugging_face;
  for (const std::span<const Rename> rows : tables) {
    const std::string_view name = NameOfRole(rows, role);
    if (!name.empty()) return std::string(name);
  }
  for (const std::string_view suffix : {".weight", ".bias"}) {
    if (!role.ends_with(suffix)) continue;
    return Resolve(role.substr(0, role.size() - suffix.size())) + std::string(suffix);
  }
  for (const std::span<const Rename> rows : tables) {
    std::string name = NameOfBeginning(rows, role);
    if (!name.empty()) return name;
  }
  return std::string(role);
}

std::string TensorNames::Global(std::string_view role) const {
  return fmt::format("{}{}", prefix_, Resolve(role));
}

std::string TensorNames::Layer(LayerIndex layer, std::string_view role) const {
  return fmt::format("{}{}{}.{}", prefix_, Resolve("layers."), layer.value(), Resolve(role));
}

std::string TensorNames::Head() const {
  const std::string head = Resolve("lm_head");
  for (const std::string_view outside : kOutside) {
    if (file_.Find(fmt::format("{}{}.weight", outside, head)) != nullptr) {
      return fmt::format("{}{}", outside, head);
    }
  }
  return head;
}

// Files hold the layers of multi-token prediction behind those of the decoder.
bool TensorNames::BelongsToLaterLayer(std::string_view name) const {
  const std::string layers = fmt::format("{}{}", prefix_, Resolve("layers."));
  if (!name.starts_with(layers)) return false;
  size_t index = 0;
  const char* const begin = name.data() + layers.size();
  const auto [end, error] = std::from_chars(begin, name.data() + name.size(), index);
  return error == std::errc() && end != begin && index >= spec_.layers.size();
}

bool TensorNames::MayStayUnread(std::string_view name) const {
  if (spec_.tied_head && name.substr(0, name.rfind('.')) == Head()) return true;
  if (family_ != nullptr && ContainsAny(name, family_->unread)) return true;
  return ContainsAny(name, kUnread) || BelongsToLaterLayer(name);
}

}  // namespace cairn
