// Sections as JSON.
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "cairn/sizing/render.h"

namespace cairn {
namespace {

using Json = nlohmann::ordered_json;

struct CellJson {
  Json operator()(std::monostate /*none*/) const { return nullptr; }
  Json operator()(bool value) const { return value; }
  Json operator()(int64_t value) const { return value; }
  Json operator()(double value) const { return std::isfinite(value) ? Json(value) : Json(nullptr); }
  Json operator()(const std::string& value) const { return value; }
};

Json TableJson(const Table& table) {
  Json rows = Json::array();
  for (const std::vector<Cell>& cells : table.rows) {
    Json row = Json::object();
    for (size_t i = 0; i < cells.size(); ++i) {
      row[table.columns[i].key] = std::visit(CellJson(), cells[i]);
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

Json SectionJson(const Section& section) {
  Json json = Json::object();
  for (const Field& field : section.fields) {
    json[field.key] = std::visit(CellJson(), field.value);
  }
  for (const Table& table : section.tables) json[table.key] = TableJson(table);
  Json formulas = Json::object();
  for (const Field& field : section.fields) {
    if (!field.formula.empty()) formulas[field.key] = field.formula;
  }
  if (!formulas.empty()) json["formulas"] = std::move(formulas);
  if (!section.notes.empty()) json["notes"] = section.notes;
  if (!section.warnings.empty()) json["warnings"] = section.warnings;
  return json;
}

}  // namespace

std::string RenderJson(std::span<const Section> sections, int indent) {
  Json json = Json::object();
  for (const Section& section : sections) json[section.key] = SectionJson(section);
  return json.dump(indent, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace cairn
