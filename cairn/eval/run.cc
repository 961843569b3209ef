#include "cairn/eval/run.h"

#include <fmt/format.h>

#include <utility>

#include "cairn/base/check.h"

namespace cairn {

Result<std::vector<EvalRow>> RunEval(const EvalPlan& plan, const TaskInput& input,
                                     const EvalSetting& reference,
                                     std::span<const EvalSetting> settings) {
  std::vector<EvalRow> rows;
  for (const EvalTask* task : plan.tasks) {
    for (const TokenCount context : plan.contexts) {
      if (context < task->least_context) {
        return Fail(ErrorCode::kInvalidArgument,
                    "{}: a context of {} tokens is too short; at least {} (-c) would be right",
                    task->name, context.value(), task->least_context.value());
      }
      TaskInput one = input;
      one.context = context;
      one.progress = [&](std::string_view what) {
        input.progress(fmt::format("{} at {}: {}", task->name, context.value(), what));
      };
      CAIRN_ASSIGN(std::vector<TaskResult> results, task->run(one, reference, settings));
      CAIRN_CHECK(results.size() == settings.size() + 1);
      for (size_t i = 0; i < results.size(); ++i) {
        const EvalSetting& setting = i == 0 ? reference : settings[i - 1];
        CAIRN_CHECK(results[i].cells.size() == task->columns.size());
        StateCost cost = StateCostOf(setting.model->layout(), context);
        if (results[i].bytes) cost.bytes = *results[i].bytes;
        rows.push_back({task, std::move(results[i].setting), i == 0, context, cost,
                        std::move(results[i].cells), results[i].loss});
      }
    }
  }
  return rows;
}

}  // namespace cairn
