#include "cairn/serve/api_keys.h"

#include <algorithm>
#include <span>

namespace cairn {
namespace {

constexpr std::string_view kBearer = "bearer ";

Sha256::Digest DigestOf(std::string_view text) {
  return Sha256::Of(std::as_bytes(std::span(text.data(), text.size())));
}

// All bytes, whatever the first ones say.
bool Equal(const Sha256::Digest& a, const Sha256::Digest& b) {
  std::byte difference{0};
  for (size_t i = 0; i < a.size(); ++i) difference |= a[i] ^ b[i];
  return difference == std::byte{0};
}

bool BeginsWithBearer(std::string_view text) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  return text.size() >= kBearer.size() &&
         std::ranges::equal(text.substr(0, kBearer.size()), kBearer, {}, lower);
}

std::string_view KeyIn(const HttpRequest& request) {
  const std::string_view authorization = request.Header("Authorization");
  if (BeginsWithBearer(authorization)) return authorization.substr(kBearer.size());
  return request.Header("x-api-key");
}

}  // namespace

Result<ApiKeys> ApiKeys::Make(const std::vector<std::string>& keys) {
  ApiKeys made;
  for (const std::string& key : keys) {
    const bool sendable = std::ranges::all_of(key, [](char c) { return c > ' ' && c < '\x7F'; });
    if (key.empty() || !sendable) {
      return Fail(ErrorCode::kInvalidArgument,
                  "an API key must have one character at least, and none but visible ASCII ones");
    }
    made.digests_.push_back(DigestOf(key));
  }
  return made;
}

std::vector<std::string> ApiKeys::LinesOf(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    while (line.ends_with('\r') || line.ends_with(' ')) line.remove_suffix(1);
    if (!line.empty() && !line.starts_with('#')) lines.emplace_back(line);
  }
  return lines;
}

std::optional<int> ApiKeys::Find(const HttpRequest& request) const {
  if (!required()) return 0;
  const Sha256::Digest given = DigestOf(KeyIn(request));
  std::optional<int> found;
  for (size_t i = 0; i < digests_.size(); ++i) {
    if (Equal(digests_[i], given)) found = static_cast<int>(i);
  }
  return found;
}

std::string TenantOf(int key, std::string_view salt) { return fmt::format("{}/{}", key, salt); }

}  // namespace cairn
