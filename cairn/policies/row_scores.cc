#include "cairn/policies/row_scores.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "cairn/base/check.h"

namespace cairn {

std::vector<int32_t> KeepBest(std::span<const double> scores, const KeepPlan& plan) {
  const auto rows = static_cast<int64_t>(scores.size());
  const int64_t budget = std::min(plan.budget, rows);
  const int64_t first = std::min(plan.first, budget);
  const int64_t last = std::min(plan.last, budget - first);
  std::vector<int32_t> middle(static_cast<size_t>(rows - first - last));
  std::iota(middle.begin(), middle.end(), static_cast<int32_t>(first));
  // What isn't a number must not break the order.
  const auto worth = [&](int32_t row) {
    const double score = scores[static_cast<size_t>(row)];
    return std::isnan(score) ? -std::numeric_limits<double>::infinity() : score;
  };
  const auto better = [&](int32_t a, int32_t b) {
    const double ours = worth(a);
    const double theirs = worth(b);
    return ours != theirs ? ours > theirs : a < b;
  };
  const auto end = middle.begin() + (budget - first - last);
  std::nth_element(middle.begin(), end, middle.end(), better);
  middle.erase(end, middle.end());
  std::vector<int32_t> kept(static_cast<size_t>(first));
  std::iota(kept.begin(), kept.end(), 0);
  std::ranges::sort(middle);
  kept.insert(kept.end(), middle.begin(), middle.end());
  for (int64_t row = rows - last; row < rows; ++row) kept.push_back(static_cast<int32_t>(row));
  return kept;
}

std::vector<double> PoolAlong(std::span<const double> scores, int64_t width, Pooling1d pooling) {
  CAIRN_CHECK(width % 2 == 1);
  const auto count = static_cast<int64_t>(scores.size());
  std::vector<double> pooled(scores.size());
  for (int64_t i = 0; i < count; ++i) {
    const int64_t first = std::max<int64_t>(0, i - width / 2);
    const int64_t end = std::min(count, i + width / 2 + 1);
    const auto around =
        scores.subspan(static_cast<size_t>(first), static_cast<size_t>(end - first));
    double& to = pooled[static_cast<size_t>(i)];
    if (pooling == Pooling1d::kLargest) {
      to = *std::ranges::max_element(around);
    } else {
      to = std::accumulate(around.begin(), around.end(), 0.0) / static_cast<double>(width);
    }
  }
  return pooled;
}

std::vector<double> WindowSums(const LayerRows& layer, const HeadRows& head, int64_t query_head,
                               std::span<const double> factors) {
  const size_t rows = head.positions.size();
  CAIRN_CHECK(head.weights.size() == rows * static_cast<size_t>(layer.query_heads * layer.window));
  std::vector<double> sums(rows);
  for (int64_t w = 0; w < layer.window; ++w) {
    const double factor = factors.empty() ? 1 : factors[static_cast<size_t>(w)];
    const float* weights =
        head.weights.data() + static_cast<size_t>(query_head * layer.window + w) * rows;
    for (size_t r = 0; r < rows; ++r) sums[r] += factor * static_cast<double>(weights[r]);
  }
  return sums;
}

SnapWindow SnapWindowOf(const PolicySettings& settings) {
  return {.window = settings.Whole("window"),
          .pool = settings.Whole("pool"),
          .pooling = settings.Get("mean") != 0 ? Pooling1d::kMean : Pooling1d::kLargest};
}

ChosenRows KeepBestBefore(const RowScores& scores, int64_t budget, int64_t window) {
  ChosenRows choice;
  for (const std::vector<double>& of_head : scores) {
    choice.push_back(KeepBest(of_head, {.budget = budget, .last = window}));
  }
  return choice;
}

std::vector<double> SnapScores(const LayerRows& layer, const HeadRows& head,
                               const SnapWindow& window) {
  const int64_t before = std::max<int64_t>(0, head.rows() - window.window);
  return MeanOverQueryHeads(layer, head, [&](int64_t q) {
    const std::vector<double> sums = WindowSums(layer, head, q);
    std::vector<double> pooled =
        PoolAlong(std::span(sums).first(static_cast<size_t>(before)), window.pool, window.pooling);
    pooled.resize(sums.size());
    return pooled;
  });
}

std::vector<double> Lengths(std::span<const float> rows, int64_t width) {
  const auto w = static_cast<size_t>(width);
  std::vector<double> lengths;
  for (size_t at = 0; at + w <= rows.size(); at += w) {
    double sum = 0;
    for (const float x : rows.subspan(at, w)) sum += double{x} * x;
    lengths.push_back(std::sqrt(sum));
  }
  return lengths;
}

}  // namespace cairn
