// H2O: heavy hitters, the rows that all queries so far gave most weight to, and the last ones.
//
// Sums favour old rows, which more queries could see; norm=1 divides by how many those were. The
// original keeps a set for each query head; rows here are a KV head's, so its query heads' mean
// decides.
#include <cmath>
#include <utility>

#include "cairn/policies/policies.h"
#include "cairn/policies/row_scores.h"

namespace cairn {
namespace {

class HeavyHitters final : public TokenPolicy {
 public:
  using TokenPolicy::TokenPolicy;

  PolicyNeeds needs() const override { return {.sums = true}; }

  RowScores Scores(const LayerRows& layer) const override {
    const bool by_age = settings().Get("norm") != 0;
    return ForEachHead(layer, [&](const HeadRows& head) {
      const size_t rows = head.positions.size();
      std::vector<double> scores = MeanOverQueryHeads(layer, head, [&](int64_t q) {
        const auto sums = head.sums.subspan(static_cast<size_t>(q) * rows, rows);
        return std::vector<double>(sums.begin(), sums.end());
      });
      for (size_t r = 0; by_age && r < rows; ++r) {
        scores[r] /= static_cast<double>(layer.tokens - head.positions[r]);
      }
      return scores;
    });
  }

  ChosenRows Choose(const LayerRows& layer, int64_t budget) const override {
    const auto heavy = std::lround(settings().Get("heavy") * static_cast<double>(budget));
    ChosenRows choice;
    for (const std::vector<double>& scores : Scores(layer)) {
      choice.push_back(KeepBest(scores, {.budget = budget, .last = budget - heavy}));
    }
    return choice;
  }
};

}  // namespace

std::unique_ptr<TokenPolicy> MakeHeavyHitters(PolicySettings settings) {
  return std::make_unique<HeavyHitters>(std::move(settings));
}

}  // namespace cairn
