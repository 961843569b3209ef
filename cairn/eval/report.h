// What was measured, as a terminal page, Markdown and JSON; all show the same cells.
#ifndef CAIRN_EVAL_REPORT_H_
#define CAIRN_EVAL_REPORT_H_

#include <span>
#include <string>
#include <vector>

#include "cairn/eval/run.h"
#include "cairn/sizing/section.h"

namespace cairn {

// What the rows were measured on.
struct EvalSubject {
  std::string model = {};  // as the user named it
  std::string text = {};   // the same of the text
  uint64_t seed = 0;
  int64_t windows = 0;
  int64_t repeats = 0;
  bool chat = false;
};

// One for what was measured on, then one for each task.
std::vector<Section> EvalSections(const EvalSubject& subject, std::span<const EvalRow> rows);

// {"model": .., "text": .., "seed": .., "rows": [{"task", "setting", "context", "state_bytes",
// "key_bits", "value_bits", the task's measures}, ..]}; ends with a newline.
std::string EvalJson(const EvalSubject& subject, std::span<const EvalRow> rows);

}  // namespace cairn

#endif  // CAIRN_EVAL_REPORT_H_
