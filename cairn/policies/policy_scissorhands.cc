// Scissorhands: what the last queries looked at will be looked at again.
//
// Weights of a window of queries are summed, older queries counting less by `decay` a query. The
// best stay; the paper's other form, which draws them at random, is left out.
#include <cmath>
#include <utility>

#include "cairn/policies/policies.h"
#include "cairn/policies/row_scores.h"

namespace cairn {
namespace {

class Scissorhands final : public TokenPolicy {
 public:
  using TokenPolicy::TokenPolicy;

  PolicyNeeds needs() const override { return {.window = settings().Whole("window")}; }

  RowScores Scores(const LayerRows& layer) const override {
    std::vector<double> factors;
    for (int64_t w = 0; w < layer.window; ++w) {
      factors.push_back(
          std::pow(settings().Get("decay"), static_cast<double>(layer.window - 1 - w)));
    }
    return ForEachHead(layer, [&](const HeadRows& head) {
      return MeanOverQueryHeads(layer, head,
                                [&](int64_t q) { return WindowSums(layer, head, q, factors); });
    });
  }
};

}  // namespace

std::unique_ptr<TokenPolicy> MakeScissorhands(PolicySettings settings) {
  return std::make_unique<Scissorhands>(std::move(settings));
}

}  // namespace cairn
