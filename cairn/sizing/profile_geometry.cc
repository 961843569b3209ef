#include "cairn/sizing/profile_geometry.h"

#include <algorithm>
#include <array>
#include <utility>

#include "cairn/spec/quoted.h"

namespace cairn {
namespace {

using Kind = LayerCache::Kind;
using StateKind = LayerCache::StateKind;

// heads // tp, at least one: where there are fewer heads than ranks, each is kept by several.
Result<int64_t> HeadsOfOne(int64_t heads, int64_t tp) {
  if (heads % tp == 0) return heads / tp;
  if (heads > 0 && tp % heads == 0) return int64_t{1};
  return Fail(ErrorCode::kInvalidArgument,
              "tp {}: {} key-value heads can't be divided by it, nor it by them", tp, heads);
}

Result<int64_t> Share(std::string_view what, int64_t amount, int64_t tp) {
  if (amount % tp == 0) return amount / tp;
  return Fail(ErrorCode::kInvalidArgument, "tp {}: {} {} can't be divided by it", tp, amount, what);
}

Kind KindOfLifetime(const Lifetime& lifetime) {
  switch (lifetime.kind) {
    case Lifetime::Kind::kWindow:
      return Kind::kSliding;
    case Lifetime::Kind::kChunk:
      return Kind::kChunked;
    case Lifetime::Kind::kAll:
    case Lifetime::Kind::kFirst:
      break;
  }
  return Kind::kFull;
}

struct CachesOf {
  LayerIndex layer;
  int64_t tp;
  std::vector<LayerCache>& caches;

  LayerCache& Add(Kind kind) const {
    caches.push_back({.layer = layer, .kind = kind});
    return caches.back();
  }
  LayerCache& AddState(StateKind state, int64_t conv_kernel) const {
    LayerCache& cache = Add(Kind::kState);
    cache.state = state;
    cache.conv_columns = std::max<int64_t>(conv_kernel - 1, 0);
    return cache;
  }
  void AddIndex(const std::optional<SparseIndexSpec>& index) const {
    if (!index) return;
    LayerCache& cache = Add(Kind::kIndex);
    cache.heads = 1;
    cache.key_width = index->width;
  }

