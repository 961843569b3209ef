#include "cairn/spec/quoted.h"

#include <fmt/format.h>

#include <iterator>

namespace cairn {
std::string Quoted(std::string_view text, size_t shown) {
  std::string out = "\"";
  for (const char c : text.substr(0, shown)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7f) {
      out += c;
    } else {
      fmt::format_to(std::back_inserter(out), "\\x{:02x}", byte);
    }
  }
  if (text.size() > shown) out += "...";
  out += '"';
  return out;
}

}  // namespace cairn
