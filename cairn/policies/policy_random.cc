// Rows by lot, beside the first and the last ones: what every other policy must be better than.
#include <utility>

#include "cairn/policies/policies.h"
#include "cairn/policies/row_scores.h"

namespace cairn {
namespace {

// A well-mixed number of 53 bits; Steele et al.'s SplitMix64.
double Drawn(uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return static_cast<double>((x ^ (x >> 31)) >> 11);
}

class Random final : public TokenPolicy {
 public:
  using TokenPolicy::TokenPolicy;

  RowScores Scores(const LayerRows& layer) const override {
    RowScores scores;
    for (size_t h = 0; h < layer.heads.size(); ++h) {
      std::vector<double>& of_head = scores.emplace_back();
      // Far apart, so that neighbours of one head aren't another's.
      const uint64_t stream = (static_cast<uint64_t>(settings().Whole("seed")) << 48) +
                              (static_cast<uint64_t>(layer.index) << 40) + (uint64_t{h} << 32);
      for (const int64_t position : layer.heads[h].positions) {
        of_head.push_back(Drawn(stream + static_cast<uint64_t>(position)));
      }
    }
    return scores;
  }
};

}  // namespace

std::unique_ptr<TokenPolicy> MakeRandom(PolicySettings settings) {
  return std::make_unique<Random>(std::move(settings));
}

}  // namespace cairn
