#include "cairn/eval/scored_append.h"

#include <cmath>

#include "cairn/eval/divergence.h"

namespace cairn {

std::unexpected<Error> NotNumbers(const SequenceRunner& runner, size_t before_its_end) {
  return Fail(ErrorCode::kCorrupt, "the model's logits after {} tokens are not numbers",
              runner.tokens().size() - before_its_end);
}

Result<std::vector<TokenScore>> AppendScored(SequenceRunner& runner, std::span<const float> before,
                                             std::span<const TokenId> tokens, ThreadPool& pool) {
  std::vector<TokenScore> scores(tokens.size());
  const auto score = [&](size_t at, std::span<const float> logits) {
    scores[at] = {NegativeLogProbability(logits, tokens[at]), LikeliestOf(logits) == tokens[at]};
  };
  const size_t vocabulary = before.size();
  if (!tokens.empty()) score(0, before);
  CAIRN_TRY(runner.AppendForLogits(tokens, [&](int64_t first, std::span<const float> rows) {
    auto body = [&](int64_t i, int) {
      const auto at = static_cast<size_t>(first + i) + 1;
      if (at == tokens.size()) return;
      score(at, rows.subspan(static_cast<size_t>(i) * vocabulary, vocabulary));
    };
    pool.ParallelFor(static_cast<int64_t>(rows.size() / vocabulary), body);
  }));
  for (size_t i = 0; i < scores.size(); ++i) {
    if (!std::isfinite(scores[i].nats)) return NotNumbers(runner, tokens.size() - i);
  }
  return scores;
}

}  // namespace cairn
