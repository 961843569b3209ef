// OpenVINO GenAI's areas: the first rows, the last rows, and between them whole blocks by score.
//
// All heads of a layer keep the same rows. A token's score is the weight that the last queries gave
// it over all heads; norm=1 divides it by the token's age, mass below 1 keeps the best blocks
// only until they have that share of all scores, and fills up with those most unlike the others.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "cairn/base/check.h"
#include "cairn/policies/policies.h"
#include "cairn/policies/row_scores.h"

namespace cairn {
namespace {

class Areas final : public TokenPolicy {
 public:
  using TokenPolicy::TokenPolicy;

  PolicyNeeds needs() const override {
    return {.window = settings().Whole("window"), .keys = settings().Get("mass") < 1};
  }

  RowScores Scores(const LayerRows& layer) const override {
    std::vector<double> sum(layer.heads.front().positions.size());
    for (const HeadRows& head : layer.heads) {
      CAIRN_CHECK(head.positions.size() == sum.size());
      for (int64_t q = 0; q < layer.query_heads; ++q) {
        const std::vector<double> sums = WindowSums(layer, head, q);
        for (size_t r = 0; r < sum.size(); ++r) sum[r] += sums[r];
      }
    }
    std::vector<double> scores = LargestAhead(sum, settings().Whole("pool"));
    for (size_t r = 0; settings().Get("norm") != 0 && r < scores.size(); ++r) {
      scores[r] /= static_cast<double>(layer.tokens - layer.heads.front().positions[r]);
    }
    return RowScores(layer.heads.size(), scores);
  }

  ChosenRows Choose(const LayerRows& layer, int64_t budget) const override {
    const int64_t rows = layer.heads.front().rows();
    const int64_t block = settings().Whole("block");
    const int64_t first = std::min(settings().Whole("sinks"), budget);
    const int64_t last = std::min(settings().Whole("recent"), budget - first);
    const int64_t blocks = std::max<int64_t>(0, rows - first - last) / block;
    const int64_t evictable = blocks * block;
    if (rows <= budget || blocks == 0) {
      return ChosenRows(layer.heads.size(),
                        KeepBest(std::vector<double>(static_cast<size_t>(rows)),
                                 {.budget = budget, .first = first, .last = budget}));
    }
    const int64_t keep = std::min(blocks, (budget - first - last) / block);
    // Rows that don't fill a block count with the recent ones, so far as there is room.
    const int64_t loose = (rows - first - last) % block;
    const int64_t tail = last + std::min(loose, budget - first - last - keep * block);
    const std::vector<bool> kept = BlocksKept(layer, first, blocks, keep);
    std::vector<int32_t> choice;
    for (int64_t row = 0; row < rows; ++row) {
      const int64_t at = row - first;
      const bool between = at >= 0 && at < evictable;
      const bool stays =
          between ? kept[static_cast<size_t>(at / block)] : row < first || row >= rows - tail;
      if (stays) choice.push_back(static_cast<int32_t>(row));
    }
    return ChosenRows(layer.heads.size(), choice);
  }

 private:
  // The largest of each score and those of the next ones, `width` in all.
  static std::vector<double> LargestAhead(std::span<const double> scores, int64_t width) {
    std::vector<double> pooled;
    for (size_t r = 0; r < scores.size(); ++r) {
      const size_t count = std::min(static_cast<size_t>(width), scores.size() - r);
      pooled.push_back(*std::ranges::max_element(scores.subspan(r, count)));
    }
    return pooled;
  }

