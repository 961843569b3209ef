// PyramidInfer: what recent queries look at, the later ones counting more, fewer rows in deeper
// layers.
//
// The original drops hidden states while the prompt is read, so that deeper layers never compute
// what is lost; here the whole prompt is read first and only rows are dropped. The share of layer l
// of L falls as (1 - decay) (1 + cos(pi l / L)) / 2 + decay, scaled to the budget.
#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "cairn/policies/policies.h"
#include "cairn/policies/row_scores.h"

namespace cairn {
namespace {

class PyramidInfer final : public TokenPolicy {
 public:
  using TokenPolicy::TokenPolicy;

  PolicyNeeds needs() const override { return {.window = settings().Whole("window")}; }

  RowScores Scores(const LayerRows& layer) const override {
    std::vector<double> factors;
    for (int64_t w = 0; w < layer.window; ++w) {
      const double way = static_cast<double>(w + 1) / static_cast<double>(layer.window);
      factors.push_back(1 + (settings().Get("nearness") - 1) * way);
    }
    RowScores scores(layer.heads.size());
    for (size_t h = 0; h < scores.size(); ++h) {
      scores[h] = MeanOverQueryHeads(layer, layer.heads[h], [&](int64_t q) {
        return WindowSums(layer, layer.heads[h], q, factors);
      });
      for (size_t r = 0; h > 0 && r < scores[h].size(); ++r) scores[0][r] += scores[h][r];
    }
    // All heads of a layer keep the same rows.
    std::fill(scores.begin() + 1, scores.end(), scores.front());
    return scores;
  }

  int64_t BudgetOf(const LayerRows& layer, int64_t budget) const override {
    double sum = 0;
    for (int64_t l = 0; l < layer.count; ++l) sum += ShareOf(l, layer.count);
    const double mean = sum / static_cast<double>(layer.count);
    return std::lround(static_cast<double>(budget) * ShareOf(layer.index, layer.count) / mean);
  }

  ChosenRows Choose(const LayerRows& layer, int64_t budget) const override {
    const int64_t most = std::max<int64_t>(1, BudgetOf(layer, budget));
    const auto recent = std::lround(settings().Get("recent") * static_cast<double>(most));
    ChosenRows choice;
    for (const std::vector<double>& scores : Scores(layer)) {
      choice.push_back(
          KeepBest(scores, {.budget = most, .first = settings().Whole("sinks"), .last = recent}));
    }
    return choice;
  }

 private:
  double ShareOf(int64_t layer, int64_t count) const {
    const double way = static_cast<double>(layer) / static_cast<double>(count);
    const double decay = settings().Get("decay");
    return (1 - decay) * (1 + std::cos(std::numbers::pi * way)) / 2 + decay;
  }
};

}  // namespace

std::unique_ptr<TokenPolicy> MakePyramidInfer(PolicySettings settings) {
  return std::make_unique<PyramidInfer>(std::move(settings));
}

}  // namespace cairn
