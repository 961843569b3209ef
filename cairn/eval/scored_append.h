// Appending tokens that are known beforehand, and how well each was predicted.
#ifndef CAIRN_EVAL_SCORED_APPEND_H_
#define CAIRN_EVAL_SCORED_APPEND_H_

#include <span>
#include <vector>

#include "cairn/base/thread_pool.h"
#include "cairn/engine/sequence_runner.h"

namespace cairn {

struct TokenScore {
  double nats = 0;         // -log of its probability
  bool likeliest = false;  // no token was likelier
};

// What a damaged model, or a form that overflows, makes of a text: a mean would hide it, and it
// can't be sorted.
std::unexpected<Error> NotNumbers(const SequenceRunner& runner, size_t before_its_end);

// A score for each of the tokens; `before` are the logits from which the first was predicted.
Result<std::vector<TokenScore>> AppendScored(SequenceRunner& runner, std::span<const float> before,
                                             std::span<const TokenId> tokens, ThreadPool& pool);

}  // namespace cairn

#endif  // CAIRN_EVAL_SCORED_APPEND_H_
