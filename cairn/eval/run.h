// RunEval: tasks x contexts x settings, as rows.
#ifndef CAIRN_EVAL_RUN_H_
#define CAIRN_EVAL_RUN_H_

#include <string>
#include <vector>

#include "cairn/eval/task.h"

namespace cairn {

struct EvalRow {
  const EvalTask* task = nullptr;
  std::string setting;
  bool is_reference = false;
  TokenCount context = {};
  StateCost cost = {};
  std::vector<Cell> cells = {};  // under the task's columns
  double loss = 0;
};

struct EvalPlan {
  std::vector<const EvalTask*> tasks;
  std::vector<TokenCount> contexts;
};

// One row for each (task, context, setting); the reference's, or its check against itself, comes
// first of each task and context.
Result<std::vector<EvalRow>> RunEval(const EvalPlan& plan, const TaskInput& input,
                                     const EvalSetting& reference,
                                     std::span<const EvalSetting> settings);

}  // namespace cairn

#endif  // CAIRN_EVAL_RUN_H_
