#include "cairn/serve/api_routes.h"

#include <doctest/doctest.h>

namespace cairn {
namespace {

TEST_CASE("a path leads to its endpoint, and nothing near it does") {
  CHECK(FindRoute("/v1/chat/completions", "GET").route->endpoint == Endpoint::kChat);
  CHECK(FindRoute("/v1/chat/completions/", "GET").route == nullptr);
  CHECK(FindRoute("/V1/chat/completions", "GET").route == nullptr);
  CHECK(FindRoute("/v1/../etc/passwd", "GET").route == nullptr);
  CHECK(FindRoute("", "GET").route == nullptr);
}

TEST_CASE("only what says nothing of others needs no key") {
  CHECK_FALSE(FindRoute("/health", "GET").route->needs_key);
  CHECK_FALSE(FindRoute("/v1/models", "GET").route->needs_key);
  CHECK_FALSE(FindRoute("/", "GET").route->needs_key);
  CHECK(FindRoute("/metrics", "GET").route->needs_key);
  CHECK(FindRoute("/state", "GET").route->needs_key);
  CHECK(FindRoute("/props", "GET").route->needs_key);
  CHECK(FindRoute("/tokenize", "GET").route->needs_key);
}

TEST_CASE("a path may take several methods, and another one is known to be wrong") {
  CHECK(FindRoute("/v1/contexts", "GET").route->endpoint == Endpoint::kContextList);
  CHECK(FindRoute("/v1/contexts", "HEAD").route->endpoint == Endpoint::kContextList);
  CHECK(FindRoute("/v1/contexts", "POST").route->endpoint == Endpoint::kContextMake);
  const FoundRoute found = FindRoute("/v1/contexts", "DELETE");
  REQUIRE(found.route != nullptr);
  CHECK_FALSE(found.takes_method);
  CHECK(MethodsOf(*found.route) == "POST, GET");
}

TEST_CASE("an id in a path is one step of it, whatever it is") {
  const FoundRoute found = FindRoute("/v1/contexts/ctx-1", "DELETE");
  CHECK(found.route->endpoint == Endpoint::kContextRelease);
  CHECK(found.takes_method);
  CHECK(found.id == "ctx-1");
  const FoundRoute fork = FindRoute("/v1/contexts/../fork", "POST");
  CHECK(fork.route->endpoint == Endpoint::kContextFork);
  CHECK(fork.id == "..");
  CHECK(FindRoute("/v1/contexts/", "GET").route == nullptr);
  CHECK(FindRoute("/v1/contexts//fork", "POST").route == nullptr);
  CHECK(FindRoute("/v1/contexts/a/b", "GET").route == nullptr);
  CHECK(FindRoute("/v1/contexts/a/fork/", "POST").route == nullptr);
}

}  // namespace
}  // namespace cairn