  std::vector<bool> BlocksKept(const LayerRows& layer, int64_t first, int64_t blocks,
                               int64_t keep) const {
    const int64_t block = settings().Whole("block");
    const RowScores scores = Scores(layer);
    const std::vector<double> sums =
        BlockSums(std::span(scores.front())
                      .subspan(static_cast<size_t>(first), static_cast<size_t>(blocks * block)),
                  block);
    std::vector<bool> kept(static_cast<size_t>(blocks));
    if (settings().Get("mass") == 1) {
      for (const int32_t b : KeepBest(sums, {.budget = keep})) kept[static_cast<size_t>(b)] = true;
      return kept;
    }
    std::vector<std::span<const float>> keys;
    for (const HeadRows& head : layer.heads) {
      keys.push_back(head.keys.subspan(static_cast<size_t>(first * layer.key_width),
                                       static_cast<size_t>(blocks * block * layer.key_width)));
    }
    const AdaptiveBlocks chosen = KeepAdaptively({.keys = keys,
                                                  .width = layer.key_width,
                                                  .block_scores = sums,
                                                  .block = block,
                                                  .keep = keep,
                                                  .mass = settings().Get("mass")});
    for (const int32_t b : chosen.by_mass) kept[static_cast<size_t>(b)] = true;
    for (const int32_t b : chosen.by_diversity) kept[static_cast<size_t>(b)] = true;
    return kept;
  }
};

std::vector<int32_t> BestFirst(std::span<const double> scores) {
  std::vector<int32_t> order(scores.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, [&](int32_t a, int32_t b) {
    const double ours = scores[static_cast<size_t>(a)];
    const double theirs = scores[static_cast<size_t>(b)];
    return ours != theirs ? ours > theirs : a < b;
  });
  return order;
}

// Adds -cosine of each row pair of one head to to[block of the row][other row]; what is below its
// row's mean, or a row with itself, counts as nothing.
void AddUnlikeness(std::span<const float> keys, int64_t width, int64_t block,
                   std::span<double> to) {
  const std::vector<double> lengths = Lengths(keys, width);
  const size_t rows = lengths.size();
  const auto w = static_cast<size_t>(width);
  std::vector<double> likeness(rows);
  for (size_t a = 0; a < rows; ++a) {
    double sum = 0;
    for (size_t b = 0; b < rows; ++b) {
      double product = 0;
      for (size_t c = 0; c < w; ++c) product += double{keys[a * w + c]} * keys[b * w + c];
      const double both = lengths[a] * lengths[b];
      likeness[b] = a == b || both == 0 ? 0 : product / both;
      sum += likeness[b];
    }
    double* row = to.data() + a / static_cast<size_t>(block) * rows;
    for (size_t b = 0; b < rows; ++b) {
      if (likeness[b] >= sum / static_cast<double>(rows)) row[b] -= likeness[b];
    }
  }
}

}  // namespace

std::vector<double> BlockSums(std::span<const double> scores, int64_t block) {
  std::vector<double> sums(scores.size() / static_cast<size_t>(block));
  for (size_t r = 0; r < scores.size(); ++r) sums[r / static_cast<size_t>(block)] += scores[r];
  return sums;
}

AdaptiveBlocks KeepAdaptively(const AdaptiveInput& input) {
  const size_t blocks = input.block_scores.size();
  const size_t rows = blocks * static_cast<size_t>(input.block);
  const double all =
      std::accumulate(input.block_scores.begin(), input.block_scores.end(), 0.0) * input.mass;
  AdaptiveBlocks result;
  std::vector<bool> kept(blocks);
  double mass = 0;
  for (const int32_t b : BestFirst(input.block_scores)) {
    if (mass >= all || std::ssize(result.by_mass) >= input.keep) break;
    result.by_mass.push_back(b);
    kept[static_cast<size_t>(b)] = true;
    mass += input.block_scores[static_cast<size_t>(b)];
  }
  std::vector<double> unlikeness(blocks * rows);
  for (const auto keys : input.keys) AddUnlikeness(keys, input.width, input.block, unlikeness);
  result.diversity.resize(blocks);
  const size_t rest = (blocks - result.by_mass.size()) * static_cast<size_t>(input.block);
  for (size_t b = 0; b < blocks; ++b) {
    if (kept[b]) continue;
    double sum = 0;
    for (size_t r = 0; r < rows; ++r) {
      if (!kept[r / static_cast<size_t>(input.block)]) sum += unlikeness[b * rows + r];
    }
    result.diversity[b] = sum / static_cast<double>(rest * input.keys.size());
  }
  for (const int32_t b : BestFirst(result.diversity)) {
    if (std::ssize(result.by_mass) + std::ssize(result.by_diversity) >= input.keep) break;
    if (!kept[static_cast<size_t>(b)]) result.by_diversity.push_back(b);
  }
  return result;
}

std::unique_ptr<TokenPolicy> MakeAreas(PolicySettings settings) {
  return std::make_unique<Areas>(std::move(settings));
}

}  // namespace cairn
