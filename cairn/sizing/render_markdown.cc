// Sections for a report that is pasted somewhere else: Markdown and CSV.
#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "cairn/sizing/format.h"
#include "cairn/sizing/render.h"

namespace cairn {
namespace {

std::string MarkdownCell(std::string text) {
  for (size_t at = 0; (at = text.find('|', at)) != std::string::npos; at += 2) {
    text.insert(at, "\\");
  }
  std::ranges::replace(text, '\n', ' ');
  return text;
}

std::string MarkdownTable(const Table& table) {
  std::string text = table.label.empty() ? "" : fmt::format("\n### {}\n", table.label);
  std::string rule = "|";
  text += "\n|";
  for (size_t i = 0; i < table.columns.size(); ++i) {
    text += fmt::format(" {} |", MarkdownCell(table.columns[i].label));
    const bool right =
        std::ranges::any_of(table.rows, [&](const auto& row) { return IsNumber(row[i]); });
    rule += right ? "---:|" : "---|";
  }
  text += "\n" + rule + "\n";
  for (const std::vector<Cell>& row : table.rows) {
    text += "|";
    for (size_t i = 0; i < row.size(); ++i) {
      text += fmt::format(" {} |", MarkdownCell(TableCellText(row[i], table.columns[i].unit)));
    }
    text += "\n";
  }
  return text;
}

std::string MarkdownFields(const Section& section, bool explain) {
  if (section.fields.empty()) return {};
  std::string text = explain ? "\n| | | how |\n|---|---:|---|\n" : "\n| | |\n|---|---:|\n";
  for (const Field& field : section.fields) {
    text += fmt::format("| {} | {} |", MarkdownCell(field.label),
                        MarkdownCell(CellText(field.value, field.unit)));
    if (explain) text += fmt::format(" {} |", MarkdownCell(field.formula));
    text += "\n";
  }
  return text;
}

// Quoted where a comma, quote or line end would break the row (RFC 4180).
std::string CsvCell(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + "\"";
}

std::string CsvTable(const Section& section, const Table& table) {
  std::string text = "section,table";
  for (const Column& column : table.columns) text += "," + CsvCell(column.key);
  text += "\n";
  for (const std::vector<Cell>& row : table.rows) {
    text += CsvCell(section.key) + "," + CsvCell(table.key);
    for (const Cell& cell : row) text += "," + CsvCell(PlainCell(cell));
    text += "\n";
  }
  return text;
}

}  // namespace

std::string RenderMarkdown(std::span<const Section> sections, bool explain) {
  std::string text;
  for (const Section& section : sections) {
    if (!text.empty()) text += "\n";
    if (!section.title.empty()) text += fmt::format("## {}\n", section.title);
    text += MarkdownFields(section, explain);
    for (const Table& table : section.tables) {
      if (!table.rows.empty()) text += MarkdownTable(table);
    }
    if (explain) {
      for (const std::string& note : section.notes) text += "\n" + note + "\n";
    }
    for (const std::string& warning : section.warnings) text += "\n**Note:** " + warning + "\n";
  }
  return text;
}

std::string RenderCsv(std::span<const Section> sections) {
  std::string text = "section,key,value\n";
  for (const Section& section : sections) {
    for (const Field& field : section.fields) {
      text += fmt::format("{},{},{}\n", CsvCell(section.key), CsvCell(field.key),
                          CsvCell(PlainCell(field.value)));
    }
  }
  for (const Section& section : sections) {
    for (const Table& table : section.tables) {
      if (!table.rows.empty()) text += "\n" + CsvTable(section, table);
    }
  }
  return text;
}

}  // namespace cairn
