#include "cairn/spec/config_drafts.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "cairn/spec/limits.h"

namespace cairn {
namespace {

constexpr int64_t kMaxDrafts = 64;

// A row for each token, its own.
bool Attends(const LayerSpec& layer) {
  if (const auto* latent = std::get_if<LatentAttentionSpec>(&layer.mixer)) return !latent->source;
  return std::holds_alternative<AttentionSpec>(layer.mixer) ||
         std::holds_alternative<CompressedAttentionSpec>(layer.mixer) ||
         std::holds_alternative<AttentionBesideMambaSpec>(layer.mixer);
}

template <typename Predicate>
std::optional<LayerSpec> LastLayer(const ModelSpec& model, Predicate predicate) {
  const auto found = std::find_if(model.layers.rbegin(), model.layers.rend(), predicate);
  if (found == model.layers.rend()) return std::nullopt;
  return *found;
}

// One word a block; a string of letters in older files.
Result<std::vector<std::string>> DraftBlocks(const HfConfig& config) {
  std::vector<std::string> blocks;
  if (const auto size = config.ListSize("mtp_layers_block_type")) {
    if (*size > kMaxDrafts) {
      return config.Wrong("mtp_layers_block_type", fmt::format("at most {} blocks", kMaxDrafts));
    }
    return config.Strings("mtp_layers_block_type", *size);
  }
  if (!config.Has("mtp_hybrid_override_pattern")) return blocks;
  CAIRN_ASSIGN(const std::string letters, config.String("mtp_hybrid_override_pattern"));
  for (const char letter : letters.substr(0, kMaxDrafts)) {
    blocks.emplace_back(letter == '*' ? "attention" : letter == 'M' ? "mamba" : "feed_forward");
  }
  return blocks;
}

bool IsBlock(const LayerSpec& layer, const std::string& word) {
  if (word == "attention" || word == "full_attention") return Attends(layer);
  if (word == "mamba" || word == "linear_attention") {
    return std::holds_alternative<MambaSpec>(layer.mixer);
  }
  return std::holds_alternative<NoMixer>(layer.mixer);
}

}  // namespace

Result<int64_t> DraftCountFromConfig(const HfConfig& config) {
  constexpr IntRange kRange = {0, kMaxDrafts};
  for (const std::string_view key : {"num_nextn_predict_layers", "mtp_num_hidden_layers"}) {
    if (config.Has(key)) return config.Int(key, kRange);
  }
  CAIRN_ASSIGN(const int64_t modules, config.IntOr("num_mtp_modules", kRange, 0));
  CAIRN_ASSIGN(const int64_t layers, config.IntOr("mtp_transformer_layers", kRange, 1));
  return std::min(modules * layers, kMaxDrafts);
}

Status AddDraftLayers(const HfConfig& config, ModelSpec& model) {
  CAIRN_ASSIGN(const int64_t count, DraftCountFromConfig(config));
  if (count == 0 || !model.draft_layers.empty()) return {};
  CAIRN_ASSIGN(const std::vector<std::string> blocks, DraftBlocks(config));
  std::vector<LayerSpec> module;
  for (const std::string& word : blocks) {
    const auto block =
        LastLayer(model, [&](const LayerSpec& layer) { return IsBlock(layer, word); });
    if (block) module.push_back(*block);
  }
  if (blocks.empty()) {
    if (const auto last = LastLayer(model, Attends)) module.push_back(*last);
  }
  if (module.empty()) return {};
  // Residual and embedding of the token drafted before pass a norm each and one projection.
  module.front().ngram.reset();
  module.front().other_parameters += 2 * model.hidden * (model.hidden + 1);
  for (int64_t i = 0; i < count; ++i) {
    model.draft_layers.insert(model.draft_layers.end(), module.begin(), module.end());
  }
  return {};
}

}  // namespace cairn
