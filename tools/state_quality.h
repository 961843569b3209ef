// --state-quality: stored forms chosen for a model by what they cost it, and the file that keeps
// what was chosen.
#ifndef CAIRN_TOOLS_STATE_QUALITY_H_
#define CAIRN_TOOLS_STATE_QUALITY_H_

#include <optional>
#include <string>

#include "cairn/base/status.h"
#include "cairn/base/thread_pool.h"
#include "cairn/eval/form_search.h"
#include "tools/model_args.h"

namespace cairn {

// What --state-quality and --state-forms ask for: the file's forms if there is one, else those that
// a search finds, which are then written to it. The search reads a text of the program's own
// once with the state in float32, and about ten times more with other forms; two models' weights
// are in memory meanwhile. Errors: a file of another model, goal or context; no tokenizer.
Result<FormReport> FormReportFor(const ModelArgs& args, const ModelSpec& model,
                                 const KeyStandards& standards, ThreadPool& pool);

// A JSON object: the goal, what was measured, and the forms of each layer.
std::string FormReportJson(const FormReport& report, const std::string& fingerprint);
// `name` is the file's, for errors.
Result<FormReport> FormReportFromJson(const std::string& text, const std::string& name,
                                      const std::string& fingerprint, const ModelSpec& model);

// For /props: what was chosen, or else the forms that the flags name.
std::string StateFormsJson(const ModelArgs& args, const std::optional<FormReport>& report);

// "high: keys 4.3, values 3.4 bits; KL 0.0071 (f16 0.0017), copying +0.02 nats over 1,024 tokens"
std::string FormReportLine(const FormReport& report, const ModelSpec& model);

}  // namespace cairn

#endif  // CAIRN_TOOLS_STATE_QUALITY_H_
