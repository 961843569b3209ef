#include "cairn/eval/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "cairn/base/check.h"

namespace cairn {
namespace {

double ValueOf(const EvalRow& row, std::string_view key) {
  const auto& columns = row.task->columns;
  const auto at = std::ranges::find(columns, key, &Column::key);
  CAIRN_CHECK(at != columns.end());
  return std::get<double>(row.cells[static_cast<size_t>(at - columns.begin())]);
}

const EvalRow& RowOf(std::span<const EvalRow> rows, std::string_view task,
                     std::string_view setting) {
  const auto at = std::ranges::find_if(rows, [&](const EvalRow& row) {
    return row.task->name == task && (setting.empty() ? row.is_reference : row.setting == setting);
  });
  CAIRN_CHECK(at != rows.end());
  return *at;
}

bool Reaches(const EvalVerdict& verdict, const EvalGrade& grade) {
  return verdict.kl <= grade.kl && verdict.same_top1 >= grade.same_top1 &&
         verdict.copy_nats <= grade.copy_nats && verdict.needles >= verdict.reference_needles;
}

std::string LimitsOf(const EvalGrade& grade) {
  return fmt::format(
      "{}: KL at most {}, same top-1 at least {} %, copying at most {} nats over f32", grade.name,
      grade.kl, grade.same_top1, grade.copy_nats);
}

}  // namespace

std::span<const EvalGrade> EvalGrades() {
  static constexpr std::array<EvalGrade, 4> kGrades = {{{"near-lossless", 0.002, 98, 0.05},
                                                        {"high", 0.01, 94, 0.1},
                                                        {"balanced", 0.03, 90, 0.3},
                                                        {"small", 0.1, 84, 1.0}}};
  return kGrades;
}

const EvalGrade* FindEvalGrade(std::string_view name) {
  for (const EvalGrade& grade : EvalGrades()) {
    if (grade.name == name) return &grade;
  }
  return nullptr;
}

std::string EvalGradeNames() {
  std::string names;
  for (const EvalGrade& grade : EvalGrades()) {
    names += names.empty() ? "" : ", ";
    names += grade.name;
  }
  return names;
}

std::vector<const EvalTask*> EvalCheckTasks() {
  return {FindEvalTask("kl"), FindEvalTask("needle"), FindEvalTask("copy")};
}

std::vector<EvalVerdict> EvalVerdicts(std::span<const EvalRow> rows) {
  std::vector<EvalVerdict> verdicts;
  for (const EvalRow& row : rows) {
    if (row.task->name != "kl" || row.is_reference) continue;
    EvalVerdict verdict = {.setting = row.setting,
                           .kl = ValueOf(row, "kl_mean"),
                           .same_top1 = ValueOf(row, "same_top1_percent")};
    verdict.copy_nats = ValueOf(RowOf(rows, "copy", row.setting), "over_f32_nats");
    verdict.needles = ValueOf(RowOf(rows, "needle", row.setting), "chosen_percent");
    verdict.reference_needles = ValueOf(RowOf(rows, "needle", ""), "chosen_percent");
    for (const EvalGrade& grade : EvalGrades()) {
      if (!Reaches(verdict, grade)) continue;
      verdict.grade = &grade;
      break;
    }
    verdicts.push_back(std::move(verdict));
  }
  return verdicts;
}

bool AllReach(std::span<const EvalVerdict> verdicts, const EvalGrade& wanted) {
  // Better grades have tighter limits, so their rank says it all.
  return std::ranges::all_of(verdicts, [&](const EvalVerdict& verdict) {
    return verdict.grade != nullptr && verdict.grade <= &wanted;
  });
}

Section EvalCheckSection(std::span<const EvalVerdict> verdicts, const EvalGrade& wanted) {
  Section section = {.key = "check", .title = "Verdict"};
  Table table = {.key = "verdicts",
                 .label = "",
                 .columns = {{"setting", "state"},
                             {"kl_mean", "KL mean"},
                             {"same_top1_percent", "same top-1", Unit::kPercent},
                             {"copy_over_f32_nats", "copying over f32"},
                             {"needles_percent", "needles found", Unit::kPercent},
                             {"f32_needles_percent", "by f32", Unit::kPercent},
                             {"grade", "grade"},
                             {"met", fmt::format("{} or better", wanted.name)}}};
  for (const EvalVerdict& verdict : verdicts) {
    const std::string grade(verdict.grade == nullptr ? "none" : verdict.grade->name);
    table.rows.push_back({verdict.setting, verdict.kl, verdict.same_top1, verdict.copy_nats,
                          verdict.needles, verdict.reference_needles, grade,
                          AllReach({&verdict, 1}, wanted)});
  }
  section.tables.push_back(std::move(table));
  for (const EvalGrade& grade : EvalGrades()) section.notes.push_back(LimitsOf(grade));
  section.notes.push_back("Every grade: as many needles found as with the f32 state.");
  return section;
}

}  // namespace cairn
