// PyramidKV: SnapKV's choice with budgets that fall from the first layer to the last.
//
// Rows are counted as its authors count them, so that the layers' sum strays a little from the
// budget: steps are whole numbers. Layers with windows of their own don't count as layers here.
#include <algorithm>
#include <utility>

#include "cairn/policies/policies.h"
#include "cairn/policies/row_scores.h"

namespace cairn {
namespace {

class PyramidKv final : public TokenPolicy {
 public:
  using TokenPolicy::TokenPolicy;

  PolicyNeeds needs() const override { return {.window = settings().Whole("window")}; }

  RowScores Scores(const LayerRows& layer) const override {
    return ForEachHead(layer, [&](const HeadRows& head) {
      return SnapScores(layer, head, SnapWindowOf(settings()));
    });
  }

  int64_t BudgetOf(const LayerRows& layer, int64_t budget) const override {
    const int64_t window = std::min(settings().Whole("window"), budget);
    const std::vector<int64_t> budgets = PyramidBudgets({.capacity = budget,
                                                         .window = window,
                                                         .layers = layer.count,
                                                         .tokens = layer.tokens,
                                                         .beta = settings().Whole("beta")});
    return budgets[static_cast<size_t>(layer.index)] + window;
  }

  ChosenRows Choose(const LayerRows& layer, int64_t budget) const override {
    return KeepBestBefore(Scores(layer), BudgetOf(layer, budget), settings().Whole("window"));
  }
};

}  // namespace

std::vector<int64_t> PyramidBudgets(const Pyramid& pyramid) {
  const int64_t mean = pyramid.capacity - pyramid.window;
  const int64_t most = pyramid.tokens - pyramid.window;
  const auto layers = static_cast<size_t>(pyramid.layers);
  if (pyramid.tokens < 2 * mean || layers == 1) return std::vector<int64_t>(layers, mean);
  int64_t lowest = mean / pyramid.beta;
  int64_t highest = 2 * mean - lowest;
  if (highest >= most) {
    highest = most;
    lowest = 2 * mean - highest;
  }
  const int64_t step = (highest - lowest) / (pyramid.layers - 1);
  std::vector<int64_t> budgets;
  for (int64_t layer = 0; layer < pyramid.layers; ++layer) {
    budgets.push_back(highest - layer * step);
  }
  return budgets;
}

std::unique_ptr<TokenPolicy> MakePyramidKv(PolicySettings settings) {
  return std::make_unique<PyramidKv>(std::move(settings));
}

}  // namespace cairn
