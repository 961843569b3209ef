#include "cairn/spec/gguf_decoder.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cairn/spec/config_dimensions.h"
#include "cairn/spec/gguf_keys.h"
#include "cairn/spec/gguf_mixers.h"
#include "cairn/spec/gguf_networks.h"
#include "cairn/spec/limits.h"

namespace cairn {
namespace {

constexpr std::string_view kPattern = "attention.sliding_window_pattern";
constexpr IntRange kFlag = {0, 1};

std::vector<bool> Flags(const std::vector<int64_t>& numbers) {
  std::vector<bool> flags;
  flags.reserve(numbers.size());
  for (const int64_t number : numbers) flags.push_back(number != 0);
  return flags;
}

class DecoderReader {
 public:
  DecoderReader(const Metadata& metadata, const GgufTensors& tensors,
                const GgufArchitecture& architecture)
      : keys_(metadata, architecture.name), tensors_(tensors), row_(architecture) {}

  Result<ModelSpec> Read() {
    CAIRN_ASSIGN(frame_, ReadGgufFrame(keys_));
    CAIRN_TRY(ReadParts());
    CAIRN_ASSIGN(ModelSpec model, Surroundings());
    CAIRN_ASSIGN(const auto networks, NetworksFromGguf(keys_, frame_, tensors_, row_.gated));
    for (size_t i = 0; i < Layers(); ++i) {
      LayerSpec layer = {.mixer = NoMixer{}, .feed_forward = networks[i]};
      CAIRN_ASSIGN(layer.mixer, MixerAt(i));
      model.layers.push_back(std::move(layer));
    }
    CAIRN_TRY(ShareLastLayers(model));
    return model;
  }

 private:
  size_t Layers() const { return static_cast<size_t>(frame_.blocks.layers); }

  Result<ModelSpec> Surroundings() const {
    ModelSpec model;
    model.family = row_.family;
    model.hidden = frame_.hidden;
    model.context_length = frame_.context_length;
    model.norm_epsilon = 1e-6;
    model.sizing_only = "only what it keeps is described";
    model.uncounted = "a GGUF file's parameters are those of its table of tensors";
    model.tied_head = tensors_.complete && !tensors_.has("output.weight");
    CAIRN_ASSIGN(const auto vocabulary, GgufVocabulary(keys_));
    model.vocabulary = vocabulary.value_or(0);
    return model;
  }

  Status ReadParts() {
    CAIRN_ASSIGN(latent_, LatentFromGguf(keys_, frame_));
    CAIRN_ASSIGN(index_, IndexFromGguf(keys_));
    CAIRN_ASSIGN(picks_, keys_.IntOr("attention.indexer.top_k", {0, kMaxContext}, 0));
    CAIRN_ASSIGN(recurrent_, RecurrentLayers());
    CAIRN_ASSIGN(slides_, SlidingLayers());
    CAIRN_ASSIGN(indexed_, IndexedLayers());
    const bool any = std::ranges::find(recurrent_, true) != recurrent_.end();
    if (!any) return {};
    const int64_t heads = *std::ranges::max_element(frame_.heads);
    CAIRN_ASSIGN(recurrent_mixer_, RecurrentFromGguf(keys_, frame_, row_.recurrent, heads));
    return {};
  }

  Result<std::vector<bool>> RecurrentLayers() const {
    std::vector<bool> recurrent(Layers(), row_.recurrent != GgufRecurrent::kNothing);
    switch (row_.recurrent_layers) {
      case GgufRecurrentLayers::kAll:
      case GgufRecurrentLayers::kBesideAttention:
        return recurrent;
      case GgufRecurrentLayers::kWithoutHeads:
        for (size_t i = 0; i < Layers(); ++i) recurrent[i] = frame_.kv_heads[i] == 0;
        return recurrent;
      case GgufRecurrentLayers::kWithoutNetwork:
        for (size_t i = 0; i < Layers(); ++i) {
          recurrent[i] = frame_.kv_heads[i] == 0 && frame_.intermediate[i] == 0;
        }
        return recurrent;
      case GgufRecurrentLayers::kByInterval:
        return RecurrentByInterval();
    }
    return recurrent;
  }

  Result<std::vector<bool>> RecurrentByInterval() const {
    constexpr std::string_view kListed = "attention.recurrent_layers";
    if (keys_.Has(kListed)) {
      CAIRN_ASSIGN(const auto listed, keys_.PerLayer(kListed, frame_.blocks, kFlag));
      return Flags(listed);
    }
    CAIRN_ASSIGN(const int64_t interval,
                 keys_.IntOr("full_attention_interval", {1, kMaxLayers}, row_.interval));
    std::vector<bool> recurrent(Layers());
    for (size_t i = 0; i < Layers(); ++i) {
      recurrent[i] = (static_cast<int64_t>(i) + 1) % interval != 0;
    }
    return recurrent;
  }

