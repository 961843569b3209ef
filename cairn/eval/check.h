// Verdict: what a form is good for, by limits that are stated.
//
// Limits are of measured loss against the f32 state, not of bits: a form is as good as what it does
// to this model. Pure functions; thread-safe.
#ifndef CAIRN_EVAL_CHECK_H_
#define CAIRN_EVAL_CHECK_H_

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cairn/eval/run.h"
#include "cairn/sizing/section.h"

namespace cairn {

// The most that a form of this grade may cost.
struct EvalGrade {
  std::string_view name;
  double kl = 0;         // mean, nats
  double same_top1 = 0;  // at least, percent
  double copy_nats = 0;  // over f32
};

// Best first.
std::span<const EvalGrade> EvalGrades();
const EvalGrade* FindEvalGrade(std::string_view name);
std::string EvalGradeNames();

// The tasks that a check runs.
std::vector<const EvalTask*> EvalCheckTasks();

struct EvalVerdict {
  std::string setting;
  double kl = 0;
  double same_top1 = 0;
  double copy_nats = 0;
  double needles = 0;            // percent chosen
  double reference_needles = 0;  // of f32
  // Null: worse than every grade.
  const EvalGrade* grade = nullptr;
};

// Of each setting, in order. A grade needs all of its limits and no fact lost: as many needles as
// f32 finds. REQUIRES: rows of EvalCheckTasks() at one context.
std::vector<EvalVerdict> EvalVerdicts(std::span<const EvalRow> rows);

// True if every verdict is at least `wanted`.
bool AllReach(std::span<const EvalVerdict> verdicts, const EvalGrade& wanted);
Section EvalCheckSection(std::span<const EvalVerdict> verdicts, const EvalGrade& wanted);

}  // namespace cairn

#endif  // CAIRN_EVAL_CHECK_H_
