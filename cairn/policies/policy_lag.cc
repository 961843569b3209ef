// LagKV: rows that stand out when measured by the ranges of the part that follows theirs.
//
// Behind the first rows parts of `lag` rows each lose the same share; the last whole part, which
// has none behind it, and what isn't a whole part stay.
#include <algorithm>
#include <cmath>
#include <utility>

#include "cairn/policies/policies.h"
#include "cairn/policies/row_scores.h"

namespace cairn {
namespace {

class Lag final : public TokenPolicy {
 public:
  using TokenPolicy::TokenPolicy;

  PolicyNeeds needs() const override { return {.keys = true, .values = true}; }

  RowScores Scores(const LayerRows& layer) const override {
    return ForEachHead(layer, [&](const HeadRows& head) {
      std::vector<double> scores(head.positions.size());
      const int64_t lag = settings().Whole("lag");
      const auto add = [&](std::span<const float> rows, int64_t width, int64_t first) {
        const auto part = static_cast<size_t>(lag * width);
        const auto at = static_cast<size_t>(first * width);
        const std::vector<double> of_part =
            LagScores(rows.subspan(at, part), rows.subspan(at + part, part), width);
        for (size_t r = 0; r < of_part.size(); ++r) {
          scores[static_cast<size_t>(first) + r] += of_part[r] / 2;
        }
      };
      const int64_t sinks = settings().Whole("sinks");
      for (int64_t first = sinks; first + 2 * lag <= head.rows(); first += lag) {
        add(head.keys, layer.key_width, first);
        add(head.values, layer.value_width, first);
      }
      return scores;
    });
  }

  ChosenRows Choose(const LayerRows& layer, int64_t budget) const override {
    ChosenRows choice;
    for (const std::vector<double>& scores : Scores(layer)) {
      choice.push_back(ChooseOf(scores, budget));
    }
    return choice;
  }

 private:
  std::vector<int32_t> ChooseOf(std::span<const double> scores, int64_t budget) const {
    const int64_t sinks = settings().Whole("sinks");
    const int64_t lag = settings().Whole("lag");
    const auto rows = static_cast<int64_t>(scores.size());
    const int64_t parts = std::max<int64_t>(0, (rows - sinks) / lag - 1);
    const int64_t left = budget - (rows - parts * lag);
    // What can't be had from the parts goes by age.
    if (parts == 0 || left <= 0) {
      return KeepBest(scores, {.budget = budget, .first = sinks, .last = budget});
    }
    std::vector<int32_t> kept;
    const auto keep = [&](int64_t first, int64_t count, int64_t most) {
      const auto of = scores.subspan(static_cast<size_t>(first), static_cast<size_t>(count));
      for (const int32_t row : KeepBest(of, {.budget = most})) {
        kept.push_back(row + static_cast<int32_t>(first));
      }
    };
    keep(0, sinks, sinks);
    for (int64_t p = 0; p < parts; ++p) {
      // The rest of the division, evenly.
      keep(sinks + p * lag, lag, (p + 1) * left / parts - p * left / parts);
    }
    const int64_t tail = sinks + parts * lag;
    keep(tail, rows - tail, rows - tail);
    return kept;
  }
};

// Standard deviation with one degree of freedom taken.
double Deviation(std::span<const double> values) {
  const auto count = static_cast<double>(values.size());
  double mean = 0;
  for (const double v : values) mean += v / count;
  double squares = 0;
  for (const double v : values) squares += (v - mean) * (v - mean);
  return std::sqrt(squares / std::max(1.0, count - 1));
}

}  // namespace

std::vector<double> LagScores(std::span<const float> rows, std::span<const float> next,
                              int64_t width) {
  const auto w = static_cast<size_t>(width);
  std::vector<double> least(w), range(w);
  for (size_t c = 0; c < w; ++c) {
    double lowest = next[c], highest = next[c];
    for (size_t at = c; at < next.size(); at += w) {
      lowest = std::min<double>(lowest, next[at]);
      highest = std::max<double>(highest, next[at]);
    }
    least[c] = lowest;
    range[c] = highest - lowest;
  }
  std::vector<double> scores, scaled(w);
  for (size_t at = 0; at + w <= rows.size(); at += w) {
    for (size_t c = 0; c < w; ++c) {
      scaled[c] = range[c] == 0 ? 0 : (static_cast<double>(rows[at + c]) - least[c]) / range[c];
    }
    scores.push_back(Deviation(scaled));
  }
  const double largest = *std::ranges::max_element(scores);
  double sum = 0;
  for (double& score : scores) sum += score = std::exp(score - largest);
  for (double& score : scores) score /= sum;
  return scores;
}

std::unique_ptr<TokenPolicy> MakeLag(PolicySettings settings) {
  return std::make_unique<Lag>(std::move(settings));
}

}  // namespace cairn
