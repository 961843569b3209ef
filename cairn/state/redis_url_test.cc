#include "cairn/state/redis_url.h"

#include <doctest/doctest.h>

#include <string>

namespace cairn {
namespace {

TEST_CASE("an address gives host, port, database, user and password") {
  const auto full = ParseRedisUrl("redis://me:s%3Acret%40@cache.example:7000/3");
  REQUIRE(full);
  CHECK(full->user == "me");
  CHECK(full->password == "s:cret@");
  CHECK(full->host == "cache.example");
  CHECK(full->port == 7000);
  CHECK(full->database == 3);
  const auto least = ParseRedisUrl("redis://localhost");
  REQUIRE(least);
  CHECK(least->host == "localhost");
  CHECK(least->port == 6379);
  CHECK(least->database == 0);
  CHECK(least->password.empty());
  CHECK(ParseRedisUrl("redis://localhost/")->database == 0);
  CHECK(ParseRedisUrl("redis://:pass@localhost")->password == "pass");
  CHECK(ParseRedisUrl("redis://:p@ss/word@localhost")->password == "p@ss/word");
  CHECK(ParseRedisUrl("redis://[::1]:7000/1")->host == "::1");
  CHECK(ParseRedisUrl("redis://[fe80::1]")->port == 6379);
}

TEST_CASE("a name for messages has no user and no password") {
  CHECK(ParseRedisUrl("redis://me:secret@host:1/2")->Name() == "redis://host:1/2");
  CHECK(ParseRedisUrl("redis://[::1]")->Name() == "redis://[::1]:6379/0");
}

TEST_CASE("a wrong address is refused with what is wrong, without its password") {
  const struct {
    const char* url;
    const char* says;
  } kWrong[] = {
      {"", "redis://"},
      {"host:6379", "does not begin with redis://"},
      {"http://host", "does not begin with redis://"},
      {"rediss://host", "TLS"},
      {"redis://", "no host"},
      {"redis://:6379", "no host"},
      {"redis:///0", "no host"},
      {"redis://host:", "port \"\""},
      {"redis://host:0", "port \"0\""},
      {"redis://host:65536", "port \"65536\""},
      {"redis://host:99999999999", "port"},
      {"redis://host:1x", "port \"1x\""},
      {"redis://host:-1", "port \"-1\""},
      {"redis://host/x", "database \"x\""},
      {"redis://host/-1", "database \"-1\""},
      {"redis://host/1/2", "database \"1/2\""},
      {"redis://::1", "brackets"},
      {"redis://[::1", "without ']'"},
      {"redis://[::1]x", "after ']'"},
      {"redis://secret@host", "without a password"},
      {"redis://secret:@host", "empty"},
      {"redis://u:secret%@host", "'%'"},
      {"redis://u:secret%4@host", "'%'"},
      {"redis://u:secret%zz@host", "'%'"},
      {"redis://u:secret@host:x", "port"},
      {"redis://u:secret@host/x", "database"},
  };
  for (const auto& wrong : kWrong) {
    CAPTURE(wrong.url);
    const auto parsed = ParseRedisUrl(wrong.url);
    REQUIRE_FALSE(parsed);
    CHECK(parsed.error().IsBadInput());
    CHECK_MESSAGE(parsed.error().message.find(wrong.says) != std::string::npos,
                  parsed.error().message);
    CHECK(parsed.error().message.find("secret") == std::string::npos);
  }
}

TEST_CASE("what is meant as an address is told from a folder") {
  CHECK(LooksLikeRedisUrl("redis://"));
  CHECK(LooksLikeRedisUrl("rediss://host"));
  CHECK_FALSE(LooksLikeRedisUrl("redis"));
  CHECK_FALSE(LooksLikeRedisUrl("./redis://"));
}

}  // namespace
}  // namespace cairn
