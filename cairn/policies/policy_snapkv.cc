// SnapKV: what the last queries of the prompt look at, smoothed along positions, and their own
// rows.
//
// A question at the end of the prompt chooses what is kept for it; one that comes later finds what
// the prompt's end happened to look at.
#include <utility>

#include "cairn/policies/policies.h"
#include "cairn/policies/row_scores.h"

namespace cairn {
namespace {

class SnapKv final : public TokenPolicy {
 public:
  using TokenPolicy::TokenPolicy;

  PolicyNeeds needs() const override { return {.window = settings().Whole("window")}; }

  RowScores Scores(const LayerRows& layer) const override {
    return ForEachHead(layer, [&](const HeadRows& head) {
      return SnapScores(layer, head, SnapWindowOf(settings()));
    });
  }

  ChosenRows Choose(const LayerRows& layer, int64_t budget) const override {
    return KeepBestBefore(Scores(layer), budget, settings().Whole("window"));
  }
};

}  // namespace

std::unique_ptr<TokenPolicy> MakeSnapKv(PolicySettings settings) {
  return std::make_unique<SnapKv>(std::move(settings));
}

}  // namespace cairn
