// Ada-KV: SnapKV's scores, but a layer's rows go to the heads that have the best ones.
//
// Each head is sure of a share of its budget. Its authors' code rounds each head's share and may
// lose rows by that; here the whole budget is given out.
#include <algorithm>
#include <cmath>
#include <utility>

#include "cairn/policies/policies.h"
#include "cairn/policies/row_scores.h"

namespace cairn {
namespace {

class AdaKv final : public TokenPolicy {
 public:
  using TokenPolicy::TokenPolicy;

  PolicyNeeds needs() const override { return {.window = settings().Whole("window")}; }

  RowScores Scores(const LayerRows& layer) const override {
    return ForEachHead(layer, [&](const HeadRows& head) {
      return SnapScores(layer, head, SnapWindowOf(settings()));
    });
  }

  ChosenRows Choose(const LayerRows& layer, int64_t budget) const override {
    const int64_t window = std::min(settings().Whole("window"), budget);
    RowScores scores = Scores(layer);
    std::vector<int64_t> before;
    for (std::vector<double>& of_head : scores) {
      before.push_back(std::max<int64_t>(0, std::ssize(of_head) - window));
      of_head.resize(static_cast<size_t>(before.back()));
    }
    ChosenRows choice = KeepBestOfAllHeads(scores, budget - window, settings().Get("floor"));
    for (size_t h = 0; h < choice.size(); ++h) {
      for (int64_t row = before[h]; row < layer.heads[h].rows(); ++row) {
        choice[h].push_back(static_cast<int32_t>(row));
      }
    }
    return choice;
  }
};

}  // namespace

ChosenRows KeepBestOfAllHeads(const RowScores& scores, int64_t budget, double floor_share) {
  const auto sure = static_cast<int64_t>(std::floor(static_cast<double>(budget) * floor_share));
  struct Place {
    double score;
    size_t head;
    int32_t row;
  };
  std::vector<Place> rest;
  ChosenRows choice;
  int64_t left = budget * std::ssize(scores);
  for (size_t h = 0; h < scores.size(); ++h) {
    choice.push_back(KeepBest(scores[h], {.budget = sure}));
    left -= std::ssize(choice.back());
    auto next = choice.back().begin();
    for (int32_t row = 0; row < std::ssize(scores[h]); ++row) {
      if (next != choice.back().end() && *next == row) {
        ++next;
        continue;
      }
      const double score = scores[h][static_cast<size_t>(row)];
      rest.push_back({std::isnan(score) ? 0 : score, h, row});
    }
  }
  // Equal scores go to the first head and row.
  std::ranges::sort(rest, [](const Place& a, const Place& b) {
    return a.score != b.score ? a.score > b.score
                              : std::pair(a.head, a.row) < std::pair(b.head, b.row);
  });
  rest.resize(std::min(rest.size(), static_cast<size_t>(std::max<int64_t>(0, left))));
  for (const Place& place : rest) choice[place.head].push_back(place.row);
  for (std::vector<int32_t>& rows : choice) std::ranges::sort(rows);
  return choice;
}

std::unique_ptr<TokenPolicy> MakeAdaKv(PolicySettings settings) {
  return std::make_unique<AdaKv>(std::move(settings));
}

}  // namespace cairn
