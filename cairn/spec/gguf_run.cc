#include "cairn/spec/gguf_run.h"

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "cairn/spec/rope_config.h"

namespace cairn {
namespace {

std::span<const GgufRun> (*const kGroups[])() = {DenseGgufRuns, GemmaGgufRuns, LatentGgufRuns,
                                                 RecurrentGgufRuns};

const GgufRun* FindRun(std::string_view architecture) {
  for (const auto group : kGroups) {
    for (const GgufRun& run : group()) {
      if (run.architecture == architecture) return &run;
    }
  }
  return nullptr;
}

// Also of a window that can't bind within the context.
std::string TypeOf(const GgufSource& source, size_t layer) {
  const MixerSpec& mixer = source.sized.layers[layer].mixer;
  const bool attends = std::holds_alternative<AttentionSpec>(mixer) ||
                       std::holds_alternative<SharedAttentionSpec>(mixer) ||
                       std::holds_alternative<LatentAttentionSpec>(mixer);
  if (!attends) return "linear_attention";
  if (!source.layers.slides[layer]) return "full_attention";
  return source.layers.chunked ? "chunked_attention" : "sliding_attention";
}

std::vector<std::string> NetworkTypesOf(const ModelSpec& sized) {
  std::vector<std::string> types;
  for (const LayerSpec& layer : sized.layers) {
    const bool mixture = std::holds_alternative<MixtureSpec>(layer.feed_forward);
    types.emplace_back(mixture ? "sparse" : "dense");
  }
  return types;
}

// Frequencies that the file holds beside its keys.
Status ApplyDivisors(const GgufSource& source, ModelSpec& model) {
  const std::vector<float>& divisors = source.tensors.rope_divisors;
  if (divisors.empty()) return {};
  bool taken = false;
  for (LayerSpec& layer : model.layers) {
    auto* attention = std::get_if<AttentionSpec>(&layer.mixer);
    auto* both = std::get_if<AttentionBesideMambaSpec>(&layer.mixer);
    if (both != nullptr) attention = &both->attention;
    if (attention == nullptr || !attention->rope) continue;
    Rope& rope = *attention->rope;
    CAIRN_ASSIGN(rope.scaling,
                 RopeScalingWithDivisors(rope.scaling, divisors, rope.width, source.keys.where()));
    taken = true;
  }
  if (taken) return {};
  return Fail(ErrorCode::kUnsupported, "{}: tensor rope_freqs.weight isn't part of a {} model",
              source.keys.where(), model.family);
}

Result<ModelSpec> Describe(const GgufSource& source, const GgufRun& run) {
  CAIRN_ASSIGN(ConfigWriter config, ConfigFromGguf(source.keys, source.frame, run.model_type));
  const bool latent = source.keys.Has("attention.kv_lora_rank");
  CAIRN_TRY(AddRunKeys(source.keys, latent ? 0 : source.frame.key_width, config));
  config.Set("tie_word_embeddings", source.sized.tied_head);
  config.Set("layer_types", LayerTypesOf(source));
  const std::vector<std::string> networks = NetworkTypesOf(source.sized);
  if (config.Has("n_routed_experts")) config.Set("mlp_layer_types", networks);
  CAIRN_TRY(CopyKeys(source.keys, run.names, config));
  if (run.configure != nullptr) CAIRN_TRY(run.configure(source, config));
  CAIRN_ASSIGN(ModelSpec model, ModelSpecFromConfig(config.Text(), source.keys.where()));
  if (!model.sizing_only.empty()) return model;
  if (run.takes_divisors) CAIRN_TRY(ApplyDivisors(source, model));
  // Converters add the 1.
  model.norm_weight_plus_one = false;
  return model;
}

// What is kept, whether or not it was turned before.
StateSpec KeptBy(const ModelSpec& model) {
  StateSpec state = StateSpecOf(model, {});
  for (LayerState& layer : state.layers) {
    for (Component& component : layer.components) {
      if (auto* rows = std::get_if<Rows>(&component)) rows->position = PositionApplied::kNone;
    }
  }
  return state;
}

}  // namespace

std::vector<std::string> LayerTypesOf(const GgufSource& source) {
  std::vector<std::string> types;
  for (size_t i = 0; i < source.layers.slides.size(); ++i) types.push_back(TypeOf(source, i));
  return types;
}

ModelSpec WithGgufRun(const Metadata& metadata, const GgufTensors& tensors, ModelSpec sized,
                      const GgufArchitecture& architecture) {
  const GgufRun* const run = FindRun(architecture.name);
  if (run == nullptr) return sized;
  const GgufKeys keys(metadata, run->architecture);
  const Result<GgufFrame> frame = ReadGgufFrame(keys);
  if (!frame) return sized;
  const auto layers = LayersFromGguf(keys, *frame, tensors, architecture, /*has_index=*/false);
  if (!layers) return sized;
  Result<ModelSpec> model = Describe(
      {.keys = keys, .frame = *frame, .tensors = tensors, .sized = sized, .layers = *layers}, *run);
  if (!model || !model->sizing_only.empty()) {
    sized.sizing_only = model ? model->sizing_only : model.error().message;
    return sized;
  }
  // Heads that differ by layer, and what else a config of the family can't say.
  if (KeptBy(*model) != KeptBy(sized)) {
    sized.sizing_only = fmt::format("{}: its layers keep something else than those of {}",
                                    metadata.where(), run->model_type);
    return sized;
  }
  model->uncounted = std::move(sized.uncounted);
  model->draft_layers = std::move(sized.draft_layers);
  model->notes.insert(model->notes.end(), sized.notes.begin(), sized.notes.end());
  return *std::move(model);
}

}  // namespace cairn
