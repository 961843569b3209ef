// Task: one question about quality, asked of a reference and of settings on the same tokens.
//
// A task gives a row of measures for each setting, the reference's first. Rows are cells under the
// task's columns, so that tables, JSON, plots and verdicts need not know the task. Adding one: a
// task_x.cc and its row in task_table.cc.
#ifndef CAIRN_EVAL_TASK_H_
#define CAIRN_EVAL_TASK_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cairn/base/status.h"
#include "cairn/base/thread_pool.h"
#include "cairn/eval/setting.h"
#include "cairn/sizing/section.h"
#include "cairn/text/tokenizer.h"

namespace cairn {

struct TaskInput {
  const Tokenizer* tokenizer = nullptr;
  ThreadPool* pool = nullptr;
  std::string text;       // prose to read
  std::string text_name;  // of it, for errors
  TokenCount context{2048};
  uint64_t seed = 1;
  int64_t windows = 2;  // pieces of the text, one behind the other, for ppl and kl
  int64_t repeats = 1;  // contexts of each kind for needle, multikey and vartrack
  bool chat = false;    // questions in the model's chat template
  std::function<void(std::string_view)> progress = [](std::string_view) {};
};

// Of one setting; as many cells as the task has columns.
struct TaskResult {
  std::string setting;
  std::vector<Cell> cells;
  // What a plot and a verdict look at; smaller is better.
  double loss = 0;
  // Of the state at the end, where a token policy makes it less than the layout says.
  std::optional<Bytes> bytes = {};
};

struct EvalTask {
  std::string_view name;
  std::string_view title;
  std::string_view loss_label;  // what `loss` is, with its unit
  std::vector<Column> columns;
  std::string_view note;  // how the numbers come about
  TokenCount least_context;
  // For the reference, or for its check against itself, and then for each setting, in order.
  Result<std::vector<TaskResult>> (*run)(const TaskInput& input, const EvalSetting& reference,
                                         std::span<const EvalSetting> settings);
};

// In the order in which reports show them.
std::span<const EvalTask> AllEvalTasks();
// Null: there is none of that name.
const EvalTask* FindEvalTask(std::string_view name);
std::string EvalTaskNames();  // "ppl, kl, ..."

EvalTask PerplexityTask();
EvalTask DivergenceTask();
EvalTask NeedleTask();
EvalTask MultiKeyTask();
EvalTask VarTrackTask();
EvalTask CopyTask();
EvalTask GreedyTask();

}  // namespace cairn

#endif  // CAIRN_EVAL_TASK_H_
