#include "cairn/spec/families.h"

#include <fmt/format.h>

#include <array>
#include <string>

#include "cairn/spec/family.h"
#include "cairn/spec/hf_config.h"
#include "cairn/spec/quoted.h"

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
    DefaultTextType{"mistral3", "mistral"},
    DefaultTextType{"llava", "llama"},
};

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

std::string ModelTypes() {
  std::vector<std::string_view> names;
  for (const Family* family : kFamilies) {
    for (const std::string_view name : family->model_types) {
      if (!name.empty()) names.push_back(name);
    }
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string Architectures() {
  std::vector<std::string_view> names;
  for (const Family* family : kFamilies) {
    if (family->from_gguf != nullptr) names.push_back(family->architecture);
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

Result<ModelSpec> Describe(const ConfigSource& source, const std::string& model_type) {
  CAIRN_ASSIGN(const bool encoder_decoder, source.config.BoolOr("is_encoder_decoder", false));
  if (encoder_decoder) return source.config.Unsupported("is_encoder_decoder", "false");
  const Family* family = FindByModelType(model_type);
  if (family == nullptr) return source.config.Unsupported("model_type", ModelTypes());
  return family->from_config(source);
}

Result<std::string> TextModelType(const HfConfig& text, const std::string& outer_type) {
  for (const DefaultTextType& entry : kDefaultTextTypes) {
    if (entry.outer == outer_type) return text.StringOr("model_type", entry.text);
  }
  return text.String("model_type");
}

}  // namespace

Result<ModelSpec> ModelSpecFromConfig(std::string_view json, std::string_view where) {
  CAIRN_ASSIGN(const HfConfig config, HfConfig::Parse(json, where));
  CAIRN_ASSIGN(const std::string model_type, config.String("model_type"));
  CAIRN_ASSIGN(const std::optional<HfConfig> text, config.Child("text_config"));
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
  if (family == nullptr) {
    return Fail(ErrorCode::kUnsupported,
                "{}: key general.architecture {} is not supported; supported: {}", metadata.where(),
                Quoted(architecture), Architectures());
  }
  return family->from_gguf(metadata, tensors);
}

}  // namespace cairn
