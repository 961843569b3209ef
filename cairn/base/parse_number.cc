#include "cairn/base/parse_number.h"

#include <cmath>
#include <cstdlib>
#include <string>

namespace cairn {

std::optional<double> ParseDouble(std::string_view text) {
  // strtod also takes leading space, a plus, hexadecimal, "inf" and "nan".
  if (text.empty() || text.front() == '+') return std::nullopt;
  if (text.find_first_not_of("0123456789.eE+-") != text.npos) return std::nullopt;
  const std::string terminated(text);
  char* end = nullptr;
  const double number = std::strtod(terminated.c_str(), &end);
  if (end != terminated.c_str() + terminated.size() || !std::isfinite(number)) return std::nullopt;
  return number;
}

}  // namespace cairn
