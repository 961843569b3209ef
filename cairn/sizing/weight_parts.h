// WeightParts: a model's weights by what they are for, whole or as one card holds them.
//
// The numbers come from parameters.h, so the parts add up to ParameterCount. On a card, matrices
// are divided as tensor parallelism divides them (parallel.h), experts over the expert parallel
// cards, the vocabulary of embedding and head over the stage's cards; norms, routers, latent
// projections and other vectors are whole on each. Pure functions; thread-safe.
#ifndef CAIRN_SIZING_WEIGHT_PARTS_H_
#define CAIRN_SIZING_WEIGHT_PARTS_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "cairn/base/ids.h"
#include "cairn/base/status.h"
#include "cairn/sizing/parallel.h"
#include "cairn/spec/model_spec.h"

namespace cairn {

enum class WeightPart : uint8_t {
  kEmbedding,
  kHead,   // empty where it is tied to the embedding
  kMixer,  // attention, recurrences, convolutions
  kRouter,
  kExperts,  // routed
  kShared,   // experts that every token passes
  kDense,    // feed-forward networks without experts
  kNorms,
  kOther,  // positions, biases, per-layer inputs, hyper-connections
};
inline constexpr size_t kWeightParts = static_cast<size_t>(WeightPart::kOther) + 1;

std::string_view NameOf(WeightPart part);  // "embedding", "experts", ...

struct WeightParts {
  std::array<int64_t, kWeightParts> elements = {};

  int64_t& operator[](WeightPart part) { return elements[static_cast<size_t>(part)]; }
  int64_t operator[](WeightPart part) const { return elements[static_cast<size_t>(part)]; }
  int64_t Total() const;
  WeightParts& operator+=(const WeightParts& other);
};

// Of a model or of one card's share of it.
struct WeightTree {
  WeightParts outside;              // embedding, head, final norm
  std::vector<WeightParts> layers;  // of the whole model or of the stage, in order

  WeightParts Sum() const;
};

// Nothing where the description leaves weights out (ModelSpec::uncounted).
std::optional<WeightTree> WeightsOf(const ModelSpec& model);

struct RankWeights {
  RankModel rank;  // its layers, divided
  WeightTree tree;
};
// For each pipeline stage. REQUIRES: WeightsOf(model). Errors: those of RankModels, experts that
// are fewer than the expert parallel cards.
Result<std::vector<RankWeights>> WeightsOfRanks(const ModelSpec& model,
                                                const Parallelism& parallel);

// Experts of a layer of which each of `tokens` tokens picks `per_token` by chance: how many
// different ones are expected. `tokens` may be any positive number.
double ExpertsTouched(int64_t experts, int64_t per_token, double tokens);

// Weights that take part for one token: experts by their share k / E. Nothing where a mixture
// doesn't say how many experts a token picks.
std::optional<int64_t> ActiveParameters(const ModelSpec& model, const WeightTree& tree);
// Weights that are multiplied with each token's channels: the active ones without the embedding's
// table (a row is looked up) and without the head, which only the last token of a prompt needs.
std::optional<int64_t> MultipliedParameters(const ModelSpec& model, const WeightTree& tree);

}  // namespace cairn

#endif  // CAIRN_SIZING_WEIGHT_PARTS_H_
