#include "cairn/sizing/parallel.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <utility>
#include <variant>

namespace cairn {
namespace {

int64_t CeilDiv(int64_t value, int64_t by) { return (value + by - 1) / by; }

// A mixer as one of `tp` cards holds it.
struct DividedMixer {
  int tp;

  int64_t Heads(int64_t heads) const { return HeadsOfRank(heads, tp); }

  AttentionSpec operator()(AttentionSpec attention) const {
    attention.heads = Heads(attention.heads);
    attention.delayed_values /= std::max<int64_t>(1, attention.kv_heads);
    attention.kv_heads = Heads(attention.kv_heads);
    attention.delayed_values *= attention.kv_heads;
    return attention;  // a sparse index has one key for all heads: repeated
  }
  SharedAttentionSpec operator()(SharedAttentionSpec shared) const {
    shared.attention = (*this)(shared.attention);
    return shared;
  }
  CrossAttentionSpec operator()(CrossAttentionSpec cross) const {
    cross.attention = (*this)(cross.attention);
    return cross;
  }
  // The latent row serves all heads, so each card keeps it whole.
  LatentAttentionSpec operator()(LatentAttentionSpec latent) const {
    latent.heads = Heads(latent.heads);
    return latent;
  }
  CompressedAttentionSpec operator()(CompressedAttentionSpec compressed) const {
    compressed.heads = Heads(compressed.heads);
    return compressed;
  }
  DeltaRuleSpec operator()(DeltaRuleSpec delta) const {
    delta.key_heads = Heads(delta.key_heads);
    delta.value_heads = Heads(delta.value_heads);
    return delta;
  }
  LinearAttentionSpec operator()(LinearAttentionSpec linear) const {
    linear.heads = Heads(linear.heads);
    return linear;
  }
  MambaSpec operator()(MambaSpec mamba) const {
    mamba.inner = CeilDiv(mamba.inner, tp);
    mamba.heads = mamba.heads == 0 ? 0 : Heads(mamba.heads);
    mamba.groups = mamba.groups == 0 ? 0 : Heads(mamba.groups);
    return mamba;
  }
  AttentionBesideMambaSpec operator()(const AttentionBesideMambaSpec& both) const {
    return {(*this)(both.attention), (*this)(both.mamba), both.shares_weights};
  }
  RwkvSpec operator()(RwkvSpec rwkv) const {
    rwkv.heads = Heads(rwkv.heads);
    return rwkv;
  }
  ShortConvSpec operator()(ShortConvSpec conv) const {
    conv.channels = CeilDiv(conv.channels, tp);
    return conv;
  }
  RecurrentGateSpec operator()(RecurrentGateSpec gate) const {
    gate.width = CeilDiv(gate.width, tp);
    return gate;
  }
  NoMixer operator()(const NoMixer& none) const { return none; }
};

// Layers of each stage: as even as can be, the spare ones from the last stage but one backwards, so
// that neither the embedding's stage nor the head's gets more (the rule of vLLM).
std::vector<int> EvenStages(int layers, int stages) {
  std::vector<int> counts(static_cast<size_t>(stages), layers / stages);
  const int spare = layers % stages;
  for (int i = 0; i < spare; ++i) {
    const int from_end = stages == 1 ? 1 : 2 + i;
    ++counts[static_cast<size_t>((stages - from_end + stages) % stages)];
  }
  return counts;
}

Status CheckSizes(const Parallelism& parallel) {
  const std::pair<const char*, int> sizes[] = {{"--tp", parallel.tp},
                                               {"--pp", parallel.pp},
                                               {"--dp", parallel.dp},
                                               {"--ep", parallel.ep},
                                               {"--dcp", parallel.dcp}};
  for (const auto& [flag, size] : sizes) {
    if (size >= 1 && size <= kMaxCards) continue;
    return Fail(ErrorCode::kInvalidArgument, "{} {}, expected 1 to {}", flag, size, kMaxCards);
  }
  if (int64_t{parallel.tp} * parallel.pp > kMaxCards / parallel.dp) {
    return Fail(ErrorCode::kInvalidArgument, "--tp {} --pp {} --dp {}: more than {} cards",
                parallel.tp, parallel.pp, parallel.dp, kMaxCards);
  }
  if (parallel.tp % parallel.dcp != 0) {
    return Fail(ErrorCode::kInvalidArgument, "--dcp {} doesn't divide --tp {}", parallel.dcp,
                parallel.tp);
  }
  if ((int64_t{parallel.tp} * parallel.dp) % parallel.ep != 0) {
    return Fail(ErrorCode::kInvalidArgument,
                "--ep {} doesn't divide the {} cards of a stage (--tp {} x --dp {})", parallel.ep,
                int64_t{parallel.tp} * parallel.dp, parallel.tp, parallel.dp);
  }
  return {};
}

Result<std::vector<int>> StagesOf(const ModelSpec& model, const Parallelism& parallel) {
  const auto layers = static_cast<int>(model.layers.size());
  if (parallel.stage_layers.empty()) {
    if (parallel.pp <= std::max(1, layers)) return EvenStages(layers, parallel.pp);
    return Fail(ErrorCode::kInvalidArgument, "--pp {} for a model of {} layers", parallel.pp,
                layers);
  }
  const std::vector<int>& stages = parallel.stage_layers;
  const int64_t sum = std::accumulate(stages.begin(), stages.end(), int64_t{0});
  const bool positive = std::ranges::all_of(stages, [](int count) { return count >= 1; });
  if (std::cmp_equal(stages.size(), parallel.pp) && positive && sum == layers) return stages;
  return Fail(ErrorCode::kInvalidArgument,
              "--pp-layers {}: expected {} numbers of at least 1 that add up to the model's {} "
              "layers",
              fmt::join(stages, ","), parallel.pp, layers);
}

// The layer whose rows a mixer reads instead of keeping its own.
std::optional<LayerIndex> SourceOf(const MixerSpec& mixer) {
  if (const auto* shared = std::get_if<SharedAttentionSpec>(&mixer)) return shared->source;
  if (const auto* latent = std::get_if<LatentAttentionSpec>(&mixer)) return latent->source;
  return std::nullopt;
}

void ReadFrom(LayerIndex source, MixerSpec& mixer) {
  if (auto* shared = std::get_if<SharedAttentionSpec>(&mixer)) shared->source = source;
  if (auto* latent = std::get_if<LatentAttentionSpec>(&mixer)) latent->source = source;
}

void KeepOwnRows(MixerSpec& mixer) {
  if (auto* latent = std::get_if<LatentAttentionSpec>(&mixer)) latent->source.reset();
  if (const auto* shared = std::get_if<SharedAttentionSpec>(&mixer)) {
    const AttentionSpec own = shared->attention;
    mixer = own;
  }
}

// Layers of the stage, divided. A reader whose source lies on an earlier stage keeps a copy of the
// rows itself, and later readers of the same source on this stage read that.
std::vector<LayerSpec> StageLayers(const ModelSpec& model, int tp, int first, int end) {
  std::vector<LayerSpec> layers;
  std::map<LayerIndex, LayerIndex> copies;  // source in the model: its copy on this stage
  for (int i = first; i < end; ++i) {
    LayerSpec layer = model.layers[static_cast<size_t>(i)];
    if (const std::optional<LayerIndex> source = SourceOf(layer.mixer)) {
      if (source->value() >= first) {
        ReadFrom(LayerIndex(source->value() - first), layer.mixer);
      } else if (const auto copy = copies.find(*source); copy != copies.end()) {
        ReadFrom(copy->second, layer.mixer);
      } else {
        copies[*source] = LayerIndex(i - first);
        KeepOwnRows(layer.mixer);
      }
    }
    layer.mixer = std::visit(
        [&](const auto& mixer) -> MixerSpec { return DividedMixer{tp}(mixer); }, layer.mixer);
    layers.push_back(std::move(layer));
  }
  return layers;
}

// Cards that keep the same rows of a layer, and so can divide them by position instead: all for a
// latent row, as many as repeat a KV head otherwise.
struct CardsOfSameRows {
  int tp;

