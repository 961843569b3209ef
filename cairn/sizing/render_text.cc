// Sections as a page of a terminal.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <string_view>

#include "cairn/sizing/format.h"
#include "cairn/sizing/render.h"

namespace cairn {
namespace {

using TextRow = std::vector<std::string>;

constexpr size_t kGap = 2;
constexpr size_t kNarrowest = 12;  // a column isn't broken into narrower pieces
constexpr size_t kIndent = 2;

// Pieces of at most `width` characters, broken at spaces where there are any.
std::vector<std::string> Broken(std::string_view text, size_t width) {
  std::vector<std::string> lines;
  while (text.size() > width) {
    size_t cut = text.rfind(' ', width);
    if (cut == std::string_view::npos || cut == 0) cut = width;
    lines.emplace_back(text.substr(0, cut));
    text.remove_prefix(cut);
    if (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  }
  lines.emplace_back(text);
  return lines;
}

std::vector<size_t> WidestCells(const std::vector<TextRow>& rows) {
  std::vector<size_t> widths(rows.front().size(), 0);
  for (const TextRow& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  return widths;
}

// Takes from the widest column until the row fits, or no column can give more.
void FitWidths(std::vector<size_t>& widths, size_t columns) {
  size_t total = kIndent;
  for (const size_t width : widths) total += width + kGap;
  while (total - kGap > columns) {
    const auto widest = std::ranges::max_element(widths);
    if (*widest <= kNarrowest) return;
    --*widest;
    --total;
  }
}

void AppendRow(const TextRow& row, const std::vector<size_t>& widths,
               const std::vector<bool>& right, std::string& text) {
  std::vector<std::vector<std::string>> cells;
  size_t height = 1;
  for (size_t i = 0; i < row.size(); ++i) {
    cells.push_back(Broken(row[i], widths[i]));
    height = std::max(height, cells.back().size());
  }
  for (size_t line_index = 0; line_index < height; ++line_index) {
    std::string line(kIndent, ' ');
    for (size_t i = 0; i < row.size(); ++i) {
      const std::string cell = line_index < cells[i].size() ? cells[i][line_index] : "";
      fmt::format_to(std::back_inserter(line), fmt::runtime(right[i] ? "{:>{}}" : "{:<{}}"), cell,
                     widths[i]);
      line.append(kGap, ' ');
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
}

std::string TableText(const std::vector<TextRow>& rows, const std::vector<bool>& right,
                      int columns) {
  std::string text;
  std::vector<size_t> widths = WidestCells(rows);
  FitWidths(widths, static_cast<size_t>(columns));
  for (const TextRow& row : rows) AppendRow(row, widths, right, text);
  return text;
}

std::string FieldsText(const Section& section, const TextStyle& style) {
  std::vector<TextRow> rows;
  for (const Field& field : section.fields) {
    rows.push_back({field.label, CellText(field.value, field.unit)});
    if (style.explain && !field.formula.empty()) rows.push_back({"", "= " + field.formula});
  }
  return rows.empty() ? "" : TableText(rows, {false, false}, style.columns);
}

std::string TableOf(const Table& table, const TextStyle& style) {
  TextRow header;
  std::vector<bool> right;
  for (size_t i = 0; i < table.columns.size(); ++i) {
    header.push_back(table.columns[i].label);
    right.push_back(std::ranges::any_of(table.rows, [&](const auto& r) { return IsNumber(r[i]); }));
  }
  std::vector<TextRow> rows = {header};
  for (const std::vector<Cell>& cells : table.rows) {
    TextRow row;
    for (size_t i = 0; i < cells.size(); ++i) {
      row.push_back(TableCellText(cells[i], table.columns[i].unit));
    }
    rows.push_back(std::move(row));
  }
  std::string text = table.label.empty() ? "" : "  " + table.label + "\n";
  return text + TableText(rows, right, style.columns);
}

// "[####====....]  # weights 14.9 GiB  = state 4.5 GiB  . free 52.1 GiB"
std::string BarText(const Section& section, const TextStyle& style) {
  if (section.bar.empty()) return {};
  constexpr std::array<std::string_view, 6> kAscii = {"#", "=", "+", "*", "-", "."};
  constexpr std::array<std::string_view, 6> kBlocks = {"█", "▓", "▒", "░", "▄", "·"};
  const auto& glyphs = style.blocks ? kBlocks : kAscii;
  int64_t whole = 0;
  for (const BarPart& part : section.bar) whole += std::max<int64_t>(0, part.bytes.value());
  if (whole == 0) return {};
  const auto width = static_cast<int64_t>(std::clamp(style.columns - 6, 20, 72));
  std::string bar;
  std::string legend;
  int64_t drawn = 0;
  double filled = 0;
  for (size_t i = 0; i < section.bar.size(); ++i) {
    const BarPart& part = section.bar[i];
    const bool last = i + 1 == section.bar.size();
    // The last part is what is left; it takes the last glyph.
    const std::string_view glyph = last ? glyphs.back() : glyphs[std::min(i, glyphs.size() - 2)];
    const auto bytes = static_cast<double>(std::max<int64_t>(0, part.bytes.value()));
    filled += bytes;
    const int64_t end = static_cast<int64_t>(
        filled / static_cast<double>(whole) * static_cast<double>(width) + 0.5);
    for (; drawn < end; ++drawn) bar += glyph;
    legend += fmt::format("  {}  {:<22} {:>12}  {:>5.1f} %\n", glyph, part.label,
                          HumanBytes(part.bytes), 100 * bytes / static_cast<double>(whole));
  }
  return fmt::format("  [{}]\n{}", bar, legend);
}

std::string Sentences(std::string_view mark, const std::vector<std::string>& sentences,
                      const TextStyle& style) {
  std::string text;
  for (const std::string& sentence : sentences) {
    const size_t width = static_cast<size_t>(style.columns) - kIndent - mark.size();
    std::string lead = fmt::format("  {}", mark);
    for (const std::string& line : Broken(sentence, width)) {
      text += lead + line + "\n";
      lead.assign(kIndent + mark.size(), ' ');
    }
  }
  return text;
}

}  // namespace

std::string RenderText(std::span<const Section> sections, const TextStyle& asked) {
  TextStyle style = asked;
  style.columns = std::clamp(asked.columns, 40, 400);
  std::string text;
  for (const Section& section : sections) {
    if (!text.empty()) text += "\n";
    if (!section.title.empty()) text += section.title + "\n";
    text += FieldsText(section, style);
    for (const Table& table : section.tables) {
      if (!table.rows.empty()) text += TableOf(table, style);
    }
    text += BarText(section, style);
    if (style.explain) text += Sentences("", section.notes, style);
    text += Sentences("! ", section.warnings, style);
  }
  return text;
}

}  // namespace cairn
