#include "cairn/base/base64.h"

#include <cstdint>
#include <string_view>

namespace cairn {

std::string Base64(std::span<const std::byte> bytes) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t at = 0; at < bytes.size(); at += 3) {
    uint32_t group = 0;
    for (size_t i = 0; i < 3; ++i) {
      group = group << 8 | (at + i < bytes.size() ? static_cast<uint32_t>(bytes[at + i]) : 0);
    }
    for (size_t i = 0; i < 4; ++i) {
      text += at + i > bytes.size() ? '=' : kDigits[group >> (18 - 6 * i) & 63];
    }
  }
  return text;
}

}  // namespace cairn
