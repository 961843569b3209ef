#include "cairn/sizing/format.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <string_view>

namespace cairn {
namespace {

// Three or four significant digits, no exponent in the usual range.
std::string Rounded(double value) {
  const double size = std::fabs(value);
  if (size != 0 && (size < 0.001 || size >= 1e15)) return fmt::format("{:.3g}", value);
  if (size >= 1000) return Grouped(std::llround(value));
  return fmt::format("{:.{}f}", value, size >= 100 ? 1 : size >= 1 ? 2 : 4);
}

// 1.2e12 FLOP as "1.20 T"
std::string Scaled(double value) {
  constexpr std::array<std::string_view, 7> kPrefixes = {"", "k", "M", "G", "T", "P", "E"};
  size_t at = 0;
  while (std::fabs(value) >= 1000 && at + 1 < kPrefixes.size()) {
    value /= 1000;
    ++at;
  }
  return fmt::format("{:.{}f} {}", value, std::fabs(value) >= 100 ? 0 : 2, kPrefixes[at]);
}

std::string NumberText(double value, Unit unit) {
  switch (unit) {
    case Unit::kNone:
      return Rounded(value);
    case Unit::kBytes:
      return HumanBytes(Bytes(std::llround(value)));
    case Unit::kTokens:
      return Rounded(value) + " tokens";
    case Unit::kElements:
      return Rounded(value) + " elements";
    case Unit::kBytesPerToken:
      return HumanBytes(Bytes(std::llround(value))) + " per token";
    case Unit::kBytesPerSecond:
      return Scaled(value) + "B/s";
    case Unit::kMilliseconds:
      return value >= 1e4 ? Rounded(value / 1000) + " s" : Rounded(value) + " ms";
    case Unit::kTokensPerSecond:
      return Rounded(value) + " tokens/s";
    case Unit::kFlops:
      return Scaled(value) + "FLOP";
    case Unit::kFlopsPerSecond:
      return Scaled(value) + "FLOP/s";
    case Unit::kPercent:
      return fmt::format("{:.1f} %", value);
    case Unit::kTimes:
      return Rounded(value) + "x";
  }
  return {};
}

struct CellWriter {
  Unit unit;

  std::string operator()(std::monostate /*none*/) const { return "-"; }
  std::string operator()(bool value) const { return value ? "yes" : "no"; }
  std::string operator()(const std::string& value) const { return value; }
  std::string operator()(double value) const { return NumberText(value, unit); }
  std::string operator()(int64_t value) const {
    switch (unit) {
      case Unit::kNone:
        return Grouped(value);
      case Unit::kBytes:
        return ExactBytes(Bytes(value));
      case Unit::kBytesPerToken:
        return ExactBytes(Bytes(value)) + " per token";
      case Unit::kTokens:
        return Grouped(value) + " tokens";
      case Unit::kElements:
        return Grouped(value) + " elements";
      default:
        return NumberText(static_cast<double>(value), unit);
    }
  }
};

}  // namespace

std::string Grouped(int64_t value) {
  std::string digits = fmt::format("{}", value);
  const int64_t first = value < 0 ? 1 : 0;
  for (auto at = static_cast<int64_t>(digits.size()) - 3; at > first; at -= 3) {
    digits.insert(static_cast<size_t>(at), ",");
  }
  return digits;
}

std::string HumanBytes(Bytes bytes) {
  constexpr std::array<std::string_view, 6> kUnits = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  auto value = static_cast<double>(bytes.value());
  if (std::fabs(value) < 1024) return fmt::format("{} bytes", bytes.value());
  size_t unit = 0;
  for (value /= 1024; std::fabs(value) >= 1024 && unit + 1 < kUnits.size(); ++unit) value /= 1024;
  return fmt::format("{:.2f} {}", value, kUnits[unit]);
}

std::string ExactBytes(Bytes bytes) {
  if (bytes > Bytes(-1024) && bytes < Bytes(1024)) return HumanBytes(bytes);
  return fmt::format("{} bytes ({})", Grouped(bytes.value()), HumanBytes(bytes));
}

std::string CellText(const Cell& cell, Unit unit) { return std::visit(CellWriter{unit}, cell); }

std::string TableCellText(const Cell& cell, Unit unit) {
  const auto* count = std::get_if<int64_t>(&cell);
  if (count == nullptr) return CellText(cell, unit);
  if (unit == Unit::kBytes) return HumanBytes(Bytes(*count));
  const bool plain =
      unit == Unit::kTokens || unit == Unit::kElements || unit == Unit::kBytesPerToken;
  return CellText(cell, plain ? Unit::kNone : unit);
}

std::string PlainCell(const Cell& cell) {
  if (const auto* text = std::get_if<std::string>(&cell)) return *text;
  if (const auto* number = std::get_if<int64_t>(&cell)) return fmt::format("{}", *number);
  if (const auto* number = std::get_if<double>(&cell)) return fmt::format("{}", *number);
  if (const auto* truth = std::get_if<bool>(&cell)) return *truth ? "true" : "false";
  return {};
}

bool IsNumber(const Cell& cell) {
  return std::holds_alternative<int64_t>(cell) || std::holds_alternative<double>(cell);
}

}  // namespace cairn
