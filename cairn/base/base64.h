// Bytes as text: RFC 4648's base64, with padding. Pure; thread-safe.
#ifndef CAIRN_BASE_BASE64_H_
#define CAIRN_BASE_BASE64_H_

#include <cstddef>
#include <span>
#include <string>

namespace cairn {

std::string Base64(std::span<const std::byte> bytes);

}  // namespace cairn

#endif  // CAIRN_BASE_BASE64_H_
