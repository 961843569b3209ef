// StreamingLLM: the first rows, where attention goes that has nowhere to go, and the last ones.
//
// Positions stay true: within the trained length that is the same as a mask, and beyond it nothing
// here helps.
#include <utility>

#include "cairn/policies/policies.h"
#include "cairn/policies/row_scores.h"

namespace cairn {
namespace {

class Streaming final : public TokenPolicy {
 public:
  using TokenPolicy::TokenPolicy;

  RowScores Scores(const LayerRows& layer) const override {
    return ForEachHead(layer, [](const HeadRows& head) {
      return std::vector<double>(head.positions.begin(), head.positions.end());
    });
  }
};

}  // namespace

std::unique_ptr<TokenPolicy> MakeStreaming(PolicySettings settings) {
  return std::make_unique<Streaming>(std::move(settings));
}

}  // namespace cairn
