// Mistral Large 4: latent attention whose rows, and whose picks among them, several layers share.
#include <array>
#include <string>

#include "cairn/spec/family_latent.h"
#include "cairn/spec/limits.h"
#include "cairn/spec/run_latent.h"
#include "cairn/spec/sized_families.h"

namespace cairn {
namespace {

// kv_source_layers: whose latent rows each layer reads; its own number where it keeps some.
Result<std::vector<int64_t>> LatentSources(const HfConfig& config, size_t layers) {
  constexpr std::string_view kKey = "kv_source_layers";
  std::vector<int64_t> sources(layers);
  for (size_t i = 0; i < layers; ++i) sources[i] = static_cast<int64_t>(i);
  if (!config.Has(kKey)) return sources;
  CAIRN_ASSIGN(sources, config.Ints(kKey, layers, {0, static_cast<int64_t>(layers) - 1}));
  for (size_t i = 0; i < layers; ++i) {
    const auto from = static_cast<size_t>(sources[i]);
    if (from <= i && sources[from] == sources[i]) continue;
    return config.Wrong(kKey, "for each layer itself or an earlier layer that keeps its own rows");
  }
  return sources;
}

// 0: the layer's queries and keys don't turn, and no row for the turning part is kept.
Result<std::vector<int64_t>> TurningLayers(const HfConfig& config, size_t layers) {
  if (!config.Has("no_rope_layers")) return std::vector<int64_t>(layers, 1);
  return config.Ints("no_rope_layers", layers, {0, 1});
}

// A scale and an offset by which the logarithm of the position stretches the queries of each head;
// on the indexer's input a LayerNorm.
void AddScales(int64_t hidden, LatentAttentionSpec& attention) {
  attention.other_parameters += 2 * attention.heads;
  if (attention.index) {
    attention.other_parameters += 2 * attention.index->query_heads + 2 * hidden;
  }
}

Result<ModelSpec> MistralLarge4FromConfig(const ConfigSource& source) {
  const HfConfig& config = source.config;
  CAIRN_ASSIGN(Dimensions frame, FrameFromConfig(config));
  CAIRN_ASSIGN(const LatentAttentionSpec latent, LatentFromConfig(config));
  CAIRN_ASSIGN(const auto index, IndexFromConfig(config));
  CAIRN_ASSIGN(const int64_t picks, PicksFromConfig(config));
  frame.heads = latent.heads;
  CAIRN_ASSIGN(ModelSpec model, SizedModel(source, "mistral_large4", frame, false));
  std::string missing;
  CAIRN_ASSIGN(const auto networks, FeedForwardsFromConfig(config, frame, {}, missing));
  if (!missing.empty()) model.uncounted = missing + " is missing";
  const size_t layers = networks.size();
  CAIRN_ASSIGN(const auto sources, LatentSources(config, layers));
  CAIRN_ASSIGN(const auto turns, TurningLayers(config, layers));
  CAIRN_ASSIGN(const auto indexed, IndexedLayers(config, layers));
  for (size_t i = 0; i < layers; ++i) {
    const auto from = static_cast<size_t>(sources[i]);
    if (turns[i] != turns[from]) {
      return config.Wrong("no_rope_layers", "alike for layers that share their rows");
    }
    LatentAttentionSpec attention = latent;
    if (turns[i] == 0) {
      attention.key_width += attention.rope_width;
      attention.rope_width = 0;
    }
    if (from != i) attention.source = LayerIndex(static_cast<int32_t>(from));
    if (index) attention.picks = picks;
    if (index && indexed[i]) attention.index = index;
    AddScales(frame.hidden, attention);
    model.layers.push_back({.mixer = attention, .feed_forward = networks[i]});
  }
  model.other_parameters += latent.rope_width / 2;  // a trained factor of each frequency
  return model;
}

constexpr auto kRows = std::to_array<SizedFamily>({
    {"mistral_large4_text", Runs<MistralLarge4FromConfig, RunMistralLarge4>},
});

}  // namespace

std::span<const SizedFamily> SharedLatentFamilies() { return kRows; }

}  // namespace cairn
