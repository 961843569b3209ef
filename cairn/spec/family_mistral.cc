// Mistral: Llama's block with a sliding window on every layer. Its GGUF files say "llama".
#include "cairn/spec/family.h"
#include "cairn/spec/limits.h"

namespace cairn {
namespace {

constexpr LlamaVariant kMistral = {
    .family = "mistral",
    .defaults = {.vocabulary = 32000,
                 .hidden = 4096,
                 .intermediate = 14336,
                 .layers = 32,
                 .heads = 32,
                 .kv_heads = 8,
                 .context_length = 131072},
    .config_has_biases = false,
};

// The class default of a config without the key; null turns the window off.
constexpr int64_t kDefaultWindow = 4096;

Result<ModelSpec> FromConfig(const ConfigSource& source) {
  CAIRN_ASSIGN(ModelSpec model, LlamaLikeFromConfig(source, kMistral));
  const HfConfig& config = source.config;
  CAIRN_ASSIGN(std::optional<int64_t> window,
               config.OptionalInt("sliding_window", {1, kMaxContext}, kDefaultWindow));
  CAIRN_ASSIGN(const bool slides, config.BoolOr("use_sliding_window", true));
  if (!slides) window.reset();
  CAIRN_ASSIGN(const auto sliding,
               SlidingLayersFromConfig(config, model.layers.size(), /*period=*/0));
  for (size_t i = 0; i < sliding.size(); ++i) {
    if (!sliding[i]) continue;
    std::get<AttentionSpec>(model.layers[i].mixer).lifetime =
        WindowLifetime(model.context_length, window);
  }
  return model;
}

}  // namespace

constinit const Family kMistralFamily = {{"mistral"}, FromConfig, "", nullptr};

}  // namespace cairn
