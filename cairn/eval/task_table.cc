#include <array>

#include "cairn/eval/task.h"

namespace cairn {

std::span<const EvalTask> AllEvalTasks() {
  static const std::array<EvalTask, 7> kTasks = {PerplexityTask(), DivergenceTask(), NeedleTask(),
                                                 MultiKeyTask(),   VarTrackTask(),   CopyTask(),
                                                 GreedyTask()};
  return kTasks;
}

const EvalTask* FindEvalTask(std::string_view name) {
  for (const EvalTask& task : AllEvalTasks()) {
    if (task.name == name) return &task;
  }
  return nullptr;
}

std::string EvalTaskNames() {
  std::string names;
  for (const EvalTask& task : AllEvalTasks()) {
    names += names.empty() ? "" : ", ";
    names += task.name;
  }
  return names;
}

}  // namespace cairn
