#include "cairn/serve/api_keys.h"

#include <doctest/doctest.h>

namespace cairn {
namespace {

std::optional<int> Find(const ApiKeys& keys, std::string_view name, std::string_view value) {
  HttpRequest request;
  request.headers.emplace_back(name, value);
  return keys.Find(request);
}

TEST_CASE("a key is found as OpenAI's and as Anthropic's clients send it") {
  const ApiKeys keys = *ApiKeys::Make({"one", "two"});
  CHECK(Find(keys, "Authorization", "Bearer two") == 1);
  CHECK(Find(keys, "authorization", "bearer one") == 0);
  CHECK(Find(keys, "X-API-Key", "one") == 0);
}

TEST_CASE("anything else is no key") {
  const ApiKeys keys = *ApiKeys::Make({"one"});
  CHECK(Find(keys, "Authorization", "one") == std::nullopt);
  CHECK(Find(keys, "Authorization", "Bearer on") == std::nullopt);
  CHECK(Find(keys, "Authorization", "Bearer onee") == std::nullopt);
  CHECK(Find(keys, "Authorization", "Bearer ") == std::nullopt);
  CHECK(Find(keys, "Other", "one") == std::nullopt);
}

TEST_CASE("without keys everybody may ask") { CHECK(ApiKeys::Make({})->Find(HttpRequest()) == 0); }

TEST_CASE("an empty key, or one that no header can carry, is refused") {
  CHECK_FALSE(ApiKeys::Make({""}));
  CHECK_FALSE(ApiKeys::Make({"a b"}));
  CHECK_FALSE(ApiKeys::Make({"a\r\nb"}));
}

TEST_CASE("a file of keys has one a line") {
  CHECK(ApiKeys::LinesOf("one\r\n\n# comment\ntwo ") == std::vector<std::string>{"one", "two"});
}

TEST_CASE("state is shared by requests of one key and one salt only") {
  CHECK(TenantOf(0, "a") == TenantOf(0, "a"));
  CHECK(TenantOf(0, "a") != TenantOf(1, "a"));
  CHECK(TenantOf(0, "a") != TenantOf(0, "b"));
  CHECK(TenantOf(1, "2/a") != TenantOf(12, "a"));
}

}  // namespace
}  // namespace cairn
