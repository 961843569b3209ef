#include "cairn/eval/scored_append.h"

#include <doctest/doctest.h>

#include "cairn/eval/divergence.h"
#include "cairn/eval/induction_model_for_tests.h"

namespace cairn {

TEST_CASE("each token is scored by the logits before it, as when they are appended one by one") {
  EvalForTests made;
  const std::vector<TokenId> text = *made.tokenizer.Encode("one two three one two thrift");
  const auto single = *EvalSequence::Begin(made.reference, TokenCount(64));
  const auto whole = *EvalSequence::Begin(made.settings[0], TokenCount(64));
  const std::span<const TokenId> rest = std::span(text).subspan(1);
  REQUIRE(single->runner().Append(std::span(text).first(1)));
  REQUIRE(whole->runner().Append(std::span(text).first(1)));
  const Result<std::vector<TokenScore>> scores =
      AppendScored(whole->runner(), whole->runner().logits(), rest, made.pool);
  REQUIRE(scores);
  REQUIRE(scores->size() == rest.size());
  int64_t likeliest = 0;
  for (size_t i = 0; i < rest.size(); ++i) {
    const std::span<const float> logits = single->runner().logits();
    CHECK((*scores)[i].nats == NegativeLogProbability(logits, rest[i]));
    CHECK((*scores)[i].likeliest == (LikeliestOf(logits) == rest[i]));
    likeliest += (*scores)[i].likeliest ? 1 : 0;
    REQUIRE(single->runner().Append(rest.subspan(i, 1)));
  }
  CHECK(likeliest >= 8);  // "ne two thr" once more
  CHECK_FALSE(scores->back().likeliest);
  CHECK(whole->runner().tokens().size() == text.size());
  CHECK(AppendScored(whole->runner(), whole->runner().logits(), {}, made.pool)->empty());
}

}  // namespace cairn
