// cairn eval: what a form of the state costs in quality.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cairn/base/env.h"
#include "cairn/eval/check.h"
#include "cairn/eval/excerpt.h"
#include "cairn/eval/form_search.h"
#include "cairn/eval/plot.h"
#include "cairn/eval/report.h"
#include "cairn/sizing/render.h"
#include "tools/commands.h"
#include "tools/eval_settings.h"
#include "tools/generation.h"
#include "tools/terminal.h"

namespace cairn {
namespace {

struct EvalArgs {
  ModelArgs model;
  std::vector<std::string> tasks;
  std::vector<std::string> key_types = {"f16", "q8_0", "q4_0"};
  std::vector<std::string> value_types;
  std::vector<std::string> qualities;
  bool forms_by_default = false;  // nobody named any
  std::vector<std::string> policies;
  std::vector<int64_t> contexts;
  std::string text_path;
  std::string json_path;
  std::string report_path;
  std::string plot_path;
  std::string grade = "high";
  uint64_t seed = 1;
  int64_t windows = 2;
  int64_t repeats = 1;
  bool chat = false;

  bool IsCheck() const { return tasks.size() == 1 && tasks.front() == "check"; }
};

constexpr int64_t kDefaultContext = 2048;
constexpr int64_t kCheckContext = 1024;
constexpr size_t kMaxTextBytes = size_t{1} << 28;
// A table of many measures is wider than a page where nobody looks at a terminal.
constexpr int kReportColumns = 180;

Result<EvalPlan> PlanOf(const EvalArgs& args, const ModelSpec& spec) {
  EvalPlan plan;
  if (args.IsCheck()) plan.tasks = EvalCheckTasks();
  for (const std::string& name : args.tasks) {
    const EvalTask* task = FindEvalTask(name);
    if (name == "all") {
      for (const EvalTask& each : AllEvalTasks()) plan.tasks.push_back(&each);
    } else if (task != nullptr) {
      plan.tasks.push_back(task);
    } else if (!args.IsCheck()) {
      return Fail(ErrorCode::kInvalidArgument,
                  "eval {}: there is no such task; one or more of {}, or all, or check alone would "
                  "be right",
                  name, EvalTaskNames());
    }
  }
  for (const int64_t context : args.contexts) plan.contexts.emplace_back(context);
  if (plan.contexts.empty()) {
    const int64_t wanted = args.IsCheck() ? kCheckContext : kDefaultContext;
    const int64_t own = spec.context_length.value();
    plan.contexts.emplace_back(own > 0 ? std::min(own, wanted) : wanted);
  }
  return plan;
}

Result<std::vector<PolicySettings>> PoliciesOf(const EvalArgs& args) {
  std::vector<PolicySettings> policies;
  for (const std::string& name : args.policies) {
    CAIRN_ASSIGN(PolicySettings policy, PolicySettings::Parse(name));
    policies.push_back(std::move(policy));
  }
  if (!policies.empty() && std::ranges::find(args.tasks, "greedy") != args.tasks.end()) {
    return Fail(ErrorCode::kUnsupported,
                "greedy knows no --token-policy: it asks on the way through a text; kl, ppl, copy, "
                "needle, multikey or vartrack would be right");
  }
  return policies;
}

// Where kl is measured, f16 is its floor.
std::vector<FormPair> WithFloor(std::vector<FormPair> forms, const EvalPlan& plan) {
  const FormPair floor = {"f16", "f16"};
  const bool wanted = std::ranges::find(plan.tasks, FindEvalTask("kl")) != plan.tasks.end();
  if (wanted && std::ranges::find(forms, floor) == forms.end()) forms.insert(forms.begin(), floor);
  return forms;
}

// The reference's rows come once, the settings' in the order of tasks and contexts.
void Merge(std::vector<EvalRow> fresh, const EvalPlan& plan, std::vector<EvalRow>& rows) {
  const bool first = rows.empty();
  for (EvalRow& row : fresh) {
    if (first || !row.is_reference) rows.push_back(std::move(row));
  }
  std::vector<EvalRow> sorted;
  for (const EvalTask* task : plan.tasks) {
    for (const TokenCount context : plan.contexts) {
      for (EvalRow& row : rows) {
        if (row.task == task && row.context == context) sorted.push_back(std::move(row));
      }
    }
  }
  rows = std::move(sorted);
}

Status Write(const std::string& path, const std::string& text) {
  if (path.empty()) return {};
  return WriteFileAtomically(path, std::as_bytes(std::span(text)));
}

Result<std::vector<EvalRow>> Measure(const EvalArgs& args, const TaskInput& input,
                                     const EvalPlan& plan, std::span<const FormPair> forms,
                                     std::span<const PolicySettings> policies,
                                     const ModelArgs& model_args, const EvalSetting& reference) {
  std::vector<EvalRow> rows;
  for (const auto group : GroupsOf(forms, reference.model->weight_bytes())) {
    CAIRN_ASSIGN(const OpenedSettings opened,
                 OpenSettings(model_args, group, policies, *input.pool));
    const ProgressLine line("measuring " + args.model.model);
    TaskInput shown = input;
    shown.progress = [&](std::string_view what) { line.Update(what); };
    CAIRN_ASSIGN(std::vector<EvalRow> fresh, RunEval(plan, shown, reference, opened.settings));
    Merge(std::move(fresh), plan, rows);
  }
  return rows;
}

Result<int> Report(const EvalArgs& args, const TaskInput& input, const std::vector<EvalRow>& rows) {
  const EvalSubject subject = {.model = args.model.model,
                               .text = input.text_name,
                               .seed = args.seed,
                               .windows = args.windows,
                               .repeats = args.repeats,
                               .chat = args.chat};
  std::vector<Section> sections = EvalSections(subject, rows);
  bool reached = true;
  if (args.IsCheck()) {
    const EvalGrade& wanted = *FindEvalGrade(args.grade);
    const std::vector<EvalVerdict> verdicts = EvalVerdicts(rows);
    reached = AllReach(verdicts, wanted);
    sections.push_back(EvalCheckSection(verdicts, wanted));
  }
  const int columns = OutputIsTerminal() ? OutputColumns() : kReportColumns;
  fmt::print("{}", RenderText(sections, {.columns = columns, .explain = true}));
  CAIRN_TRY(Write(args.json_path, EvalJson(subject, rows)));
  CAIRN_TRY(Write(args.report_path, RenderMarkdown(sections, /*explain=*/true)));
  CAIRN_TRY(Write(args.plot_path, EvalPlot(rows)));
  return reached ? 0 : 1;
}

Result<int> Run(const EvalArgs& args) {
  if (FindEvalGrade(args.grade) == nullptr) {
    return Fail(ErrorCode::kInvalidArgument, "--grade {}: one of {} would be right", args.grade,
                EvalGradeNames());
  }
  CAIRN_ASSIGN(std::vector<FormPair> forms, FormPairsOf(args.key_types, args.value_types));
  if (!args.qualities.empty() && args.forms_by_default) forms.clear();
  CAIRN_TRY(AddQualities(args.qualities, forms));
  CAIRN_ASSIGN(const std::vector<PolicySettings> policies, PoliciesOf(args));
  TaskInput input;
  input.text_name = "the built-in text";
  input.text = EvalExcerpt();
  if (!args.text_path.empty()) {
    input.text_name = args.text_path;
    CAIRN_ASSIGN(input.text, ReadFile(args.text_path, kMaxTextBytes));
  }
  ModelArgs model_args = args.model;
  model_args.key_type = "f32";
  model_args.value_type = "f32";
  CAIRN_ASSIGN(DescribedFile described, DescribeFile(model_args));
  CAIRN_ASSIGN(const EvalPlan plan, PlanOf(args, described.spec));
  model_args.context = std::ranges::max(plan.contexts).value();
  CAIRN_ASSIGN(const Tokenizer tokenizer, OpenTokenizer(*described.file, model_args.model));
  CAIRN_ASSIGN(const OpenedModel reference, OpenModel(model_args, std::move(described)));
  input.tokenizer = &tokenizer;
  input.pool = reference.pool.get();
  input.seed = args.seed;
  input.windows = args.windows;
  input.repeats = args.repeats;
  input.chat = args.chat;
  forms = WithFloor(std::move(forms), plan);
  CAIRN_ASSIGN(const std::vector<EvalRow> rows,
               Measure(args, input, plan, forms, policies, model_args,
                       {.name = "f32", .model = reference.model.get()}));
  return Report(args, input, rows);
}

void AddFlags(CLI::App& command, EvalArgs& args) {
  command
      .add_option("task", args.tasks,
                  EvalTaskNames() + ": one or more; all; or check, a verdict with exit code 0 or 1")
      ->required();
  args.model.AddModelFlag(command);
  args.model.AddThreadFlag(command);
  command
      .add_option("--cache-type-k", args.key_types,
                  "-ctk: stored forms of keys, as f16,q8_0; each is compared with f32")
      ->delimiter(',');
  command
      .add_option("--cache-type-v", args.value_types,
                  "-ctv: stored forms of values, one for each of -ctk (default: the same)")
      ->delimiter(',');
  args.model.AddKeyStandardsFlag(command);
  command
      .add_option("--state-quality", args.qualities,
                  "Also forms that are chosen for these, as high,small: " + StateGoalNames())
      ->delimiter(',');
  command.add_option("--token-policy", args.policies,
                     "Which tokens' rows stay once the context was read, as snapkv:keep=0.25 h2o; "
                     "each beside all rows: " +
                         PolicyNames());
  command.add_option("-c,--ctx-size", args.contexts, "Contexts, as 2048,8192 (default: 2048)")
      ->delimiter(',')
      ->check(CLI::Range(int64_t{8}, int64_t{1} << 24));
  command.add_option("--text", args.text_path,
                     "Text to read, UTF-8 (default: some pages that the program has)");
  command.add_option("--seed", args.seed, "Of the made-up texts of needle, multikey and vartrack");
  command.add_option("--windows", args.windows, "Pieces of the text that ppl and kl read, at most")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 20));
  command
      .add_option("--repeats", args.repeats, "Texts of each kind for needle, multikey, vartrack")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 16));
  command.add_flag("--chat", args.chat, "Put questions into the model's chat template");
  command.add_option("--grade", args.grade, "What check asks for: " + EvalGradeNames());
  command.add_option("--json", args.json_path, "Also write all rows to this file");
  command.add_option("--report", args.report_path, "Also write the tables to this Markdown file");
  command.add_option("--plot", args.plot_path, "Also write loss against bytes to this SVG file");
}

}  // namespace

void AddEvalCommand(CLI::App& app, ChosenCommand& chosen) {
  static EvalArgs args;  // the parser writes into it after this function has returned
  CLI::App& command = *app.add_subcommand("eval", "Measure what a form of the state costs");
  AddFlags(command, args);
  command.callback([&chosen, &command] {
    const CLI::App* self = &command;
    args.forms_by_default = self->count("--cache-type-k") == 0;
    chosen = [] {
      const Result<int> code = Run(args);
      return code ? *code : ExitCodeOf(code.error());
    };
  });
}

}  // namespace cairn