  int64_t operator()(const AttentionSpec& attention) const {
    const bool all = attention.lifetime.kind == Lifetime::Kind::kAll;
    return all ? std::max<int64_t>(1, tp / std::max<int64_t>(1, attention.kv_heads)) : tp;
  }
  int64_t operator()(const AttentionBesideMambaSpec& both) const { return (*this)(both.attention); }
  int64_t operator()(const auto& /*other*/) const { return tp; }
};

Status CheckRowRanks(const ModelSpec& model, const Parallelism& parallel) {
  if (parallel.dcp == 1) return {};
  for (const LayerSpec& layer : model.layers) {
    const int64_t most = std::visit(CardsOfSameRows{parallel.tp}, layer.mixer);
    if (parallel.dcp <= most) continue;
    return Fail(ErrorCode::kInvalidArgument,
                "--dcp {}: of --tp {} cards, {} keep the same rows of a {} layer and can divide "
                "them; expected at most that",
                parallel.dcp, parallel.tp, most, KindOf(layer.mixer));
  }
  return {};
}

// Heads of a mixer whose state is divided by heads, with what they are called.
struct DividedHeads {
  std::pair<const char*, int64_t> operator()(const AttentionSpec& attention) const {
    return {"KV heads", attention.kv_heads};
  }
  std::pair<const char*, int64_t> operator()(const DeltaRuleSpec& delta) const {
    return {"value heads", delta.value_heads};
  }
  std::pair<const char*, int64_t> operator()(const LinearAttentionSpec& linear) const {
    return {"heads", linear.heads};
  }
  std::pair<const char*, int64_t> operator()(const MambaSpec& mamba) const {
    return {mamba.version == 1 ? "channels" : "heads",
            mamba.version == 1 ? mamba.inner : mamba.heads};
  }
  std::pair<const char*, int64_t> operator()(const AttentionBesideMambaSpec& both) const {
    return (*this)(both.attention);
  }
  std::pair<const char*, int64_t> operator()(const RwkvSpec& rwkv) const {
    return {"heads", rwkv.heads};
  }
  std::pair<const char*, int64_t> operator()(const auto& /*other*/) const { return {"", 0}; }
};

std::string WarningOf(const LayerSpec& layer, int tp) {
  const std::string kind = KindOf(layer.mixer);
  if (std::holds_alternative<LatentAttentionSpec>(layer.mixer) ||
      std::holds_alternative<CompressedAttentionSpec>(layer.mixer)) {
    return fmt::format(
        "{} layers keep one row for all heads: every one of the {} tensor parallel "
        "cards keeps it whole",
        kind, tp);
  }
  const auto [what, heads] = std::visit(DividedHeads(), layer.mixer);
  if (heads == 0 || heads % tp == 0) return {};
  if (heads < tp) {
    return fmt::format(
        "{} layers have {} {} for {} tensor parallel cards: each is kept by up to "
        "{} of them, so {} cards hold {:.3g} times the state of one",
        kind, heads, what, tp, CeilDiv(tp, heads), tp,
        static_cast<double>(tp) / static_cast<double>(heads));
  }
  return fmt::format(
      "{} layers have {} {}, which {} cards can't share evenly: a card with {} is "
      "counted, and most engines refuse this",
      kind, heads, what, tp, CeilDiv(heads, tp));
}

void AddOnce(std::vector<std::string>& sentences, std::string sentence) {
  if (sentence.empty() || std::ranges::find(sentences, sentence) != sentences.end()) return;
  sentences.push_back(std::move(sentence));
}

}  // namespace

int64_t HeadsOfRank(int64_t heads, int cards) {
  return std::max<int64_t>(1, CeilDiv(heads, cards));
}

Result<std::vector<RankModel>> RankModels(const ModelSpec& model, const Parallelism& parallel) {
  CAIRN_TRY(CheckSizes(parallel));
  CAIRN_TRY(CheckRowRanks(model, parallel));
  CAIRN_ASSIGN(const std::vector<int> stages, StagesOf(model, parallel));
  std::vector<RankModel> ranks;
  int first = 0;
  for (size_t i = 0; i < stages.size(); ++i) {
    const int end = first + stages[i];
    RankModel& rank = ranks.emplace_back();
    rank.stage = static_cast<int>(i);
    rank.first_layer = LayerIndex(first);
    rank.end_layer = LayerIndex(end);
    rank.spec = model;
    rank.spec.layers = StageLayers(model, parallel.tp, first, end);
    first = end;
  }
  return ranks;
}

std::vector<std::string> ParallelWarnings(const ModelSpec& model, const Parallelism& parallel) {
  std::vector<std::string> warnings;
  if (parallel.tp > 1) {
    for (const LayerSpec& layer : model.layers) AddOnce(warnings, WarningOf(layer, parallel.tp));
  }
  const Result<std::vector<int>> stages = StagesOf(model, parallel);
  if (!stages) return warnings;
  int first = 0;
  for (size_t stage = 0; stage < stages->size(); ++stage) {
    const int end = first + (*stages)[stage];
    for (int i = first; i < end; ++i) {
      const auto source = SourceOf(model.layers[static_cast<size_t>(i)].mixer);
      if (!source || source->value() >= first) continue;
      AddOnce(warnings, fmt::format("stage {} has layers that read the rows of layer {} on an "
                                    "earlier stage: it keeps a copy of them",
                                    stage, source->value()));
    }
    first = end;
  }
  return warnings;
}

}  // namespace cairn
