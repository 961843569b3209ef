#include "cairn/eval/task.h"

#include <doctest/doctest.h>

#include <cmath>
#include <set>

#include "cairn/eval/excerpt.h"
#include "cairn/eval/induction_model_for_tests.h"

namespace cairn {
namespace {

double Value(const EvalTask& task, const TaskResult& result, std::string_view key) {
  for (size_t i = 0; i < task.columns.size(); ++i) {
    if (task.columns[i].key != key) continue;
    if (const auto* count = std::get_if<int64_t>(&result.cells[i])) {
      return static_cast<double>(*count);
    }
    return std::get<double>(result.cells[i]);
  }
  FAIL("no column " << std::string(key));
  return 0;
}

// Rows: the reference, "same", "noisy", "forgetful".
struct Ran {
  const EvalTask& task;
  std::vector<TaskResult> rows;
  double At(size_t row, std::string_view key) const { return Value(task, rows[row], key); }
};

Ran RunTask(EvalForTests& made, std::string_view name, const TaskInput& input) {
  const EvalTask* task = FindEvalTask(name);
  REQUIRE(task != nullptr);
  Result<std::vector<TaskResult>> rows = task->run(input, made.reference, made.settings);
  REQUIRE_MESSAGE(rows.has_value(), (rows ? "" : rows.error().message));
  REQUIRE(rows->size() == 4);
  for (const TaskResult& row : *rows) CHECK(row.cells.size() == task->columns.size());
  return {*task, std::move(*rows)};
}

}  // namespace

TEST_CASE("tasks have names of their own and are found by them") {
  std::set<std::string_view> names;
  for (const EvalTask& task : AllEvalTasks()) {
    CHECK(names.insert(task.name).second);
    CHECK(FindEvalTask(task.name) == &task);
    CHECK(EvalTaskNames().find(task.name) != std::string::npos);
  }
  CHECK(FindEvalTask("check") == nullptr);
}

TEST_CASE("the same state in other chunks loses nothing at all, whatever is asked") {
  EvalForTests made;
  TaskInput input = made.Input(EvalExcerpt(), 1800);
  for (const EvalTask& task : AllEvalTasks()) {
    CAPTURE(task.name);
    const Ran ran = RunTask(made, task.name, input);
    CHECK(ran.rows[0].loss == ran.rows[1].loss);
    CHECK(ran.rows[0].cells == ran.rows[1].cells);
    // Its noise is too small to change what is likeliest.
    if (task.name != "greedy") CHECK(ran.rows[2].cells != ran.rows[1].cells);
    CHECK(ran.rows[3].loss > ran.rows[0].loss);
  }
}

TEST_CASE(
    "divergence is exactly zero of equal states, grows with damage, and counts half a window") {
  EvalForTests made;
  TaskInput input = made.Input(EvalExcerpt(), 400);
  input.windows = 3;
  const Ran ran = RunTask(made, "kl", input);
  CHECK(ran.rows[0].setting == "f32 again");
  for (const size_t same : {0, 1}) {
    CHECK(ran.At(same, "kl_mean") == 0.0);
    CHECK(ran.At(same, "kl_max") == 0.0);
    CHECK(ran.At(same, "same_top1_percent") == 100.0);
    CHECK(ran.At(same, "perplexity_ratio") == 1.0);
  }
  CHECK(ran.At(2, "kl_mean") > 0.001);
  CHECK(ran.At(3, "kl_mean") > ran.At(2, "kl_mean"));
  CHECK(ran.At(0, "tokens") == 3 * 199);
}

TEST_CASE("perplexity is that of the tokens of the second half of each window") {
  EvalForTests made;
  // The window's first half is new, its second half the first once more.
  std::string text;
  for (int i = 0; i < 128; ++i) text += static_cast<char>('!' + i * 37 % 64);
  text.replace(64, 64, text.substr(0, 64));
  const Ran ran = RunTask(made, "ppl", made.Input(text, 128));
  CHECK(ran.At(0, "tokens") == 63);
  CHECK(ran.At(0, "perplexity") < 1.2);
  // By heart, from a window that no longer has it: as likely as any token.
  CHECK(ran.At(3, "perplexity") > 2);
  CHECK(ran.At(3, "ratio") == doctest::Approx(ran.At(3, "perplexity") / ran.At(0, "perplexity")));
}

TEST_CASE("a far passage is copied by a whole state and is as new to one that has dropped it") {
  EvalForTests made;
  const Ran ran = RunTask(made, "copy", made.Input(EvalExcerpt(), 900));
  CHECK(ran.At(0, "copy_nats") < 0.2);
  CHECK(ran.At(0, "likeliest_percent") > 95);
  CHECK(ran.At(0, "first_nats") > 3);
  CHECK(ran.At(3, "copy_nats") > 3);
  CHECK(ran.At(3, "over_f32_nats") == ran.At(3, "copy_nats") - ran.At(0, "copy_nats"));
  CHECK(ran.At(0, "tokens") == 4 * (64 - 16));
}

TEST_CASE("a needle is found at every depth by a whole state, and nowhere far by a window") {
  EvalForTests made;
  TaskInput input = made.Input("", 900);
  input.repeats = 2;
  const Ran ran = RunTask(made, "needle", input);
  CHECK(ran.At(0, "questions") == 10);
  CHECK(ran.At(0, "exact_percent") == 100);
  CHECK(ran.At(0, "chosen_percent") == 100);
  CHECK(ran.At(0, "answer_nats") < 0.5);
  CHECK(ran.At(3, "exact_percent") == 20);  // the one that stands at the end
  CHECK(ran.At(3, "nats_at_0") > 10);
  CHECK(ran.At(3, "nats_at_50") > 10);
}

TEST_CASE("one of many keys is found by a whole state") {
  EvalForTests made;
  const Ran ran = RunTask(made, "multikey", made.Input("", 1600));
  CHECK(ran.At(0, "questions") == 8);
  CHECK(ran.At(0, "exact_percent") == 100);
  CHECK(ran.At(3, "exact_percent") == 0);
}

TEST_CASE("continuations part where the states differ, and never from themselves") {
  EvalForTests made;
  const Ran ran = RunTask(made, "greedy", made.Input(EvalExcerpt(), 600));
  CHECK(ran.At(0, "agreement_mean") == 64);
  CHECK(ran.At(0, "whole_percent") == 100);
  CHECK(ran.At(0, "continuations") == 8);
  CHECK(ran.At(3, "agreement_mean") < 64);
  CHECK(ran.At(3, "lead_nats") > 0);
}

TEST_CASE("logits that are no numbers are an error, not a mean") {
  EvalForTests made;
  InductionModel broken(made.tokenizer.vocab_size(), Lifetime::All(), std::nan(""));
  const std::vector<EvalSetting> settings = {{.name = "broken", .model = &broken}};
  for (const EvalTask& task : AllEvalTasks()) {
    CAPTURE(task.name);
    const TaskInput input = made.Input(EvalExcerpt(), 1800);
    const auto rows = task.run(input, made.reference, settings);
    REQUIRE_FALSE(rows);
    CHECK(rows.error().message.find("not numbers") != std::string::npos);
    CHECK_FALSE(task.run(input, settings.front(), {}));
  }
}

TEST_CASE("a context that has no room for a question, and a text shorter than it, are errors") {
  EvalForTests made;
  const TaskInput input = made.Input("Too short.", 64);
  for (const EvalTask& task : AllEvalTasks()) {
    CAPTURE(task.name);
    const auto rows = task.run(input, made.reference, made.settings);
    REQUIRE_FALSE(rows);
    CHECK(rows.error().IsBadInput());
  }
}

}  // namespace cairn
