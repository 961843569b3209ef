#include "cairn/spec/families.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <utility>

#include "cairn/spec/config_drafts.h"
#include "cairn/spec/config_notes.h"
#include "cairn/spec/family.h"
#include "cairn/spec/family_latent.h"
#include "cairn/spec/gguf_architectures.h"
#include "cairn/spec/gguf_config.h"
#include "cairn/spec/gguf_decoder.h"
#include "cairn/spec/gguf_keys.h"
#include "cairn/spec/gguf_mixers.h"
#include "cairn/spec/gguf_run.h"
#include "cairn/spec/hf_config.h"
#include "cairn/spec/quoted.h"
#include "cairn/spec/sized_families.h"

namespace cairn {
namespace {

constexpr std::array kFamilies = {&kLlamaFamily, &kMistralFamily, &kSmolLm3Family,
                                  &kGemmaFamily, &kGemma2Family,  &kGemma3Family};

// Text parts that don't name their own type: what the multimodal class takes by default.
struct DefaultTextType {
  std::string_view outer;
  std::string_view text;
};
constexpr std::array kDefaultTextTypes = {
    DefaultTextType{"gemma3", "gemma3_text"},
    DefaultTextType{"gemma3n", "gemma3n_text"},
    DefaultTextType{"gemma4", "gemma4_text"},
    DefaultTextType{"mistral3", "mistral"},
    DefaultTextType{"llava", "llama"},
    DefaultTextType{"llama4", "llama4_text"},
    DefaultTextType{"mllama", "mllama_text_model"},
    DefaultTextType{"qwen2_vl", "qwen2_vl"},
    DefaultTextType{"qwen2_5_vl", "qwen2_5_vl"},
    DefaultTextType{"qwen3_vl", "qwen3_vl_text"},
    DefaultTextType{"qwen3_5", "qwen3_5_text"},
    DefaultTextType{"kimi_k25", "deepseek_v3"},
    DefaultTextType{"qwen3_5_moe", "qwen3_5_moe_text"},
    DefaultTextType{"lfm2_vl", "lfm2"},
    DefaultTextType{"qwen3_vl_moe", "qwen3_vl_moe_text"},
    DefaultTextType{"qwen4_exp", "qwen4_exp_text"},
    DefaultTextType{"glm5_next", "glm5_next_text"},
    DefaultTextType{"mistral_large4", "mistral_large4_text"},
    DefaultTextType{"qwen2_5_omni", "qwen2"},
    DefaultTextType{"qwen3_omni_moe", "qwen3_moe"},
};

// What keeps nothing from token to token.
constexpr std::array<std::string_view, 14> kEncoders = {
    "bert",       "roberta",    "xlm-roberta", "distilbert", "albert",    "electra", "deberta",
    "deberta-v2", "modernbert", "nomic_bert",  "mpnet",      "camembert", "clip",    "siglip"};
constexpr std::array<std::string_view, 10> kEncoderDecoders = {
    "t5", "mt5", "umt5", "bart", "mbart", "pegasus", "marian", "m2m_100", "whisper", "led"};

std::span<const SizedFamily> (*const kSizedGroups[])() = {
    DecoderFamilies,      ClassicFamilies,    VariantFamilies, SearchedFamilies, GemmaFamilies,
    LatentFamilies,       DeltaFamilies,      MambaFamilies,   HybridFamilies,   RecurrentFamilies,
    SharedLatentFamilies, CompressedFamilies, KdaFamilies,     NgramFamilies,    ConvolvedFamilies,
    RwkvFamilies,         LightningFamilies,  ShapeFamilies};

const SizedFamily* FindSized(std::string_view model_type) {
  for (const auto group : kSizedGroups) {
    for (const SizedFamily& family : group()) {
      if (family.model_type == model_type) return &family;
    }
  }
  return nullptr;
}

const Family* FindByModelType(std::string_view model_type) {
  for (const Family* family : kFamilies) {
    for (const std::string_view name : family->model_types) {
      if (!name.empty() && name == model_type) return family;
    }
  }
  return nullptr;
}

const Family* FindByArchitecture(std::string_view architecture) {
  for (const Family* family : kFamilies) {
    if (family->from_gguf != nullptr && family->architecture == architecture) return family;
  }
  return nullptr;
}

// Those that begin alike; all of them would fill a screen.
std::string SimilarModelTypes(std::string_view model_type) {
  const std::string_view stem = model_type.substr(0, 3);
  std::vector<std::string_view> names;
  size_t known = 0;
  const auto add = [&](std::string_view name) {
    if (name.empty()) return;
    ++known;
    const bool similar = name.starts_with(stem) && !stem.empty();
    if (similar && std::ranges::find(names, name) == names.end()) names.push_back(name);
  };
  for (const Family* family : kFamilies) std::ranges::for_each(family->model_types, add);
  for (const auto group : kSizedGroups) {
    for (const SizedFamily& family : group()) add(family.model_type);
  }
  if (names.empty()) return fmt::format("{} types, llama and qwen3 among them", known);
  return fmt::format("{}", fmt::join(names, ", "));
}

bool Contains(std::span<const std::string_view> names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

Status CheckDecoder(const HfConfig& config, std::string_view model_type) {
  CAIRN_ASSIGN(const bool encoder_decoder, config.BoolOr("is_encoder_decoder", false));
  if (encoder_decoder || Contains(kEncoderDecoders, model_type)) {
    return Fail(
        ErrorCode::kUnsupported,
        "{}: {} is an encoder-decoder, whose state of two lengths isn't sized; decoders are",
        config.where(), Quoted(model_type));
  }
  if (Contains(kEncoders, model_type)) {
    return Fail(ErrorCode::kUnsupported,
                "{}: {} is an encoder, which keeps no state from token to token; decoders do",
                config.where(), Quoted(model_type));
  }
  return {};
}

// A family that can be run reads its config in full; what it doesn't support may still be sized.
Result<ModelSpec> DescribeLayers(const ConfigSource& source, const std::string& model_type) {
  CAIRN_TRY(CheckDecoder(source.config, model_type));
  const Family* family = FindByModelType(model_type);
  const SizedFamily* sized = FindSized(model_type);
  if (family != nullptr) {
    Result<ModelSpec> model = family->from_config(source);
    if (model || sized == nullptr || model.error().code != ErrorCode::kUnsupported) return model;
    Result<ModelSpec> sizes = sized->from_config(source);
    if (sizes) sizes->sizing_only = model.error().message;
    return sizes;
  }
  if (sized != nullptr) return sized->from_config(source);
  return source.config.Unsupported("model_type", SimilarModelTypes(model_type));
}

Result<ModelSpec> Describe(const ConfigSource& source, const std::string& model_type) {
  CAIRN_ASSIGN(ModelSpec model, DescribeLayers(source, model_type));
  for (const LayerSpec& layer : model.layers) {
    const auto* latent = std::get_if<LatentAttentionSpec>(&layer.mixer);
    if (latent == nullptr || !model.uncounted.empty()) continue;
    const std::string missing = MissingForCount(source.config, *latent);
    if (!missing.empty()) model.uncounted = missing + " is missing";
  }
  CAIRN_TRY(AddDraftLayers(source.config, model));
  AddConfigNotes(source, model);
  return model;
}

// The text decoder of a multimodal file, wherever it stands; nothing where the file is one itself.
Result<std::optional<HfConfig>> TextPart(const HfConfig& config) {
  for (const std::string_view key : {"text_config", "language_config", "llm_config"}) {
    CAIRN_ASSIGN(std::optional<HfConfig> text, config.Child(key));
    if (text) return text;
  }
  // A thinker beside a talker is itself of several parts; it has the state that users ask about.
  CAIRN_ASSIGN(std::optional<HfConfig> thinker, config.Child("thinker_config"));
  if (!thinker) return std::nullopt;
  CAIRN_ASSIGN(std::optional<HfConfig> text, thinker->Child("text_config"));
  return text ? std::move(text) : std::move(thinker);
}

Result<std::string> TextModelType(const HfConfig& text, const std::string& outer_type) {
  for (const DefaultTextType& entry : kDefaultTextTypes) {
    if (entry.outer == outer_type) return text.StringOr("model_type", entry.text);
  }
  return text.String("model_type");
}

Result<ModelSpec> ModelSpecFromKeys(const Metadata& metadata, const GgufArchitecture& row) {
  const GgufKeys keys(metadata, row.name);
  CAIRN_ASSIGN(const GgufFrame frame, ReadGgufFrame(keys));
  CAIRN_ASSIGN(const ConfigWriter written, ConfigFromGguf(keys, frame, row.model_type));
  CAIRN_ASSIGN(const HfConfig config, HfConfig::Parse(written.Text(), metadata.where()));
  CAIRN_ASSIGN(ModelSpec model, Describe({.config = config}, std::string(row.model_type)));
  // Its keys tell sizes; not all that is computed is among them.
  if (model.sizing_only.empty()) model.sizing_only = "only what it keeps is described";
  return model;
}

}  // namespace

Result<ModelSpec> ModelSpecFromConfig(std::string_view json, std::string_view where) {
  CAIRN_ASSIGN(const HfConfig config, HfConfig::Parse(json, where));
  CAIRN_ASSIGN(const std::string model_type, config.String("model_type"));
  CAIRN_ASSIGN(const std::optional<HfConfig> text, TextPart(config));
  if (!text) return Describe({.config = config}, model_type);
  CAIRN_ASSIGN(const std::string text_type, TextModelType(*text, model_type));
  ConfigSource source = {.config = *text, .nested = true};
  if (config.Has("tie_word_embeddings")) {
    CAIRN_ASSIGN(source.outer_tied_head, config.BoolOr("tie_word_embeddings", false));
  }
  return Describe(source, text_type);
}

Result<ModelSpec> ModelSpecFromGguf(const Metadata& metadata, const GgufTensors& tensors) {
  CAIRN_ASSIGN(const std::string_view architecture, metadata.String("general.architecture"));
  const Family* family = FindByArchitecture(architecture);
  CAIRN_ASSIGN(const GgufArchitecture* row, FindGgufArchitecture(architecture, metadata.where()));
  if (family == nullptr && !row->model_type.empty()) return ModelSpecFromKeys(metadata, *row);
  if (family == nullptr) {
    CAIRN_ASSIGN(ModelSpec sized, SizedModelFromGguf(metadata, tensors, *row));
    return WithGgufRun(metadata, tensors, std::move(sized), *row);
  }
  Result<ModelSpec> model = family->from_gguf(metadata, tensors);
  if (model || model.error().code != ErrorCode::kUnsupported) return model;
  Result<ModelSpec> sizes = SizedModelFromGguf(metadata, tensors, *row);
  if (sizes) sizes->sizing_only = model.error().message;
  return sizes;
}

}  // namespace cairn
