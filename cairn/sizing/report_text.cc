// A Sizing as a table.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "cairn/sizing/report.h"

namespace cairn {
namespace {

std::string Grouped(int64_t value) {
  std::string digits = fmt::format("{}", value);
  for (auto at = static_cast<int64_t>(digits.size()) - 3; at > 0; at -= 3) {
    digits.insert(static_cast<size_t>(at), ",");
  }
  return digits;
}

std::string HumanBytes(Bytes bytes) {
  constexpr std::array kUnits = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  auto value = static_cast<double>(bytes.value());
  if (value < 1024) return fmt::format("{} bytes", bytes.value());
  size_t unit = 0;
  for (value /= 1024; value >= 1024 && unit + 1 < kUnits.size(); ++unit) value /= 1024;
  return fmt::format("{} bytes ({:.2f} {})", Grouped(bytes.value()), value, kUnits[unit]);
}

struct ComponentText {
  std::string operator()(const Rows& rows) const {
    std::string text =
        fmt::format("{} {} x {} {}", rows.name, rows.heads, rows.width, InfoOf(rows.codec).name);
    if (rows.tokens_per_row == TokenCount(1)) return text;
    return text + fmt::format(" every {} tokens", rows.tokens_per_row.value());
  }
  std::string operator()(const Fixed& fixed) const {
    return fmt::format("{} {} {}", fixed.name, Grouped(fixed.elements.value()),
                       InfoOf(fixed.dtype).name);
  }
  std::string operator()(const Alias& /*alias*/) const { return "reads an earlier layer's"; }
};

// "sliding 4,096"
std::string KindText(const LayerGroup& group) {
  for (const Component& component : group.state.components) {
    const auto* rows = std::get_if<Rows>(&component);
    if (rows == nullptr || rows->lifetime.kind == Lifetime::Kind::kAll) continue;
    return fmt::format("{} {}", group.kind, Grouped(rows->lifetime.tokens.value()));
  }
  return group.kind;
}

// "0-4, 6-10 (10)"; many runs are cut.
std::string LayersText(const LayerGroup& group) {
  constexpr size_t kMaxRuns = 4;
  std::string text;
  const auto runs = RunsOf(group.layers);
  for (size_t i = 0; i < std::min(runs.size(), kMaxRuns); ++i) {
    const auto [first, last] = runs[i];
    text += i == 0 ? "" : ", ";
    text += first == last ? fmt::format("{}", first) : fmt::format("{}-{}", first, last);
  }
  if (runs.size() > kMaxRuns) text += ", ..";
  return fmt::format("{} ({})", text, group.layers.size());
}

using TableRow = std::vector<std::string>;

// Columns as wide as their widest cell, two spaces between, no trailing spaces.
std::string TableText(const std::vector<TableRow>& rows) {
  std::vector<size_t> widths(rows.front().size(), 0);
  for (const TableRow& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const TableRow& row : rows) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      fmt::format_to(std::back_inserter(line), "{:<{}}", row[i],
                     i + 1 < row.size() ? widths[i] + 2 : 0);
    }
    text += line + "\n";
  }
  return text;
}

std::string LayersTable(const Sizing& sizing) {
  std::vector<TableRow> rows = {{"layers", "kind", "kept by each", "bytes per token"}};
  for (const LayerGroup& group : sizing.groups) {
    std::string components;
    for (const Component& component : group.state.components) {
      if (!components.empty()) components += ", ";
      components += std::visit(ComponentText(), component);
    }
    rows.push_back(
        {LayersText(group), KindText(group), components, Grouped(group.bytes_per_token.value())});
  }
  return TableText(rows);
}

std::string AnswersTable(const Sizing& sizing) {
  std::vector<TableRow> rows = {{"context", "batch", "state", "allocated in blocks"}};
  for (const SizeAnswer& answer : sizing.answers) {
    rows.push_back({Grouped(answer.tokens.value()), Grouped(sizing.question.batch),
                    HumanBytes(answer.total.content_bytes),
                    HumanBytes(answer.total.allocated_bytes)});
  }
  return TableText(rows);
}

}  // namespace

std::string SizingText(std::string_view name, const ModelSpec& model, const Sizing& sizing) {
  std::string weights =
      sizing.parameters ? Grouped(sizing.parameters->value()) : "not counted: " + model.uncounted;
  if (sizing.weights && sizing.weights->bytes) {
    weights += " in " + HumanBytes(*sizing.weights->bytes);
  }
  const bool bounded = model.context_length > TokenCount(0);
  std::string text =
      fmt::format("{}: {}, {} layers, context {}\n", name, model.family, model.layers.size(),
                  bounded ? Grouped(model.context_length.value()) : "not named");
  text += TableText({{"parameters", weights},
                     {"state per token", HumanBytes(sizing.bytes_per_token)},
                     {"state fixed", HumanBytes(sizing.fixed_bytes_per_request) + " per request"}});
  text += "\n" + LayersTable(sizing);
  if (!sizing.answers.empty()) text += "\n" + AnswersTable(sizing);
  return text;
}

}  // namespace cairn
