#include "cairn/sizing/weight_parts.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>
#include <variant>

#include "cairn/sizing/parameters.h"

namespace cairn {
namespace {

int64_t CeilDiv(int64_t value, int64_t by) { return (value + by - 1) / by; }

int64_t CountOf(const MixtureSpec& mixture, int64_t hidden) {
  return FeedForwardParameters(mixture, hidden).value();
}

// The terms of a mixture's count, each as the difference that it makes, so that they add up to it.
WeightParts PartsOf(const MixtureSpec& mixture, int64_t hidden) {
  WeightParts parts;
  const int64_t all = CountOf(mixture, hidden);
  MixtureSpec rest = mixture;
  rest.shared_intermediate = 0;
  rest.shared_gate = false;
  const int64_t without_shared = CountOf(rest, hidden);
  parts[WeightPart::kShared] = all - without_shared;
  rest.experts = 0;
  const int64_t without_experts = CountOf(rest, hidden);
  parts[WeightPart::kOther] = without_experts;
  const int64_t router_row = hidden + (mixture.router_bias ? 1 : 0);
  parts[WeightPart::kRouter] = mixture.experts * router_row;
  parts[WeightPart::kExperts] = without_shared - without_experts - parts[WeightPart::kRouter];
  return parts;
}

WeightParts PartsOf(const FeedForwardSpec& network, int64_t hidden) {
  if (const auto* mixture = std::get_if<MixtureSpec>(&network)) return PartsOf(*mixture, hidden);
  WeightParts parts;
  parts[WeightPart::kDense] = FeedForwardParameters(network, hidden).value();
  return parts;
}

WeightParts PartsOf(const LayerSpec& layer, int64_t hidden) {
  WeightParts parts = PartsOf(layer.feed_forward, hidden);
  parts[WeightPart::kMixer] = MixerParameters(layer.mixer, hidden).value();
  parts[WeightPart::kNorms] = (layer.norm_vectors + (layer.branch_output_norms ? 2 : 0)) * hidden;
  parts[WeightPart::kOther] += layer.other_parameters;
  return parts;
}

// Gates and other matrices that a mixer's description lumps together are divided like its heads;
// vectors are whole on each card. A matrix has a row of `hidden` for each of several channels.
constexpr int64_t kVectorsAtMost = 16;

struct DivideUnnamed {
  int tp;
  int64_t hidden;

  void Divide(int64_t& count) const {
    if (count >= kVectorsAtMost * hidden) count = CeilDiv(count, tp);
  }
  void operator()(SharedAttentionSpec& shared) const { (*this)(shared.attention); }
  void operator()(CrossAttentionSpec& cross) const { (*this)(cross.attention); }
  void operator()(AttentionBesideMambaSpec& both) const {
    (*this)(both.attention);
    (*this)(both.mamba);
  }
  template <class Mixer>
  void operator()(Mixer& mixer) const {
    if constexpr (requires { mixer.other_parameters; }) Divide(mixer.other_parameters);
  }
};

struct DivideNetwork {
  const Parallelism& parallel;

