// KeyDiff: keys that point away from what keys point to on average.
#include <cmath>
#include <utility>

#include "cairn/policies/policies.h"
#include "cairn/policies/row_scores.h"

namespace cairn {
namespace {

// Minus the cosine of each key and the mean of all keys of length one.
std::vector<double> Unlikeness(std::span<const float> keys, int64_t width) {
  const std::vector<double> lengths = Lengths(keys, width);
  const auto w = static_cast<size_t>(width);
  std::vector<double> anchor(w);
  for (size_t r = 0; r < lengths.size(); ++r) {
    if (lengths[r] == 0) continue;
    for (size_t c = 0; c < w; ++c) anchor[c] += static_cast<double>(keys[r * w + c]) / lengths[r];
  }
  double square = 0;
  for (double& a : anchor) {
    a /= static_cast<double>(lengths.size());
    square += a * a;
  }
  const double anchor_length = std::sqrt(square);
  std::vector<double> scores;
  for (size_t r = 0; r < lengths.size(); ++r) {
    double product = 0;
    for (size_t c = 0; c < w; ++c) product += static_cast<double>(keys[r * w + c]) * anchor[c];
    const double both = lengths[r] * anchor_length;
    scores.push_back(both == 0 ? 0 : -product / both);
  }
  return scores;
}

class KeyDiff final : public TokenPolicy {
 public:
  using TokenPolicy::TokenPolicy;

  PolicyNeeds needs() const override { return {.keys = true}; }

  RowScores Scores(const LayerRows& layer) const override {
    return ForEachHead(
        layer, [&](const HeadRows& head) { return Unlikeness(head.keys, layer.key_width); });
  }
};

}  // namespace

std::unique_ptr<TokenPolicy> MakeKeyDiff(PolicySettings settings) {
  return std::make_unique<KeyDiff>(std::move(settings));
}

}  // namespace cairn
