// ExpectedAttention: the weight that queries to come are expected to give a row, times its value.
//
// Queries before rotation are taken for Gaussian; turned to the positions to come on average they
// have mean m and covariance C, and exp(scale k.q) has the mean exp(scale k.m + scale^2 k.Ck / 2).
// No attention weight is looked at, so what is asked later isn't guessed from the prompt's end.
#include <algorithm>
#include <cmath>
#include <utility>

#include "cairn/policies/policies.h"
#include "cairn/policies/row_scores.h"

namespace cairn {
namespace {

class ExpectedAttention final : public TokenPolicy {
 public:
  using TokenPolicy::TokenPolicy;

  PolicyNeeds needs() const override {
    return {.future = settings().Whole("future"), .keys = true, .values = true};
  }

  RowScores Scores(const LayerRows& layer) const override {
    return ForEachHead(layer, [&](const HeadRows& head) {
      const std::vector<double> weights = MeanOverQueryHeads(
          layer, head, [&](int64_t q) { return ExpectedWeights(layer, head, q); });
      return TimesSizes(weights, Lengths(head.values, layer.value_width),
                        settings().Get("epsilon"));
    });
  }
};

// key . C key, C symmetric.
double Quadratic(std::span<const float> key, std::span<const double> covariance) {
  double sum = 0;
  for (size_t i = 0; i < key.size(); ++i) {
    const double* row = covariance.data() + i * key.size();
    double product = 0;
    for (size_t j = 0; j < i; ++j) product += row[j] * static_cast<double>(key[j]);
    sum += static_cast<double>(key[i]) * (2 * product + row[i] * static_cast<double>(key[i]));
  }
  return sum;
}

}  // namespace

std::vector<double> ExpectedWeights(const LayerRows& layer, const HeadRows& head,
                                    int64_t query_head) {
  const auto width = static_cast<size_t>(layer.key_width);
  const auto q = static_cast<size_t>(query_head);
  const auto mean = head.query_means.subspan(q * width, width);
  const auto covariance = head.query_covariances.subspan(q * width * width, width * width);
  std::vector<double> weights;
  for (size_t r = 0; r < head.positions.size(); ++r) {
    const auto key = head.keys.subspan(r * width, width);
    double product = 0;
    for (size_t c = 0; c < width; ++c) product += static_cast<double>(key[c]) * mean[c];
    weights.push_back(layer.scale * product +
                      layer.scale * layer.scale * Quadratic(key, covariance) / 2);
  }
  const double largest = *std::ranges::max_element(weights);
  double sum = 0;
  for (double& weight : weights) sum += weight = std::exp(weight - largest);
  for (double& weight : weights) weight /= sum;
  return weights;
}

std::vector<double> TimesSizes(std::span<const double> weights, std::span<const double> sizes,
                               double epsilon) {
  std::vector<double> scores;
  for (size_t r = 0; r < weights.size(); ++r) scores.push_back((weights[r] + epsilon) * sizes[r]);
  return scores;
}

std::unique_ptr<TokenPolicy> MakeExpectedAttention(PolicySettings settings) {
  return std::make_unique<ExpectedAttention>(std::move(settings));
}

}  // namespace cairn