  // By the pattern's list, else by its period, which is one number; with neither a window nor a
  // chunk none slides.
  Result<std::vector<bool>> SlidingLayers() {
    CAIRN_ASSIGN(window_, keys_.IntOr("attention.sliding_window", {0, kMaxContext}, row_.window));
    // Chunks are switched off by a window of 0.
    chunked_ = row_.chunk != 0 && (window_ != 0 || !keys_.Has("attention.sliding_window"));
    if (window_ == 0 && !chunked_) return std::vector<bool>(Layers(), false);
    if (keys_.IsArray(kPattern)) {
      CAIRN_ASSIGN(const auto listed, keys_.PerLayer(kPattern, frame_.blocks, kFlag));
      return Flags(listed);
    }
    CAIRN_ASSIGN(const int64_t period, keys_.IntOr(kPattern, {0, kMaxLayers}, row_.period));
    std::vector<bool> slides(Layers(), true);
    for (size_t i = 0; i < Layers() && period != 0; ++i) {
      const auto layer = static_cast<int64_t>(i);
      slides[i] = row_.full_first ? layer % period != 0 : (layer + 1) % period != 0;
    }
    return slides;
  }

  // Where all tensors are known and some layer has an index.
  bool IndexedByTensors(std::vector<bool>& indexed) const {
    std::vector<bool> found(Layers(), false);
    for (size_t i = 0; i < Layers(); ++i) {
      for (const std::string_view name : {"attn_k", "k_proj", "k_norm"}) {
        found[i] = found[i] || tensors_.has(fmt::format("blk.{}.indexer.{}.weight", i, name));
      }
    }
    if (!tensors_.complete || std::ranges::find(found, true) == found.end()) return false;
    indexed = std::move(found);
    return true;
  }

  Result<std::vector<bool>> IndexedLayers() const {
    constexpr std::string_view kTypes = "attention.indexer.types";
    std::vector<bool> indexed(Layers(), index_.has_value());
    if (!index_) return indexed;
    if (keys_.Has(kTypes)) {
      CAIRN_ASSIGN(const auto types, keys_.PerLayer(kTypes, frame_.blocks, kFlag));
      return Flags(types);
    }
    if (IndexedByTensors(indexed)) return indexed;
    if (row_.index_layers == GgufIndexLayers::kBehindDense) {
      CAIRN_ASSIGN(const int64_t dense,
                   keys_.IntOr("leading_dense_block_count", {0, kMaxLayers}, 0));
      for (size_t i = 0; i < Layers(); ++i) indexed[i] = static_cast<int64_t>(i) >= dense;
    }
    constexpr TokenCount kNewerContext{1 << 20};
    if (row_.index_layers == GgufIndexLayers::kByContextSize &&
        frame_.context_length >= kNewerContext) {
      for (size_t i = 3; i < Layers(); ++i) indexed[i] = i % 4 == 2;
    }
    return indexed;
  }

  Lifetime LifetimeAt(size_t layer) const {
    if (!slides_[layer]) return Lifetime::All();
    if (chunked_) return Lifetime::Chunk(TokenCount(row_.chunk));
    return LifetimeOfWindow(frame_.context_length, window_);
  }

  // Of the key projection, or of the one that makes queries, keys and values: what is stored wins
  // over head_count_kv, which some files repeat from a config that says it wrongly.
  int64_t KvHeadsByTensors(size_t layer, const AttentionSpec& attention) const {
    const auto rows = [&](std::string_view name) {
      const std::string full = fmt::format("blk.{}.{}.weight", layer, name);
      return tensors_.rows ? tensors_.rows(full) : std::nullopt;
    };
    int64_t heads = 0;
    if (const auto keys = rows("attn_k")) {
      if (*keys % attention.key_width == 0) heads = *keys / attention.key_width;
    } else if (const auto fused = rows("attn_qkv")) {
      const int64_t beside = *fused - attention.heads * attention.key_width;
      const int64_t both = attention.key_width + attention.value_width;
      if (beside > 0 && beside % both == 0) heads = beside / both;
    }
    const bool divides = heads > 0 && attention.heads % heads == 0;
    return divides ? heads : attention.kv_heads;
  }

