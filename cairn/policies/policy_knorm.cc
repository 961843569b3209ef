// K-norm: short keys get much attention. Models that norm their keys give no signal.
#include <utility>

#include "cairn/policies/policies.h"
#include "cairn/policies/row_scores.h"

namespace cairn {
namespace {

class KeyNorm final : public TokenPolicy {
 public:
  using TokenPolicy::TokenPolicy;

  PolicyNeeds needs() const override { return {.keys = true}; }

  RowScores Scores(const LayerRows& layer) const override {
    return ForEachHead(layer, [&](const HeadRows& head) {
      std::vector<double> scores = Lengths(head.keys, layer.key_width);
      for (double& score : scores) score = -score;
      return scores;
    });
  }
};

}  // namespace

std::unique_ptr<TokenPolicy> MakeKeyNorm(PolicySettings settings) {
  return std::make_unique<KeyNorm>(std::move(settings));
}

}  // namespace cairn
