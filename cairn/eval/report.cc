#include "cairn/eval/report.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

namespace cairn {
namespace {

using Json = nlohmann::ordered_json;

Cell BitsCell(const std::optional<double>& bits) {
  return bits ? Cell(*bits) : Cell(std::monostate());
}

std::vector<Column> ColumnsOf(const EvalTask& task) {
  std::vector<Column> columns = {{"setting", "state"},
                                 {"context", "context", Unit::kTokens},
                                 {"state_bytes", "bytes", Unit::kBytes},
                                 {"key_bits", "K bits"},
                                 {"value_bits", "V bits"}};
  columns.insert(columns.end(), task.columns.begin(), task.columns.end());
  return columns;
}

std::vector<Cell> CellsOf(const EvalRow& row) {
  std::vector<Cell> cells = {row.setting, CellOf(row.context), CellOf(row.cost.bytes),
                             BitsCell(row.cost.key_bits), BitsCell(row.cost.value_bits)};
  cells.insert(cells.end(), row.cells.begin(), row.cells.end());
  return cells;
}

Field FieldOf(const std::string& name, Cell value, std::string how) {
  return {.key = name, .label = name, .value = std::move(value), .formula = std::move(how)};
}

struct JsonOf {
  Json operator()(std::monostate /*none*/) const { return nullptr; }
  template <class Value>
  Json operator()(const Value& value) const {
    return value;
  }
};

// Names of files may be any bytes.
std::string Dump(const Json& json) {
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace

std::vector<Section> EvalSections(const EvalSubject& subject, std::span<const EvalRow> rows) {
  std::vector<Section> sections(1);
  sections[0] = {
      .key = "subject",
      .title = "Quality of state forms",
      .fields = {
          FieldOf("model", subject.model,
                  subject.chat ? "questions stand in its chat template"
                               : "questions go on where the text ends"),
          FieldOf("text", subject.text, fmt::format("up to {} windows of it", subject.windows)),
          FieldOf("seed", static_cast<int64_t>(subject.seed),
                  fmt::format("of the made-up texts, {} of each kind", subject.repeats))}};
  for (const EvalTask& task : AllEvalTasks()) {
    Table table = {.key = "rows", .label = "", .columns = ColumnsOf(task)};
    for (const EvalRow& row : rows) {
      if (row.task == &task) table.rows.push_back(CellsOf(row));
    }
    if (table.rows.empty()) continue;
    sections.push_back({.key = std::string(task.name),
                        .title = std::string(task.title),
                        .tables = {std::move(table)},
                        .notes = {std::string(task.note)}});
  }
  return sections;
}

std::string EvalJson(const EvalSubject& subject, std::span<const EvalRow> rows) {
  Json document = {{"model", subject.model},     {"text", subject.text},
                   {"seed", subject.seed},       {"windows", subject.windows},
                   {"repeats", subject.repeats}, {"chat", subject.chat},
                   {"rows", Json::array()}};
  for (const EvalRow& row : rows) {
    Json object = {{"task", row.task->name}};
    const std::vector<Column> columns = ColumnsOf(*row.task);
    const std::vector<Cell> cells = CellsOf(row);
    for (size_t i = 0; i < columns.size(); ++i) {
      object[columns[i].key] = std::visit(JsonOf{}, cells[i]);
    }
    document["rows"].push_back(std::move(object));
  }
  return Dump(document);
}

}  // namespace cairn
