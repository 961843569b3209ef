#include "cairn/eval/check.h"

#include <doctest/doctest.h>

namespace cairn {
namespace {

EvalRow RowOf(std::string_view task, std::string_view setting,
              std::initializer_list<std::pair<std::string_view, double>> values) {
  EvalRow row = {.task = FindEvalTask(task), .setting = std::string(setting)};
  row.is_reference = setting.starts_with("f32");
  row.cells.assign(row.task->columns.size(), Cell(0.0));
  for (const auto& [key, value] : values) {
    for (size_t i = 0; i < row.task->columns.size(); ++i) {
      if (row.task->columns[i].key == key) row.cells[i] = value;
    }
  }
  return row;
}

struct Found {
  double kl;
  double top1;
  double copy;
  double needles;
};

EvalVerdict VerdictOf(const Found& found) {
  const std::vector<EvalRow> rows = {
      RowOf("kl", "f32 again", {}),
      RowOf("kl", "x", {{"kl_mean", found.kl}, {"same_top1_percent", found.top1}}),
      RowOf("needle", "f32", {{"chosen_percent", 80}}),
      RowOf("needle", "x", {{"chosen_percent", found.needles}}),
      RowOf("copy", "f32", {}),
      RowOf("copy", "x", {{"over_f32_nats", found.copy}})};
  const std::vector<EvalVerdict> verdicts = EvalVerdicts(rows);
  REQUIRE(verdicts.size() == 1);
  CHECK(verdicts.front().setting == "x");
  return verdicts.front();
}

std::string_view GradeOf(const Found& found) {
  const EvalVerdict verdict = VerdictOf(found);
  return verdict.grade == nullptr ? "none" : verdict.grade->name;
}

}  // namespace

TEST_CASE("a grade needs every one of its limits") {
  CHECK(GradeOf({0.002, 98, 0.05, 80}) == "near-lossless");
  CHECK(GradeOf({0.0021, 98, 0.05, 80}) == "high");
  CHECK(GradeOf({0.002, 97.9, 0.05, 80}) == "high");
  CHECK(GradeOf({0.002, 98, 0.051, 80}) == "high");
  CHECK(GradeOf({0.002, 98, 0.2, 80}) == "balanced");
  CHECK(GradeOf({0.08, 85, 0.9, 100}) == "small");
  CHECK(GradeOf({0.2, 85, 0.9, 100}) == "none");
  CHECK(GradeOf({0, 100, 0, 60}) == "none");  // f32 finds more needles
}

TEST_CASE("a check is met by the grade that was asked for and by better ones") {
  const std::vector<EvalVerdict> verdicts = {VerdictOf({0.001, 99, 0, 80}),
                                             VerdictOf({0.02, 91, 0, 80})};
  CHECK(AllReach(verdicts, *FindEvalGrade("balanced")));
  CHECK(AllReach(verdicts, *FindEvalGrade("small")));
  CHECK_FALSE(AllReach(verdicts, *FindEvalGrade("high")));
  CHECK_FALSE(AllReach(std::vector<EvalVerdict>{VerdictOf({9, 0, 0, 0})}, *FindEvalGrade("small")));
  CHECK(FindEvalGrade("perfect") == nullptr);
  const Section section = EvalCheckSection(verdicts, *FindEvalGrade("high"));
  REQUIRE(section.tables.front().rows.size() == 2);
  CHECK(section.tables.front().rows[0].back() == Cell(true));
  CHECK(section.tables.front().rows[1].back() == Cell(false));
  CHECK(section.notes.size() == EvalGrades().size() + 1);
}

TEST_CASE("grades are listed best first, every limit tighter than the next one's") {
  const auto grades = EvalGrades();
  for (size_t i = 1; i < grades.size(); ++i) {
    CHECK(grades[i - 1].kl < grades[i].kl);
    CHECK(grades[i - 1].same_top1 > grades[i].same_top1);
    CHECK(grades[i - 1].copy_nats < grades[i].copy_nats);
    CHECK(EvalGradeNames().find(grades[i].name) != std::string::npos);
  }
}

}  // namespace cairn
