// The address of a Redis: redis://[[user]:password@]host[:port][/db].
//
// User and password may be percent-encoded; an IPv6 address stands in brackets. Pure functions.
#ifndef CAIRN_STATE_REDIS_URL_H_
#define CAIRN_STATE_REDIS_URL_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "cairn/base/status.h"

namespace cairn {

struct RedisUrl {
  std::string user;      // empty: the server's default one
  std::string password;  // empty: none is sent
  std::string host;
  uint16_t port = 6379;
  int database = 0;

  // What may be printed: without user and password.
  std::string Name() const;
};

// Whether it is meant as one, right or wrong.
bool LooksLikeRedisUrl(std::string_view text);

// Errors name what is wrong and never contain a password.
Result<RedisUrl> ParseRedisUrl(std::string_view text);

}  // namespace cairn

#endif  // CAIRN_STATE_REDIS_URL_H_
