#include "cairn/spec/inline_shape.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cairn/spec/catalog.h"
#include "cairn/spec/config_dimensions.h"
#include "cairn/spec/facts.h"
#include "cairn/spec/families.h"
#include "cairn/spec/hf_config.h"
#include "cairn/spec/limits.h"
#include "cairn/spec/quoted.h"
#include "cairn/spec/sized_families.h"

namespace cairn {
namespace {

constexpr std::string_view kPlainType = "shape";
constexpr auto kPlainKeys = std::to_array<std::string_view>({"layers",
                                                             "heads",
                                                             "kv_heads",
                                                             "head_dim",
                                                             "value_dim",
                                                             "hidden",
                                                             "intermediate",
                                                             "vocab",
                                                             "context",
                                                             "tied",
                                                             "window",
                                                             "chunk",
                                                             "full_every",
                                                             "share",
                                                             "latent",
                                                             "rope",
                                                             "key_dim",
                                                             "query_rank",
                                                             "index",
                                                             "experts",
                                                             "experts_per_token",
                                                             "expert_intermediate",
                                                             "shared_intermediate"});
constexpr int64_t kMaxExperts = int64_t{1} << 16;

Status CheckPlainKeys(std::string_view shape, const std::vector<std::string>& keys) {
  for (const std::string& key : keys) {
    if (std::ranges::find(kPlainKeys, key) != kPlainKeys.end()) continue;
    return Fail(ErrorCode::kInvalidArgument, "{}: no such key: {}; without model_type they are {}",
                Quoted(shape), Quoted(key), fmt::join(kPlainKeys, ", "));
  }
  return {};
}

// What a family may read: whatever some model of the catalogue says.
Status CheckFamilyKeys(std::string_view shape, const std::vector<std::string>& keys) {
  std::set<std::string, std::less<>> known = {"model_type"};
  for (const ShortKey& key : ShortKeys())
    known.insert({std::string(key.name), std::string(key.key)});
  for (const CatalogEntry& entry : Catalog()) {
    for (std::string& key : KeysOfFacts(entry.facts)) known.insert(std::move(key));
  }
  for (const std::string& key : keys) {
    if (known.contains(key)) continue;
    std::vector<std::string_view> names;
    for (const ShortKey& one : ShortKeys()) names.push_back(one.name);
    return Fail(ErrorCode::kInvalidArgument,
                "{}: no such key: {}; with model_type they are those of its config.json and {}",
                Quoted(shape), Quoted(key), fmt::join(names, ", "));
  }
  return {};
}

Result<std::optional<int64_t>> Maybe(const HfConfig& shape, std::string_view key, int64_t max) {
  return shape.OptionalInt(key, {1, max}, std::nullopt);
}

// Heads and widths, where the rest of the shape may tell them.
Result<AttentionSpec> AttentionFromShape(const HfConfig& shape, int64_t hidden) {
  AttentionSpec attention;
  CAIRN_ASSIGN(const auto heads, Maybe(shape, "heads", kMaxHeads));
  CAIRN_ASSIGN(const auto kv_heads, Maybe(shape, "kv_heads", kMaxHeads));
  CAIRN_ASSIGN(const auto head_dim, Maybe(shape, "head_dim", kMaxHeadWidth));
  if (!kv_heads && !heads) return shape.Missing("kv_heads");
  attention.kv_heads = kv_heads.value_or(heads.value_or(0));
  attention.heads = heads.value_or(attention.kv_heads);
  if (attention.heads % attention.kv_heads != 0) {
    return shape.Wrong("kv_heads", fmt::format("a divisor of heads ({})", attention.heads));
  }
  if (!head_dim && (hidden == 0 || !heads)) return shape.Missing("head_dim");
  if (!head_dim && hidden % *heads != 0) {
    return shape.Wrong("heads", fmt::format("a divisor of hidden ({}), or a head_dim", hidden));
  }
  attention.key_width = head_dim ? *head_dim : hidden / *heads;
  CAIRN_ASSIGN(attention.value_width,
               shape.IntOr("value_dim", {1, kMaxHeadWidth}, attention.key_width));
  attention.scale = 1;
  if (attention.heads * std::max(attention.key_width, attention.value_width) > kMaxProjection) {
    return shape.Wrong("head_dim", fmt::format("at most {} channels in all heads", kMaxProjection));
  }
  return attention;
}

Result<LatentAttentionSpec> LatentFromShape(const HfConfig& shape) {
  LatentAttentionSpec latent;
  CAIRN_ASSIGN(latent.latent_width, shape.Int("latent", {1, kMaxProjection}));
  CAIRN_ASSIGN(latent.rope_width, shape.IntOr("rope", {0, kMaxHeadWidth}, 0));
  CAIRN_ASSIGN(latent.heads, shape.IntOr("heads", {1, kMaxHeads}, 1));
  CAIRN_ASSIGN(latent.query_rank, shape.IntOr("query_rank", {0, kMaxProjection}, 0));
  CAIRN_ASSIGN(latent.key_width, shape.IntOr("key_dim", {0, kMaxHeadWidth}, 0));
  CAIRN_ASSIGN(latent.value_width, shape.IntOr("value_dim", {0, kMaxHeadWidth}, latent.key_width));
  CAIRN_ASSIGN(const auto index, Maybe(shape, "index", kMaxHeadWidth));
  if (index) latent.index = SparseIndexSpec{.query_heads = 0, .width = *index};
  const int64_t widest = std::max(latent.key_width + latent.rope_width, latent.value_width);
  if (latent.heads * widest > kMaxProjection) {
    return shape.Wrong("heads", fmt::format("at most {} channels in all heads", kMaxProjection));
  }
  for (const std::string_view key : {"kv_heads", "head_dim", "window", "chunk", "share"}) {
    if (shape.Has(key)) return shape.Wrong(key, "no such key beside latent");
  }
  return latent;
}

struct Extent {
  Lifetime lifetime = Lifetime::All();
  int64_t full_every = 0;  // 0: no layer is exempt
  int64_t share = 1;
};

Result<Extent> ExtentFromShape(const HfConfig& shape, int64_t layers) {
  Extent extent;
  CAIRN_ASSIGN(const auto window, Maybe(shape, "window", kMaxContext));
  CAIRN_ASSIGN(const auto chunk, Maybe(shape, "chunk", kMaxContext));
  if (window && chunk) return shape.Wrong("chunk", "no such key beside window");
  if (window) extent.lifetime = Lifetime::Window(TokenCount(*window));
  if (chunk) extent.lifetime = Lifetime::Chunk(TokenCount(*chunk));
  CAIRN_ASSIGN(extent.full_every, shape.IntOr("full_every", {1, layers}, 0));
  if (extent.full_every != 0 && !window && !chunk) {
    return shape.Wrong("full_every", "a window or a chunk beside it");
  }
  CAIRN_ASSIGN(extent.share, shape.IntOr("share", {1, layers}, 1));
  if (extent.share > 1 && extent.full_every != 0) {
    return shape.Wrong("share", "no such key beside full_every");
  }
  return extent;
}

MixerSpec MixerAt(const AttentionSpec& attention, const Extent& extent, int64_t layer) {
  AttentionSpec own = attention;
  const bool full = extent.full_every != 0 && (layer + 1) % extent.full_every == 0;
  if (!full) own.lifetime = extent.lifetime;
  const int64_t source = layer / extent.share * extent.share;
  if (source == layer) return own;
  return SharedAttentionSpec{own, LayerIndex(static_cast<int32_t>(source))};
}

// The reason why parameters can't be counted goes to `missing`.
Result<FeedForwardSpec> NetworkFromShape(const HfConfig& shape, std::string& missing) {
  CAIRN_ASSIGN(const int64_t width, shape.IntOr("intermediate", {1, kMaxIntermediate}, 0));
  CAIRN_ASSIGN(const auto experts, Maybe(shape, "experts", kMaxExperts));
  if (!experts) {
    for (const std::string_view key :
         {"experts_per_token", "expert_intermediate", "shared_intermediate"}) {
      if (shape.Has(key)) return shape.Wrong(key, "experts beside it");
    }
    if (width == 0) missing = "intermediate";
    return GatedMlpSpec{.intermediate = width};
  }
  MixtureSpec mixture;
  mixture.experts = *experts;
  CAIRN_ASSIGN(mixture.experts_per_token, shape.IntOr("experts_per_token", {1, *experts}, 0));
  CAIRN_ASSIGN(mixture.intermediate, shape.IntOr("expert_intermediate", {1, 1 << 16}, 0));
  CAIRN_ASSIGN(mixture.shared_intermediate,
               shape.IntOr("shared_intermediate", {0, kMaxIntermediate}, 0));
  if (mixture.intermediate == 0) missing = "expert_intermediate";
  return mixture;
}

Result<ModelSpec> PlainModel(const ConfigSource& source) {
  const HfConfig& shape = source.config;
  ModelSpec model;
  model.family = kPlainType;
  model.norm_epsilon = 1e-6;
  model.sizing_only = "a shape says what a model keeps, not how it computes";
  CAIRN_ASSIGN(const int64_t layers, shape.Int("layers", {1, kMaxLayers}));
  CAIRN_ASSIGN(model.hidden, shape.IntOr("hidden", {1, kMaxHidden}, 0));
  CAIRN_ASSIGN(model.vocabulary, shape.IntOr("vocab", {1, kMaxVocabulary}, 0));
  CAIRN_ASSIGN(const int64_t context, shape.IntOr("context", {1, kMaxContext}, 0));
  model.context_length = TokenCount(context);
  CAIRN_ASSIGN(model.tied_head, shape.BoolOr("tied", false));
  std::string missing;
  CAIRN_ASSIGN(const FeedForwardSpec network, NetworkFromShape(shape, missing));
  const bool latent = shape.Has("latent");
  for (const std::string_view key : {"key_dim", "query_rank", "heads"}) {
    if (latent && !shape.Has(key)) missing = key;
  }
  for (const std::string_view key : {"heads", "vocab", "hidden"}) {
    if (!shape.Has(key)) missing = key;
  }
  if (!missing.empty()) model.uncounted = missing + " isn't given";
  if (latent) {
    CAIRN_ASSIGN(const LatentAttentionSpec mixer, LatentFromShape(shape));
    for (int64_t i = 0; i < layers; ++i) {
      model.layers.push_back({.mixer = mixer, .feed_forward = network});
    }
    return model;
  }
  for (const std::string_view key : {"rope", "key_dim", "query_rank", "index"}) {
    if (shape.Has(key)) return shape.Wrong(key, "latent beside it");
  }
  CAIRN_ASSIGN(const AttentionSpec attention, AttentionFromShape(shape, model.hidden));
  CAIRN_ASSIGN(const Extent extent, ExtentFromShape(shape, layers));
  for (int64_t i = 0; i < layers; ++i) {
    model.layers.push_back({.mixer = MixerAt(attention, extent, i), .feed_forward = network});
  }
  return model;
}

constexpr auto kRows = std::to_array<SizedFamily>({{kPlainType, PlainModel}});

}  // namespace

std::span<const SizedFamily> ShapeFamilies() { return kRows; }

Result<std::string> ConfigJsonOfShape(std::string_view shape) {
  CAIRN_ASSIGN(const std::string written, JsonOfFacts(shape, shape, KeyStyle::kAsWritten));
  CAIRN_ASSIGN(const HfConfig config, HfConfig::Parse(written, Quoted(shape)));
  const std::vector<std::string> keys = KeysOfFacts(shape);
  if (config.Has("model_type")) {
    CAIRN_TRY(CheckFamilyKeys(shape, keys));
    return JsonOfFacts(shape, shape, KeyStyle::kConfig);
  }
  CAIRN_TRY(CheckPlainKeys(shape, keys));
  return JsonOfFacts(fmt::format("{} {}", kPlainType, shape), shape, KeyStyle::kAsWritten);
}

Result<ModelSpec> ModelFromShape(std::string_view shape) {
  CAIRN_ASSIGN(const std::string json, ConfigJsonOfShape(shape));
  return ModelSpecFromConfig(json, Quoted(shape));
}

}  // namespace cairn
