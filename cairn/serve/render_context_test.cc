#include "cairn/serve/render_context.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

namespace cairn {
namespace {

using Json = nlohmann::json;

TEST_CASE("a context's JSON tells sizes, family and times, and nothing of its text") {
  ContextTable table({});
  ContextText text{
      .cache_salt = "secret", .is_chat = true, .messages_json = "[\"secret\"]", .messages = 1};
  text.tokens.resize(5);
  const std::string parent = table.Add(0, text, {.ttl_us = 60'000'000}, "", {}, 0);
  const std::string child =
      table.Add(0, text, {.ttl_us = 60'000'000, .pin = true}, parent, PinId(3), 10'000'000);
  const ContextFacts facts = FactsOf(table, *table.Find(0, parent, 20'000'000), 20'000'000);
  const std::string json = ContextJson(facts);
  CHECK_FALSE(json.contains("secret"));
  const Json body = Json::parse(json);
  CHECK(body["id"] == parent);
  CHECK(body["kind"] == "chat");
  CHECK(body["tokens"] == 5);
  CHECK(body["messages"] == 1);
  CHECK(body["parent"].is_null());
  CHECK(body["children"] == Json::array({child}));
  CHECK(body["expires_in_s"] == 40);
  CHECK(body["idle_s"] == 20);
  CHECK_FALSE(body.contains("usage"));

  ContextFacts pinned = FactsOf(table, *table.Find(0, child, 20'000'000), 20'000'000);
  CHECK(pinned.pin_id == PinId(3));
  pinned.pinned = {.tokens = TokenCount(5), .bytes = Bytes(80), .alone = Bytes(16)};
  ContextReading reading{.usage = {}, .kept_tokens = 2};
  reading.usage.prompt_tokens = 5;
  reading.usage.cached_by_tier = {{"memory", 4}};
  const Json made = Json::parse(ContextJson(pinned, &reading));
  CHECK(made["parent"] == parent);
  CHECK(made["pinned_bytes"] == 80);
  CHECK(made["own_pinned_bytes"] == 16);
  CHECK(made["usage"]["cached_tokens"] == 4);
  CHECK(made["kept_tokens"] == 2);
  CHECK(Json::parse(ContextListJson({facts, pinned}))["data"].size() == 2);
}

TEST_CASE("a context that is gone says what it has freed") {
  const Json gone = Json::parse(ContextGoneJson({"ctx-1", 10, 20}));
  CHECK(gone["released"] == true);
  CHECK(gone["unpinned_bytes"] == 10);
  CHECK(gone["forgotten_bytes"] == 20);
}

}  // namespace
}  // namespace cairn