  Status operator()(const AttentionSpec& attention) const {
    CAIRN_ASSIGN(const int64_t heads, HeadsOfOne(attention.kv_heads, tp));
    LayerCache& cache = Add(KindOfLifetime(attention.lifetime));
    cache.window = attention.lifetime.tokens.value();
    cache.heads = heads;
    cache.key_width = attention.key_width;
    cache.value_width = attention.value_width;
    AddIndex(attention.index);
    return {};
  }
  Status operator()(const LatentAttentionSpec& latent) const {
    if (!latent.source) {
      LayerCache& cache = Add(Kind::kLatent);
      cache.heads = 1;
      cache.key_width = latent.latent_width;
      cache.value_width = latent.rope_width;
    }
    AddIndex(latent.index);
    return {};
  }
  Status operator()(const CompressedAttentionSpec& compressed) const {
    LayerCache& cache = Add(Kind::kCompressed);
    cache.window = compressed.window.tokens.value();
    cache.heads = 1;
    cache.key_width = compressed.width;
    cache.value_width = compressed.index ? compressed.index->width : 0;
    cache.ratio = compressed.ratio;
    return {};
  }
  Status operator()(const DeltaRuleSpec& delta) const {
    CAIRN_ASSIGN(const int64_t keys, Share("key heads of the state", delta.key_heads, tp));
    CAIRN_ASSIGN(const int64_t values, Share("value heads of the state", delta.value_heads, tp));
    const bool gated = delta.decay == DeltaRuleSpec::Decay::kHead;
    LayerCache& cache = AddState(gated ? StateKind::kDelta : StateKind::kKda, delta.conv_kernel);
    cache.conv_channels = 2 * keys * delta.key_width + values * delta.value_width;
    cache.recurrent_elements = values * delta.key_width * delta.value_width;
    cache.recurrent_dtype = delta.dtype;
    return {};
  }
  Status operator()(const LinearAttentionSpec& linear) const {
    CAIRN_ASSIGN(const int64_t heads, Share("heads of the state", linear.heads, tp));
    AddState(StateKind::kLinear, 0).recurrent_elements =
        heads * linear.key_width * linear.value_width;
    return {};
  }
  // Groups of version 2 are repeated until there is one for each rank.
  Status operator()(const MambaSpec& mamba) const {
    CAIRN_ASSIGN(const int64_t inner, Share("channels of the state", mamba.inner, tp));
    const int64_t groups = mamba.groups % tp == 0 ? mamba.groups : std::max(tp, mamba.groups);
    const bool first = mamba.version == 1;
    LayerCache& cache =
        AddState(first ? StateKind::kMamba1 : StateKind::kMamba2, mamba.conv_kernel);
    cache.conv_channels = first ? inner : inner + 2 * groups * mamba.state / tp;
    cache.recurrent_elements = inner * mamba.state;
    cache.recurrent_dtype = mamba.dtype;
    return {};
  }
  Status operator()(const AttentionBesideMambaSpec& both) const {
    CAIRN_TRY((*this)(both.attention));
    return (*this)(both.mamba);
  }
  Status operator()(const RwkvSpec& rwkv) const {
    CAIRN_ASSIGN(const int64_t heads, Share("heads of the state", rwkv.heads, tp));
    LayerCache& cache = AddState(StateKind::kOther, 3);
    cache.conv_channels = rwkv.heads * rwkv.width;
    cache.recurrent_elements = heads * rwkv.width * (rwkv.version == 4 ? 3 : rwkv.width);
    return {};
  }
  Status operator()(const ShortConvSpec& conv) const {
    CAIRN_ASSIGN(const int64_t channels, Share("channels of the convolution", conv.channels, tp));
    AddState(StateKind::kConv, conv.kernel).conv_channels = channels;
    return {};
  }
  Status operator()(const RecurrentGateSpec& gate) const {
    CAIRN_ASSIGN(const int64_t width, Share("channels of the state", gate.width, tp));
    LayerCache& cache = AddState(StateKind::kOther, gate.conv_kernel);
    cache.conv_channels = width;
    cache.recurrent_elements = width;
    return {};
  }
  Status operator()(const SharedAttentionSpec& /*shared*/) const { return {}; }
  Status operator()(const CrossAttentionSpec& /*cross*/) const { return {}; }
  Status operator()(const NoMixer& /*none*/) const { return {}; }
};

// The caches of the last layer that attends to everything; empty if none does.
std::vector<LayerCache> LastFullCaches(const std::vector<LayerCache>& caches) {
  const auto attends = [](const LayerCache& cache) {
    return cache.kind == Kind::kFull || cache.kind == Kind::kLatent;
  };
  const auto last = std::find_if(caches.rbegin(), caches.rend(), attends);
  std::vector<LayerCache> found;
  if (last == caches.rend()) return found;
  for (const LayerCache& cache : caches) {
    if (cache.layer == last->layer && cache.kind != Kind::kState) found.push_back(cache);
  }
  return found;
}

Status AddDrafts(const DraftLayers& drafts, int64_t tp, int32_t next,
                 std::vector<LayerCache>& caches) {
  if (drafts.prediction_layers + drafts.drafter_layers == 0) return {};
  std::vector<LayerCache> pattern = LastFullCaches(caches);
  const auto append = [&](int64_t layers) {
    for (int64_t i = 0; i < layers; ++i, ++next) {
      for (LayerCache cache : pattern) {
        cache.layer = LayerIndex(next);
        cache.draft = true;
        caches.push_back(cache);
      }
    }
  };
  if (pattern.empty() && (drafts.prediction_layers > 0 || !drafts.kv_heads || !drafts.head_dim)) {
    return Fail(ErrorCode::kInvalidArgument,
                "this model has no full attention layer that a draft layer could be like; "
                "draft_kv_heads and draft_head_dim with draft_layers would be right");
  }
  append(drafts.prediction_layers);
  if (drafts.kv_heads || drafts.head_dim || drafts.window) {
    if (pattern.empty()) pattern.emplace_back();
    LayerCache cache = pattern.front();
    const int64_t heads = drafts.kv_heads.value_or(cache.heads * tp);
    CAIRN_ASSIGN(cache.heads, HeadsOfOne(heads, tp));
    cache.key_width = drafts.head_dim.value_or(cache.key_width);
    cache.value_width = cache.key_width;
    cache.kind = drafts.window ? Kind::kSliding : Kind::kFull;
    cache.window = drafts.window.value_or(0);
    pattern = {cache};
  }
  append(drafts.drafter_layers);
  return {};
}

}  // namespace

Result<std::vector<LayerCache>> CachesOfRank(const ModelSpec& model, int64_t tp,
                                             const DraftLayers& drafts) {
  std::vector<LayerCache> caches;
  for (size_t i = 0; i < model.layers.size(); ++i) {
    const LayerIndex layer(static_cast<int32_t>(i));
    CAIRN_TRY(std::visit(CachesOf{layer, tp, caches}, model.layers[i].mixer));
  }
  CAIRN_TRY(AddDrafts(drafts, tp, static_cast<int32_t>(model.layers.size()), caches));
  return caches;
}

std::string_view NameOf(LayerCache::Kind kind) {
  constexpr std::array<std::string_view, 7> kNames = {"full",  "sliding", "chunked",   "mla",
                                                      "index", "state",   "compressed"};
  return kNames[static_cast<size_t>(kind)];
}

Result<int64_t> FloatBytes(std::string_view setting, std::string_view name) {
  struct Spelled {
    std::string_view name;
    int64_t bytes;
  };
  constexpr auto kSpelled = std::to_array<Spelled>({{"bf16", 2},
                                                    {"bfloat16", 2},
                                                    {"f16", 2},
                                                    {"fp16", 2},
                                                    {"float16", 2},
                                                    {"half", 2},
                                                    {"f32", 4},
                                                    {"fp32", 4},
                                                    {"float32", 4},
                                                    {"float", 4},
                                                    {"fp8", 1},
                                                    {"fp8_e4m3", 1},
                                                    {"fp8_e5m2", 1},
                                                    {"float8_e4m3fn", 1}});
  for (const Spelled& spelled : kSpelled) {
    if (spelled.name == name) return spelled.bytes;
  }
  return Fail(ErrorCode::kInvalidArgument, "--set {}={}: no such type; bf16, f16, f32 and fp8 are",
              setting, Quoted(name));
}

}  // namespace cairn
