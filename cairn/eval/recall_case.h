// RecallCase: a text with hidden facts as tokens, as long as a context allows, and its questions.
//
// The context is what all questions of the text share, and is read before any of them: what decides
// what to keep can't know them.
#ifndef CAIRN_EVAL_RECALL_CASE_H_
#define CAIRN_EVAL_RECALL_CASE_H_

#include <vector>

#include "cairn/base/ids.h"
#include "cairn/base/status.h"
#include "cairn/eval/recall_text.h"
#include "cairn/eval/task.h"

namespace cairn {

struct RecallCase {
  struct Question {
    std::vector<TokenId> tokens;                // at least one
    std::vector<std::vector<TokenId>> answers;  // the right one first; at least one token each
    double depth = 0;
  };
  std::vector<TokenId> context;
  std::vector<Question> questions;

  int64_t Longest() const;  // tokens of the context with its longest question and answer
};

// With as many filler sentences as fit. Errors: not even the facts fit; the chat template's.
Result<RecallCase> MakeRecallCase(const TaskInput& input, RecallKind kind, int64_t index);

}  // namespace cairn

#endif  // CAIRN_EVAL_RECALL_CASE_H_
