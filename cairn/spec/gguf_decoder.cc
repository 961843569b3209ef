#include "cairn/spec/gguf_decoder.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cairn/spec/config_dimensions.h"
#include "cairn/spec/gguf_keys.h"
#include "cairn/spec/gguf_layers.h"
#include "cairn/spec/gguf_mixers.h"
#include "cairn/spec/gguf_networks.h"
#include "cairn/spec/limits.h"

namespace cairn {
namespace {

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
    AddDraftLayers(model);
    // Each pass through the same weights keeps rows of its own.
    CAIRN_ASSIGN(const int64_t passes,
                 keys_.IntOr("num_loops", {1, kMaxLayers / frame_.blocks.layers}, 1));
    const std::vector<LayerSpec> once = model.layers;
    for (int64_t pass = 1; pass < passes; ++pass) {
      model.layers.insert(model.layers.end(), once.begin(), once.end());
    }
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
    CAIRN_ASSIGN(layers_, LayersFromGguf(keys_, frame_, tensors_, row_, index_.has_value()));
    const std::vector<bool>& recurrent = layers_.recurrent;
    if (std::ranges::find(recurrent, true) == recurrent.end()) return {};
    const int64_t heads = *std::ranges::max_element(frame_.heads);
    CAIRN_ASSIGN(recurrent_mixer_, RecurrentFromGguf(keys_, frame_, row_.recurrent, heads));
    return {};
  }

  Lifetime LifetimeAt(size_t layer) const {
    if (!layers_.slides[layer]) return Lifetime::All();
    if (layers_.chunked) return Lifetime::Chunk(TokenCount(row_.chunk));
    return LifetimeOfWindow(frame_.context_length, layers_.window);
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
    attention.key_width = layers_.slides[layer] ? frame_.sliding_key_width : frame_.key_width;
    attention.value_width = layers_.slides[layer] ? frame_.sliding_value_width : frame_.value_width;
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
    if (layers_.indexed[layer]) {
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
    if (layers_.indexed[layer]) latent.index = index_;
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
    if (layers_.recurrent[layer]) return recurrent_mixer_;
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
      while (from > 0 && layers_.slides[from - 1] != layers_.slides[i]) --from;
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

  // Like the last layer that attends: the keys say only how many there are.
  void AddDraftLayers(ModelSpec& model) const {
    const auto attends = [](const LayerSpec& layer) {
      return std::holds_alternative<AttentionSpec>(layer.mixer) ||
             std::holds_alternative<LatentAttentionSpec>(layer.mixer);
    };
    const auto last = std::find_if(model.layers.rbegin(), model.layers.rend(), attends);
    const int64_t drafts = frame_.blocks.all - frame_.blocks.layers;
    if (last != model.layers.rend()) {
      model.draft_layers.assign(static_cast<size_t>(drafts), *last);
    }
  }

  GgufKeys keys_;
  const GgufTensors& tensors_;
  const GgufArchitecture& row_;
  GgufFrame frame_;
  std::optional<LatentAttentionSpec> latent_;
  std::optional<SparseIndexSpec> index_;
  int64_t picks_ = 0;
  MixerSpec recurrent_mixer_ = NoMixer{};
  GgufLayers layers_;
};

}  // namespace

Result<ModelSpec> SizedModelFromGguf(const Metadata& metadata, const GgufTensors& tensors,
                                     const GgufArchitecture& architecture) {
  return DecoderReader(metadata, tensors, architecture).Read();
}

}  // namespace cairn
