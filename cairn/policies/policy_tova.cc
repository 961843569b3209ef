// TOVA: the rows that the last query gives most weight to, one set for all heads of a layer.
#include <utility>

#include "cairn/base/check.h"
#include "cairn/policies/policies.h"
#include "cairn/policies/row_scores.h"

namespace cairn {
namespace {

class Tova final : public TokenPolicy {
 public:
  using TokenPolicy::TokenPolicy;

  PolicyNeeds needs() const override { return {.window = 1}; }

  RowScores Scores(const LayerRows& layer) const override {
    std::vector<double> sum(layer.heads.front().positions.size());
    for (const HeadRows& head : layer.heads) {
      CAIRN_CHECK(head.positions.size() == sum.size());
      const std::vector<double> of_head =
          MeanOverQueryHeads(layer, head, [&](int64_t q) { return WindowSums(layer, head, q); });
      for (size_t r = 0; r < sum.size(); ++r) sum[r] += of_head[r];
    }
    return RowScores(layer.heads.size(), sum);
  }
};

}  // namespace

std::unique_ptr<TokenPolicy> MakeTova(PolicySettings settings) {
  return std::make_unique<Tova>(std::move(settings));
}

}  // namespace cairn
