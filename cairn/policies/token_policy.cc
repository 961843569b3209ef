#include "cairn/policies/token_policy.h"

#include <algorithm>

#include "cairn/policies/row_scores.h"

namespace cairn {

ChosenRows TokenPolicy::Choose(const LayerRows& layer, int64_t budget) const {
  const int64_t most = std::max<int64_t>(1, BudgetOf(layer, budget));
  ChosenRows choice;
  for (const std::vector<double>& scores : Scores(layer)) {
    choice.push_back(KeepBest(
        scores,
        {.budget = most, .first = settings_.Whole("sinks"), .last = settings_.Whole("recent")}));
  }
  return choice;
}

}  // namespace cairn