  Result<MixerSpec> AttentionAt(size_t layer) const {
    AttentionSpec attention;
    attention.heads = frame_.heads[layer];
    attention.kv_heads = frame_.kv_heads[layer];
    attention.scale = 1;
    if (attention.heads == 0 || attention.kv_heads == 0) return NoMixer{};
    attention.key_width = slides_[layer] ? frame_.sliding_key_width : frame_.key_width;
    attention.value_width = slides_[layer] ? frame_.sliding_value_width : frame_.value_width;
    attention.kv_heads = KvHeadsByTensors(layer, attention);
    if (attention.heads % attention.kv_heads != 0) {
      return keys_.Wrong("attention.head_count_kv", attention.kv_heads,
                         fmt::format("a divisor of attention.head_count ({})", attention.heads));
    }
    attention.lifetime = LifetimeAt(layer);
    attention.qkv_bias = tensors_.has(fmt::format("blk.{}.attn_q.bias", layer)) ||
                         tensors_.has(fmt::format("blk.{}.attn_qkv.bias", layer));
    attention.output_bias = tensors_.has(fmt::format("blk.{}.attn_output.bias", layer));
    attention.query_key_norm = tensors_.has(fmt::format("blk.{}.attn_q_norm.weight", layer));
    if (indexed_[layer]) {
      attention.index = index_;
      attention.picks = picks_;
    }
    return attention;
  }

  Result<MixerSpec> LatentAt(size_t layer) const {
    LatentAttentionSpec latent = *latent_;
    latent.heads = frame_.heads[layer];
    if (latent.heads == 0) return keys_.Missing("attention.head_count");
    const int64_t widest = std::max(latent.key_width + latent.rope_width, latent.value_width);
    if (latent.heads * widest > kMaxProjection) {
      return keys_.Wrong("attention.head_count", latent.heads,
                         fmt::format("at most {} channels in all heads", kMaxProjection));
    }
    if (indexed_[layer]) latent.index = index_;
    if (index_) latent.picks = picks_;
    return latent;
  }

  Result<MixerSpec> MixerAt(size_t layer) const {
    if (row_.recurrent_layers == GgufRecurrentLayers::kBesideAttention) {
      CAIRN_ASSIGN(const MixerSpec attention, AttentionAt(layer));
      const auto* mamba = std::get_if<MambaSpec>(&recurrent_mixer_);
      const auto* beside = std::get_if<AttentionSpec>(&attention);
      if (mamba == nullptr || beside == nullptr) return recurrent_mixer_;
      return AttentionBesideMambaSpec{*beside, *mamba};
    }
    if (recurrent_[layer]) return recurrent_mixer_;
    return latent_ ? LatentAt(layer) : AttentionAt(layer);
  }

  // The last layers read the last earlier layer of their own kind.
  Status ShareLastLayers(ModelSpec& model) const {
    constexpr std::string_view kShared = "attention.shared_kv_layers";
    const int64_t layers = frame_.blocks.layers;
    const bool by_default = row_.owners != 0 && layers > row_.owners;
    CAIRN_ASSIGN(const int64_t sharing,
                 keys_.IntOr(kShared, {0, layers - 1}, by_default ? layers - row_.owners : 0));
    const auto owners = static_cast<size_t>(layers - sharing);
    for (size_t i = owners; i < Layers(); ++i) {
      size_t from = owners;
      while (from > 0 && slides_[from - 1] != slides_[i]) --from;
      const auto* attention = std::get_if<AttentionSpec>(&model.layers[i].mixer);
      if (from == 0 || attention == nullptr) {
        return keys_.Wrong(kShared, sharing,
                           "few enough to leave each kind a layer that keeps its own");
      }
      const AttentionSpec copy = *attention;
      model.layers[i].mixer = SharedAttentionSpec{copy, LayerIndex(static_cast<int32_t>(from - 1)),
                                                  /*projects_keys=*/true};
    }
    return {};
  }

  GgufKeys keys_;
  const GgufTensors& tensors_;
  const GgufArchitecture& row_;
  GgufFrame frame_;
  std::optional<LatentAttentionSpec> latent_;
  std::optional<SparseIndexSpec> index_;
  int64_t picks_ = 0;
  MixerSpec recurrent_mixer_ = NoMixer{};
  int64_t window_ = 0;
  bool chunked_ = false;
  std::vector<bool> recurrent_;
  std::vector<bool> slides_;
  std::vector<bool> indexed_;
};

}  // namespace

Result<ModelSpec> SizedModelFromGguf(const Metadata& metadata, const GgufTensors& tensors,
                                     const GgufArchitecture& architecture) {
  return DecoderReader(metadata, tensors, architecture).Read();
}

}  // namespace cairn
