#include "cairn/eval/run.h"

#include <doctest/doctest.h>

#include "cairn/eval/excerpt.h"
#include "cairn/eval/induction_model_for_tests.h"

namespace cairn {

TEST_CASE(
    "there is a row for each task, context and setting, the reference first, with its bytes") {
  EvalForTests made;
  const EvalPlan plan = {.tasks = {FindEvalTask("ppl"), FindEvalTask("copy")},
                         .contexts = {TokenCount(128), TokenCount(256)}};
  const auto rows = RunEval(plan, made.Input(EvalExcerpt(), 0), made.reference, made.settings);
  REQUIRE(rows);
  REQUIRE(rows->size() == 2 * 2 * 4);
  for (size_t i = 0; i < rows->size(); ++i) {
    const EvalRow& row = (*rows)[i];
    CHECK(row.task == plan.tasks[i / 8]);
    CHECK(row.context == plan.contexts[i / 4 % 2]);
    CHECK(row.is_reference == (i % 4 == 0));
    const Model& model = i % 4 == 3 ? made.forgetful : made.whole;
    CHECK(row.cost.bytes == model.layout().AllocatedBytes(row.context));
    CHECK(row.cost.key_bits == 32);
  }
  CHECK((*rows)[3].setting == "forgetful");
  CHECK((*rows)[3].cost.bytes < (*rows)[0].cost.bytes);
}

TEST_CASE("a context too short for a task is refused with the one that would do") {
  EvalForTests made;
  const EvalPlan plan = {.tasks = {FindEvalTask("greedy")}, .contexts = {TokenCount(31)}};
  const auto rows = RunEval(plan, made.Input(EvalExcerpt(), 0), made.reference, {});
  REQUIRE_FALSE(rows);
  CHECK(rows.error().message.find("at least 32") != std::string::npos);
}

}  // namespace cairn
