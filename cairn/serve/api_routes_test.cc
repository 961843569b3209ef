#include "cairn/serve/api_routes.h"

#include <doctest/doctest.h>

namespace cairn {
namespace {

TEST_CASE("a path leads to its endpoint, and nothing near it does") {
  CHECK(FindRoute("/v1/chat/completions")->endpoint == Endpoint::kChat);
  CHECK(FindRoute("/v1/chat/completions/") == nullptr);
  CHECK(FindRoute("/V1/chat/completions") == nullptr);
  CHECK(FindRoute("/v1/../etc/passwd") == nullptr);
  CHECK(FindRoute("") == nullptr);
}

TEST_CASE("only what says nothing of others needs no key") {
  CHECK_FALSE(FindRoute("/health")->needs_key);
  CHECK_FALSE(FindRoute("/v1/models")->needs_key);
  CHECK_FALSE(FindRoute("/")->needs_key);
  CHECK(FindRoute("/metrics")->needs_key);
  CHECK(FindRoute("/state")->needs_key);
  CHECK(FindRoute("/props")->needs_key);
  CHECK(FindRoute("/tokenize")->needs_key);
}

}  // namespace
}  // namespace cairn