  FeedForwardSpec operator()(GatedMlpSpec mlp) const {
    mlp.intermediate = CeilDiv(mlp.intermediate, parallel.tp);
    return mlp;
  }
  FeedForwardSpec operator()(MlpSpec mlp) const {
    mlp.intermediate = CeilDiv(mlp.intermediate, parallel.tp);
    return mlp;
  }
  // Whole experts for each expert parallel card; tensor parallel cards beyond them divide these.
  FeedForwardSpec operator()(MixtureSpec mixture) const {
    const int64_t within = std::max(1, parallel.tp / parallel.ep);
    mixture.intermediate = CeilDiv(mixture.intermediate, within);
    mixture.shared_intermediate = CeilDiv(mixture.shared_intermediate, parallel.tp);
    return mixture;
  }
  FeedForwardSpec operator()(ChannelMixSpec mix) const {
    mix.intermediate = CeilDiv(mix.intermediate, parallel.tp);
    return mix;
  }
  FeedForwardSpec operator()(NoFeedForward none) const { return none; }
};

WeightParts RankLayer(const LayerSpec& whole, const LayerSpec& divided, const Parallelism& parallel,
                      int64_t hidden) {
  LayerSpec layer = divided;
  std::visit(DivideUnnamed{parallel.tp, hidden}, layer.mixer);
  layer.feed_forward = std::visit(DivideNetwork{parallel}, layer.feed_forward);
  WeightParts parts = PartsOf(layer, hidden);
  // Blocks on a diagonal aren't made smaller by having fewer channels: never less than a share.
  const int64_t share = CeilDiv(MixerParameters(whole.mixer, hidden).value(), parallel.tp);
  parts[WeightPart::kMixer] = std::max(parts[WeightPart::kMixer], share);
  const auto* mixture = std::get_if<MixtureSpec>(&layer.feed_forward);
  if (mixture != nullptr && mixture->experts > 0) {
    const int64_t held = CeilDiv(mixture->experts, parallel.ep);
    parts[WeightPart::kExperts] = parts[WeightPart::kExperts] / mixture->experts * held;
  }
  return parts;
}

WeightParts OutsideOf(const ModelSpec& model, const Parallelism& parallel, int stage) {
  WeightParts parts;
  const int64_t table = CeilDiv(model.vocabulary, parallel.tp) * model.hidden;
  const bool first = stage == 0;
  const bool last = stage + 1 == parallel.pp;
  if (first) {
    parts[WeightPart::kEmbedding] = table;
    // Tables over the vocabulary are divided, vectors aren't.
    const bool tables = model.other_parameters >= std::max(model.vocabulary, int64_t{1});
    parts[WeightPart::kOther] =
        tables ? CeilDiv(model.other_parameters, parallel.tp) : model.other_parameters;
  }
  if (last) {
    // A tied head is the embedding itself, but on another stage it is a copy.
    if (!model.tied_head || !first) parts[WeightPart::kHead] = table;
    parts[WeightPart::kNorms] = model.final_norm_vectors * model.hidden;
  }
  return parts;
}

// Experts of all layers, times the share of them that a token uses, rounded up.
std::optional<int64_t> UsedExperts(const ModelSpec& model, const WeightTree& tree) {
  int64_t used = 0;
  for (size_t i = 0; i < tree.layers.size(); ++i) {
    const auto* mixture = std::get_if<MixtureSpec>(&model.layers[i].feed_forward);
    if (mixture == nullptr || mixture->experts == 0) continue;
    if (mixture->experts_per_token == 0) return std::nullopt;
    const int64_t each = tree.layers[i][WeightPart::kExperts] / mixture->experts;
    used += each * mixture->experts_per_token;
  }
  return used;
}

}  // namespace

std::string_view NameOf(WeightPart part) {
  constexpr std::array<std::string_view, kWeightParts> kNames = {
      "embedding",      "head",  "mixer", "router", "experts",
      "shared_experts", "dense", "norms", "other"};
  return kNames[static_cast<size_t>(part)];
}

int64_t WeightParts::Total() const {
  return std::accumulate(elements.begin(), elements.end(), int64_t{0});
}

WeightParts& WeightParts::operator+=(const WeightParts& other) {
  for (size_t i = 0; i < kWeightParts; ++i) elements[i] += other.elements[i];
  return *this;
}

WeightParts WeightTree::Sum() const {
  WeightParts sum = outside;
  for (const WeightParts& layer : layers) sum += layer;
  return sum;
}

std::optional<WeightTree> WeightsOf(const ModelSpec& model) {
  if (!ParameterCount(model)) return std::nullopt;
  WeightTree tree;
  tree.outside = OutsideOf(model, Parallelism{}, 0);
  for (const LayerSpec& layer : model.layers) tree.layers.push_back(PartsOf(layer, model.hidden));
  return tree;
}

Result<std::vector<RankWeights>> WeightsOfRanks(const ModelSpec& model,
                                                const Parallelism& parallel) {
  CAIRN_ASSIGN(const auto stages, RankModels(model, parallel));
  for (const LayerSpec& layer : model.layers) {
    const auto* mixture = std::get_if<MixtureSpec>(&layer.feed_forward);
    if (mixture == nullptr || mixture->experts == 0 || parallel.ep <= mixture->experts) continue;
    return Fail(ErrorCode::kInvalidArgument, "--ep {}: the model has {} experts in a layer",
                parallel.ep, mixture->experts);
  }
  // One stage of all layers: readers of another stage's rows have no projections for them.
  Parallelism one_stage = parallel;
  one_stage.pp = 1;
  one_stage.stage_layers.clear();
  CAIRN_ASSIGN(const auto whole, RankModels(model, one_stage));
  std::vector<RankWeights> ranks;
  for (const RankModel& stage : stages) {
    RankWeights& rank = ranks.emplace_back();
    rank.rank = stage;
    rank.tree.outside = OutsideOf(model, parallel, stage.stage);
    for (int i = stage.first_layer.value(); i < stage.end_layer.value(); ++i) {
      const LayerSpec& layer = whole.front().spec.layers[static_cast<size_t>(i)];
      rank.tree.layers.push_back(
          RankLayer(model.layers[static_cast<size_t>(i)], layer, parallel, model.hidden));
    }
  }
  return ranks;
}

double ExpertsTouched(int64_t experts, int64_t per_token, double tokens) {
  if (experts <= 0) return 0;
  const auto all = static_cast<double>(experts);
  const double missed = 1.0 - static_cast<double>(std::min(per_token, experts)) / all;
  return all * (1.0 - std::pow(missed, tokens));
}

std::optional<int64_t> ActiveParameters(const ModelSpec& model, const WeightTree& tree) {
  const std::optional<int64_t> used = UsedExperts(model, tree);
  if (!used) return std::nullopt;
  const WeightParts sum = tree.Sum();
  return sum.Total() - sum[WeightPart::kExperts] + *used;
}

std::optional<int64_t> MultipliedParameters(const ModelSpec& model, const WeightTree& tree) {
  const std::optional<int64_t> used = UsedExperts(model, tree);
  if (!used) return std::nullopt;
  WeightParts sum;
  for (const WeightParts& layer : tree.layers) sum += layer;
  return sum.Total() - sum[WeightPart::kExperts] - sum[WeightPart::kNorms] + *used;
}

}  // namespace cairn
