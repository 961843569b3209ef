// What several token policies do with scores: pick the best, smooth along positions, add up
// windows.
//
// Pure functions; thread-safe.
#ifndef CAIRN_POLICIES_ROW_SCORES_H_
#define CAIRN_POLICIES_ROW_SCORES_H_

#include <cstdint>
#include <span>
#include <vector>

#include "cairn/policies/token_policy.h"

namespace cairn {

// How many rows stay, and which of them whatever their score.
struct KeepPlan {
  int64_t budget = 0;
  int64_t first = 0;  // of the beginning; goes before `last` where the budget is short of both
  int64_t last = 0;   // of the end
};
// Rows that stay, rising; all where the budget is as large. Of equal scores the older row.
std::vector<int32_t> KeepBest(std::span<const double> scores, const KeepPlan& plan);

enum class Pooling1d : uint8_t { kMean, kLargest };
// Each score becomes the mean or the largest of the `width` (odd) around it. Beyond the ends are
// zeros for a mean, which is always a `width`-th of the sum, and nothing for the largest.
std::vector<double> PoolAlong(std::span<const double> scores, int64_t width, Pooling1d pooling);

// Of one query head: each row's sum over the window's queries, each times its factor (none: 1).
std::vector<double> WindowSums(const LayerRows& layer, const HeadRows& head, int64_t query_head,
                               std::span<const double> factors = {});

// SnapKV's: window sums of the rows before the window, pooled along positions by each query head
// alone, then their mean. Rows of the window itself have 0.
struct SnapWindow {
  int64_t window = 32;
  int64_t pool = 7;
  Pooling1d pooling = Pooling1d::kLargest;
};
SnapWindow SnapWindowOf(const PolicySettings& settings);
std::vector<double> SnapScores(const LayerRows& layer, const HeadRows& head,
                               const SnapWindow& window);
// KeepBest of each head, with the window's rows whatever their score.
ChosenRows KeepBestBefore(const RowScores& scores, int64_t budget, int64_t window);

// Mean over query heads of `of(query_head)`, which gives a vector as long for each.
template <class Of>
std::vector<double> MeanOverQueryHeads(const LayerRows& layer, const HeadRows& head, Of of) {
  std::vector<double> mean(head.positions.size());
  for (int64_t q = 0; q < layer.query_heads; ++q) {
    const std::vector<double> scores = of(q);
    for (size_t r = 0; r < mean.size(); ++r) mean[r] += scores[r];
  }
  for (double& score : mean) score /= static_cast<double>(layer.query_heads);
  return mean;
}

// Scores that need only one head at a time.
template <class Of>
RowScores ForEachHead(const LayerRows& layer, Of of) {
  RowScores scores;
  for (const HeadRows& head : layer.heads) scores.push_back(of(head));
  return scores;
}

// Lengths of the rows of [rows][width].
std::vector<double> Lengths(std::span<const float> rows, int64_t width);

}  // namespace cairn

#endif  // CAIRN_POLICIES_ROW_SCORES_H_
