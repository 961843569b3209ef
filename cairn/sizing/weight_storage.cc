#include "cairn/sizing/weight_storage.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <initializer_list>
#include <optional>
#include <utility>
#include <variant>

#include "cairn/base/check.h"
#include "cairn/spec/hf_config.h"

namespace cairn {
namespace {

constexpr size_t kMaxModules = size_t{1} << 20;
constexpr int kMaxGroups = 16;

uint8_t& At(WeightStorage::Choice& choice, WeightPart part) {
  return choice[static_cast<size_t>(part)];
}

WeightFormat Plain(const char* name) {
  const auto format = WeightFormatFromName(name);
  CAIRN_CHECK(format.has_value());
  return *format;
}

bool HasExperts(const ModelSpec& model) {
  return std::ranges::any_of(model.layers, [](const LayerSpec& layer) {
    const auto* mixture = std::get_if<MixtureSpec>(&layer.feed_forward);
    return mixture != nullptr && mixture->experts > 0;
  });
}

using Parts = std::vector<WeightPart>;

const Parts& LinearParts() {
  static const Parts parts = {WeightPart::kMixer, WeightPart::kExperts, WeightPart::kShared,
                              WeightPart::kDense};
  return parts;
}

WeightStorage AllPlain(const ModelSpec& model, WeightFormat plain) {
  WeightStorage storage;
  storage.name = plain.name;
  storage.rule = fmt::format("every weight in {}", plain.name);
  storage.formats.push_back(std::move(plain));
  storage.layers.assign(model.layers.size(), {});
  return storage;
}

void UseInLayers(WeightStorage& storage, uint8_t format, const Parts& parts) {
  for (WeightStorage::Choice& layer : storage.layers) {
    for (const WeightPart part : parts) At(layer, part) = format;
  }
}

bool Contains(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::ranges::any_of(
      words, [&](std::string_view word) { return text.find(word) != std::string_view::npos; });
}

// What a module's name or pattern means here: parts of one layer, or of all.
struct Module {
  std::optional<size_t> layer;
  Parts parts;
  bool head = false;
  bool embedding = false;
};

std::optional<size_t> LayerOf(std::string_view name) {
  constexpr std::string_view kLayers = "layers.";
  const size_t at = name.find(kLayers);
  if (at == std::string_view::npos) return std::nullopt;
  size_t layer = 0;
  size_t digits = 0;
  for (const char letter : name.substr(at + kLayers.size())) {
    if (letter < '0' || letter > '9' || digits == 6) break;
    layer = layer * 10 + static_cast<size_t>(letter - '0');
    ++digits;
  }
  return digits > 0 ? std::optional<size_t>(layer) : std::nullopt;
}

// Names of a layer's modules, most telling first. Small vectors beside a mixer's matrices
// (convolutions, decays) don't make the mixer plain.
Module ModuleOf(std::string_view name) {
  Module module;
  if (Contains(name, {"vision", "visual", "projector", "audio", "mtp", "nextn"})) return module;
  module.layer = LayerOf(name);
  if (Contains(name, {"lm_head"})) {
    module.head = true;
  } else if (Contains(name, {"embed_tokens", "wte"})) {
    module.embedding = true;
  } else if (Contains(name, {"shared_expert"})) {
    module.parts = {WeightPart::kShared};
  } else if (Contains(name, {"conv1d", "in_proj_a", "in_proj_b", "A_log", "dt_", "norm"})) {
    return module;
  } else if (Contains(name, {"router"}) || name == "gate" || name.ends_with(".gate")) {
    return module;  // plain in any case
  } else if (Contains(name, {"experts"})) {
    module.parts = {WeightPart::kExperts};
  } else if (Contains(name, {"attn", "attention", "mixer", "mamba"})) {
    module.parts = {WeightPart::kMixer};
  } else if (Contains(name, {"mlp", "feed_forward", "ffn"})) {
    module.parts = {WeightPart::kDense};
    if (!Contains(name, {"proj", "fc1", "fc2"})) module.parts = LinearParts();
    std::erase(module.parts, WeightPart::kMixer);
  } else if (module.layer) {
    module.parts = LinearParts();
  }
  return module;
}

void Apply(const Module& module, uint8_t format, WeightStorage& storage) {
  if (module.head) At(storage.outside, WeightPart::kHead) = format;
  if (module.embedding) At(storage.outside, WeightPart::kEmbedding) = format;
  if (!module.layer) return UseInLayers(storage, format, module.parts);
  if (*module.layer >= storage.layers.size()) return;
  for (const WeightPart part : module.parts) At(storage.layers[*module.layer], part) = format;
}

Result<std::vector<std::string>> ListOf(const HfConfig& config, std::string_view key) {
  const std::optional<size_t> size = config.ListSize(key);
  if (!size) return std::vector<std::string>();
  if (*size > kMaxModules) return config.Wrong(key, fmt::format("at most {} names", kMaxModules));
  return config.Strings(key, *size);
}

uint8_t AddFormat(WeightStorage& storage, WeightFormat format) {
  storage.formats.push_back(std::move(format));
  return static_cast<uint8_t>(storage.formats.size() - 1);
}

// compressed-tensors and ModelOpt: each group has a form and the modules that are in it.
Result<WeightFormat> GroupFormat(const HfConfig& weights) {
  CAIRN_ASSIGN(const int64_t bits, weights.Int("num_bits", {1, 16}));
  CAIRN_ASSIGN(const auto group, weights.OptionalInt("group_size", {-1, 1 << 20}, std::nullopt));
  CAIRN_ASSIGN(const std::string type, weights.StringOr("type", "int"));
  CAIRN_ASSIGN(const bool symmetric, weights.BoolOr("symmetric", true));
  const int64_t per = std::max<int64_t>(group.value_or(0), 0);
  const bool small_float = type == "float" && bits <= 8;
  std::string name = fmt::format("{}{}", type == "float" ? "fp" : "int", bits);
  if (small_float && bits == 4) name = per == 16 ? "nvfp4" : "mxfp4";
  return GroupedFormat(std::move(name), static_cast<int>(bits), per, small_float ? 8 : 16,
                       !symmetric);
}

Status ApplyGroups(const HfConfig& groups, WeightStorage& storage) {
  for (int i = 0; i < kMaxGroups; ++i) {
    const std::string key = fmt::format("group_{}", i);
    CAIRN_ASSIGN(const auto group, groups.Child(key));
    if (!group) continue;
    CAIRN_ASSIGN(const auto weights, group->Child("weights"));
    if (!weights) continue;
    CAIRN_ASSIGN(WeightFormat format, GroupFormat(*weights));
    CAIRN_ASSIGN(const auto targets, ListOf(*group, "targets"));
    const uint8_t index = AddFormat(storage, std::move(format));
    for (const std::string& target : targets) {
      if (target == "Linear" || target == "re:.*") {
        UseInLayers(storage, index, LinearParts());
      } else {
        Apply(ModuleOf(target), index, storage);
      }
    }
  }
  return {};
}

// Forms that a method's own keys describe.
Result<WeightFormat> MethodFormat(const HfConfig& config, const std::string& method) {
  if (method == "fp8" || method == "fbgemm_fp8") {
    const auto blocks = config.ListSize("weight_block_size");
    if (!blocks) return GroupedFormat("fp8", 8, 0, 0, false);
    CAIRN_ASSIGN(const auto sides, config.Ints("weight_block_size", 2, {1, 1024}));
    return GroupedFormat("fp8", 8, sides[0] * sides[1], 32, false);
  }
  if (method == "mxfp4") return Plain("mxfp4");
  if (method == "awq" || method == "gptq") {
    CAIRN_ASSIGN(const int64_t bits, config.IntOr("bits", {2, 8}, 4));
    CAIRN_ASSIGN(const int64_t group, config.IntOr("group_size", {-1, 1 << 20}, 128));
    return GroupedFormat(method, static_cast<int>(bits), std::max<int64_t>(group, 0), 16, true);
  }
  if (method == "bitsandbytes") {
    CAIRN_ASSIGN(const bool four, config.BoolOr("load_in_4bit", false));
    return Plain(four ? "nf4" : "int8");
  }
  if (method == "modelopt") {
    CAIRN_ASSIGN(const std::string algorithm, config.StringOr("quant_algo", "FP8"));
    if (algorithm == "NVFP4") return Plain("nvfp4");
    if (algorithm == "FP8") return Plain("fp8");
    return config.Unsupported("quant_algo", "NVFP4 or FP8 where there are no config_groups");
  }
  return config.Unsupported("quant_method",
                            "fp8, fbgemm_fp8, compressed-tensors, modelopt, mxfp4, awq, gptq or "
                            "bitsandbytes");
}

Result<WeightStorage> Quantized(const ModelSpec& model, const HfConfig& config,
                                WeightFormat plain) {
  WeightStorage storage = AllPlain(model, std::move(plain));
  CAIRN_ASSIGN(const std::string method, config.StringOr("quant_method", "modelopt"));
  CAIRN_ASSIGN(const auto groups, config.Child("config_groups"));
  if (groups) {
    CAIRN_TRY(ApplyGroups(*groups, storage));
  } else {
    CAIRN_ASSIGN(WeightFormat format, MethodFormat(config, method));
    UseInLayers(storage, AddFormat(storage, std::move(format)), LinearParts());
  }
  size_t left_alone = 0;
  for (const std::string_view key : {"ignore", "modules_to_not_convert", "ignored_layers"}) {
    CAIRN_ASSIGN(const auto modules, ListOf(config, key));
    for (const std::string& module : modules) Apply(ModuleOf(module), 0, storage);
    left_alone += modules.size();
  }
  storage.name = storage.formats.size() > 1 ? storage.formats.back().name : storage.name;
  storage.rule = fmt::format(
      "as quantization_config says ({}): {} in matrices of layers, {} names left alone; embedding, "
      "norms and routers in {}",
      method, storage.name, left_alone, storage.formats.front().name);
  return storage;
}

Result<WeightFormat> PlainFormat(const HfConfig& config) {
  for (const std::string_view key : {"dtype", "torch_dtype"}) {
    if (!config.IsString(key)) continue;
    CAIRN_ASSIGN(const std::string name, config.String(key));
    if (name == "float32") return Plain("f32");
    if (name == "float16") return Plain("f16");
    if (name == "bfloat16") return Plain("bf16");
  }
  return Plain("bf16");
}

}  // namespace

WeightStorage StorageOf(const ModelSpec& model, const WeightFormat& format) {
  if (format.scope == WeightScope::kAll) return AllPlain(model, format);
  const bool matrices = format.scope == WeightScope::kMatrices;
  const bool experts = format.scope == WeightScope::kExperts && HasExperts(model);
  WeightStorage storage = AllPlain(model, Plain(matrices ? "f32" : "bf16"));
  const uint8_t index = AddFormat(storage, format);
  UseInLayers(storage, index, experts ? Parts{WeightPart::kExperts} : LinearParts());
  if (matrices) {
    At(storage.outside, WeightPart::kEmbedding) = index;
    At(storage.outside, WeightPart::kHead) = index;
  }
  storage.name = format.name;
  storage.rule = matrices ? "every matrix in the form; norms and routers in f32, as GGUF files"
                 : experts
                     ? "routed experts in the form; all else in bf16"
                     : "matrices of layers in the form; embedding, head, norms and routers in "
                       "bf16";
  storage.rule += fmt::format(" ({}: {})", format.name, format.rule);
  return storage;
}

Result<WeightStorage> StorageOfCheckpoint(const ModelSpec& model, std::string_view json,
                                          std::string_view where) {
  CAIRN_ASSIGN(const HfConfig top, HfConfig::Parse(json, where));
  CAIRN_ASSIGN(const auto text, top.Child("text_config"));
  const HfConfig& inner = text ? *text : top;
  const bool inside = inner.Has("dtype") || inner.Has("torch_dtype");
  CAIRN_ASSIGN(WeightFormat plain, PlainFormat(inside ? inner : top));
  CAIRN_ASSIGN(auto quantization, top.Child("quantization_config"));
  if (!quantization) {
    CAIRN_ASSIGN(quantization, inner.Child("quantization_config"));
  }
  if (!quantization) return AllPlain(model, std::move(plain));
  CAIRN_ASSIGN(WeightStorage storage, Quantized(model, *quantization, std::move(plain)));
  CAIRN_ASSIGN(const std::string experts, inner.StringOr("expert_dtype", ""));
  if (experts == "fp4") {
    UseInLayers(storage, AddFormat(storage, Plain("mxfp4")), {WeightPart::kExperts});
    storage.rule += "; experts in mxfp4";
  }
  return storage;
}

}  // namespace cairn
