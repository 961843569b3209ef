#include "cairn/state/redis_url.h"

#include <charconv>
#include <optional>

namespace cairn {
namespace {

constexpr std::string_view kScheme = "redis://";
constexpr std::string_view kTlsScheme = "rediss://";
constexpr const char* kForm = "redis://[[user]:password@]host[:port][/db] would be right";
// Redis itself has no limit; more than this is a slip.
constexpr int kDatabaseMax = 1'000'000;

std::optional<int> ParseDecimal(std::string_view text, int most) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || text.starts_with('-') ||
      value > most) {
    return std::nullopt;
  }
  return value;
}

std::optional<std::string> Unescape(std::string_view text) {
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      plain += text[i];
      continue;
    }
    uint8_t value = 0;
    const std::string_view digits = text.substr(i + 1, 2);
    const auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
    if (error != std::errc() || digits.size() != 2 || end != digits.data() + 2) return std::nullopt;
    plain += static_cast<char>(value);
    i += 2;
  }
  return plain;
}

Status ParseCredentials(std::string_view text, RedisUrl& url) {
  const size_t colon = text.find(':');
  if (colon == std::string_view::npos) {
    return Fail(ErrorCode::kInvalidArgument,
                "the Redis address has a user without a password before '@'; {}", kForm);
  }
  const auto user = Unescape(text.substr(0, colon));
  const auto password = Unescape(text.substr(colon + 1));
  if (!user || !password) {
    return Fail(ErrorCode::kInvalidArgument,
                "the user or password of the Redis address has a '%' without two hexadecimal "
                "digits; a '%' itself is %25");
  }
  if (password->empty()) {
    return Fail(ErrorCode::kInvalidArgument,
                "the password of the Redis address is empty; leave out what is before '@', or {}",
                kForm);
  }
  url.user = *user;
  url.password = *password;
  return {};
}

Status ParseHostAndPort(std::string_view text, RedisUrl& url) {
  std::string_view port;
  bool has_port = false;
  if (text.starts_with('[')) {
    const size_t end = text.find(']');
    if (end == std::string_view::npos) {
      return Fail(ErrorCode::kInvalidArgument, "the Redis address has '[' without ']'; {}", kForm);
    }
    url.host = text.substr(1, end - 1);
    const std::string_view rest = text.substr(end + 1);
    has_port = rest.starts_with(':');
    port = rest.substr(has_port ? 1 : 0);
    if (!has_port && !rest.empty()) {
      return Fail(ErrorCode::kInvalidArgument, "the Redis address has \"{}\" after ']'; {}", rest,
                  kForm);
    }
  } else {
    const size_t colon = text.rfind(':');
    has_port = colon != std::string_view::npos;
    url.host = text.substr(0, colon);
    port = has_port ? text.substr(colon + 1) : std::string_view();
    if (url.host.find(':') != std::string::npos) {
      return Fail(ErrorCode::kInvalidArgument,
                  "the host \"{}\" of the Redis address: an IPv6 address stands in brackets, as in "
                  "redis://[::1]:6379",
                  text);
    }
  }
  if (url.host.empty()) {
    return Fail(ErrorCode::kInvalidArgument, "the Redis address has no host; {}", kForm);
  }
  if (!has_port) return {};
  const auto number = ParseDecimal(port, UINT16_MAX);
  if (!number || *number == 0) {
    return Fail(ErrorCode::kInvalidArgument,
                "the port \"{}\" of the Redis address; 1 to 65535 would be right", port);
  }
  url.port = static_cast<uint16_t>(*number);
  return {};
}

}  // namespace

std::string RedisUrl::Name() const {
  const bool is_ipv6 = host.find(':') != std::string::npos;
  return fmt::format("redis://{}{}{}:{}/{}", is_ipv6 ? "[" : "", host, is_ipv6 ? "]" : "", port,
                     database);
}

bool LooksLikeRedisUrl(std::string_view text) {
  return text.starts_with(kScheme) || text.starts_with(kTlsScheme);
}

Result<RedisUrl> ParseRedisUrl(std::string_view text) {
  if (text.starts_with(kTlsScheme)) {
    return Fail(ErrorCode::kUnsupported,
                "rediss:// (TLS) is not supported: redis:// over a network or tunnel that you "
                "trust would be right");
  }
  if (!text.starts_with(kScheme)) {
    return Fail(ErrorCode::kInvalidArgument, "the Redis address does not begin with redis://; {}",
                kForm);
  }
  text.remove_prefix(kScheme.size());
  RedisUrl url;
  // The last '@': a password may contain others.
  if (const size_t at = text.rfind('@'); at != std::string_view::npos) {
    CAIRN_TRY(ParseCredentials(text.substr(0, at), url));
    text.remove_prefix(at + 1);
  }
  if (const size_t slash = text.find('/'); slash != std::string_view::npos) {
    const std::string_view database = text.substr(slash + 1);
    const auto number = ParseDecimal(database, kDatabaseMax);
    if (!number && !database.empty()) {
      return Fail(ErrorCode::kInvalidArgument,
                  "the database \"{}\" of the Redis address; a number such as 0 would be right",
                  database);
    }
    url.database = number.value_or(0);
    text = text.substr(0, slash);
  }
  CAIRN_TRY(ParseHostAndPort(text, url));
  return url;
}

}  // namespace cairn
