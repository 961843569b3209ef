// needle, multikey, vartrack: facts that were read once, asked for at the end.
#include <algorithm>

#include "cairn/eval/recall_case.h"
#include "cairn/eval/scored_append.h"
#include "cairn/eval/statistics.h"
#include "cairn/eval/task.h"

namespace cairn {
namespace {

struct Answered {
  double nats = 0;      // of the whole right answer
  bool exact = false;   // what temperature 0 would have said
  bool chosen = false;  // no wrong answer is likelier
  double depth = 0;
};

double NatsOf(std::span<const TokenScore> scores) {
  double sum = 0;
  for (const TokenScore& score : scores) sum += score.nats;
  return sum;
}

Result<Answered> Ask(const TaskInput& input, EvalSequence& sequence,
                     const RecallCase::Question& question) {
  Answered answered = {.chosen = true, .depth = question.depth};
  for (size_t i = 0; i < question.answers.size(); ++i) {
    CAIRN_ASSIGN(const auto fork, sequence.Fork());
    CAIRN_TRY(fork->Append(question.tokens));
    CAIRN_ASSIGN(const std::vector<TokenScore> scores,
                 AppendScored(*fork, fork->logits(), question.answers[i], *input.pool));
    const double nats = NatsOf(scores);
    if (i > 0) {
      answered.chosen = answered.chosen && answered.nats <= nats;
      continue;
    }
    answered.nats = nats;
    answered.exact = std::ranges::all_of(scores, &TokenScore::likeliest);
  }
  return answered;
}

Result<std::vector<Answered>> AskAll(const TaskInput& input, const EvalSetting& setting,
                                     std::span<const RecallCase> cases, Bytes& state_bytes) {
  std::vector<Answered> answers;
  for (const RecallCase& one : cases) {
    input.progress(setting.name);
    CAIRN_ASSIGN(const auto sequence, EvalSequence::Begin(setting, input.context, 1));
    CAIRN_TRY(sequence->runner().Append(one.context));
    CAIRN_TRY(sequence->EndContext());
    CAIRN_TRY(sequence->CheckBytes());
    state_bytes = sequence->HeldBytes();
    for (const RecallCase::Question& question : one.questions) {
      CAIRN_ASSIGN(const Answered answered, Ask(input, *sequence, question));
      answers.push_back(answered);
    }
  }
  return answers;
}

template <class Test>
double PercentOf(std::span<const Answered> answers, Test test) {
  return 100.0 * static_cast<double>(std::ranges::count_if(answers, test)) /
         static_cast<double>(answers.size());
}

Result<std::vector<TaskResult>> Run(RecallKind kind, const TaskInput& input,
                                    const EvalSetting& reference,
                                    std::span<const EvalSetting> settings) {
  const bool needle = kind == RecallKind::kNeedle;
  std::vector<RecallCase> cases;
  for (int64_t i = 0; i < input.repeats * (needle ? kNeedleDepths : 1); ++i) {
    CAIRN_ASSIGN(cases.emplace_back(), MakeRecallCase(input, kind, i));
  }
  std::vector<EvalSetting> all = {reference};
  all.insert(all.end(), settings.begin(), settings.end());
  std::vector<TaskResult> results;
  double base = 0;
  for (const EvalSetting& setting : all) {
    Bytes state_bytes;
    CAIRN_ASSIGN(const std::vector<Answered> answers, AskAll(input, setting, cases, state_bytes));
    std::vector<double> nats;
    std::vector<double> by_depth[kNeedleDepths];
    for (const Answered& answered : answers) {
      nats.push_back(answered.nats);
      by_depth[static_cast<size_t>(answered.depth * (kNeedleDepths - 1))].push_back(answered.nats);
    }
    const double mean = MeanOf(nats);
    if (results.empty()) base = mean;
    TaskResult result = {
        setting.name,
        {mean, mean - base, PercentOf(answers, [](const Answered& a) { return a.exact; }),
         PercentOf(answers, [](const Answered& a) { return a.chosen; }),
         static_cast<int64_t>(answers.size())},
        mean};
    for (int64_t i = 0; needle && i < kNeedleDepths; ++i) {
      result.cells.emplace_back(MeanOf(by_depth[i]));
    }
    if (setting.policy != nullptr) result.bytes = state_bytes;
    results.push_back(std::move(result));
  }
  return results;
}

template <RecallKind kKind>
Result<std::vector<TaskResult>> RunKind(const TaskInput& input, const EvalSetting& reference,
                                        std::span<const EvalSetting> settings) {
  return Run(kKind, input, reference, settings);
}

std::vector<Column> Columns() {
  return {{"answer_nats", "nats per answer"},
          {"over_f32_nats", "over f32"},
          {"exact_percent", "exact", Unit::kPercent},
          {"chosen_percent", "chosen of 5", Unit::kPercent},
          {"questions", "questions"}};
}

}  // namespace

EvalTask NeedleTask() {
  EvalTask task = {.name = "needle",
                   .title = "One fact in filler",
                   .loss_label = "nats per answer",
                   .columns = Columns(),
                   .note =
                       "A number of seven digits stands once in filler, at five depths, and is "
                       "asked for at the end. Exact: temperature 0 gives all of it; chosen: none "
                       "of four other numbers is likelier (by chance 20 %).",
                   .least_context = TokenCount(64),
                   .run = RunKind<RecallKind::kNeedle>};
  for (const int percent : {0, 25, 50, 75, 100}) {
    task.columns.push_back({"nats_at_" + std::to_string(percent), std::to_string(percent) + " %"});
  }
  return task;
}

EvalTask MultiKeyTask() {
  return {.name = "multikey",
          .title = "One of many facts of one form",
          .loss_label = "nats per answer",
          .columns = Columns(),
          .note =
              "Sixteen things have numbers of six digits; of eight the number is asked for. "
              "The wrong answers are numbers of the other things.",
          .least_context = TokenCount(64),
          .run = RunKind<RecallKind::kMultiKey>};
}

EvalTask VarTrackTask() {
  EvalTask task = {.name = "vartrack",
                   .title = "Chains of assignments",
                   .loss_label = "nats per answer",
                   .columns = Columns(),
                   .note =
                       "Four chains VAR A = number, VAR B = VAR A, VAR C = VAR B are spread over "
                       "filler, behind a worked example; C's number is asked for. The wrong "
                       "answers are the other chains' numbers (by chance 25 % are chosen).",
                   .least_context = TokenCount(64),
                   .run = RunKind<RecallKind::kVarTrack>};
  task.columns[3].label = "chosen of 4";
  return task;
}

}  // namespace cairn
