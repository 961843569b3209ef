#include "cairn/serve/api_server.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cairn/serve/api_served_for_tests.h"

namespace cairn {
namespace {

using Json = nlohmann::json;

TEST_CASE("a chat is answered as a whole, with where its state came from") {
  FakeEngine::Options engine;
  engine.origin.memory = TokenCount(5);
  engine.origin.why = MissReason::kDiverged;
  Served served(engine);
  const std::string answer = served.Post("/v1/chat/completions", kHello);
  REQUIRE(StatusOf(answer) == 200);
  const Json body = Json::parse(BodyOf(answer));
  CHECK(body["choices"][0]["message"]["content"] == "u:hello;a:");
  CHECK(body["choices"][0]["finish_reason"] == "stop");
  CHECK(body["model"] == "tiny");
  CHECK(body["usage"]["prompt_tokens_details"]["cached_tokens"] == 5);
  CHECK(body["usage"]["prompt_tokens_details"]["miss_reason"] == "diverged");
  CHECK(body["usage"]["prompt_tokens"] == body["usage"]["completion_tokens"]);
}

TEST_CASE("a stream has the same text in pieces") {
  Served served;
  const std::string answer = served.Post(
      "/v1/chat/completions", R"({"messages":[{"role":"user","content":"hi"}],"stream":true})");
  CHECK(answer.contains("Content-Type: text/event-stream"));
  CHECK(answer.contains(R"("delta":{"role":"assistant","content":null})"));
  CHECK(answer.contains(R"("delta":{"content":"h"})"));
  CHECK(answer.contains("data: [DONE]"));
}

TEST_CASE("several prompts and several answers each have a choice") {
  Served served;
  const Json body = Json::parse(
      BodyOf(served.Post("/v1/completions", R"({"prompt":["a","hello"],"n":2,"max_tokens":9})")));
  REQUIRE(body["choices"].size() == 4);
  CHECK(body["choices"][1]["text"] == "a");
  CHECK(body["choices"][2]["text"] == "hello");
  CHECK(body["choices"][3]["index"] == 3);
}

TEST_CASE("Anthropic's endpoint has its own events and its own errors") {
  Served served;
  const std::string_view hello =
      R"({"max_tokens":99,"stream":true,"messages":[{"role":"user","content":"hello"}]})";
  const std::string stream = served.Post("/v1/messages", hello);
  CHECK(stream.contains("event: message_start\n"));
  CHECK(stream.contains(R"("delta":{"type":"text_delta","text":"hello"})"));
  CHECK(stream.contains("event: message_stop\n"));
  const std::string refused = served.Post("/v1/messages", R"({"messages":[]})");
  CHECK(StatusOf(refused) == 400);
  CHECK(BodyOf(refused).starts_with(R"({"type":"error","error":{"type":"invalid_request_error")"));
}

TEST_CASE("wrong paths, methods and keys have their errors, and health needs no key") {
  ApiServerOptions options;
  options.keys = *ApiKeys::Make({"secret"});
  Served served({}, std::move(options));
  CHECK(StatusOf(served.Get("/health")) == 200);
  CHECK(StatusOf(served.Get("/v1/models")) == 200);
  CHECK(StatusOf(served.Get("/nothing")) == 404);
  const std::string refused = served.Post("/v1/chat/completions", kHello);
  CHECK(StatusOf(refused) == 401);
  CHECK(BodyOf(refused).contains("authentication_error"));
  CHECK(StatusOf(served.Get("/metrics")) == 401);
  const std::string_view key = "Authorization: Bearer secret\r\n";
  CHECK(StatusOf(served.Post("/v1/chat/completions", kHello, key)) == 200);
  const std::string method = served.Get("/v1/chat/completions", key);
  CHECK(StatusOf(method) == 405);
  CHECK(method.contains("Allow: POST"));
  CHECK(StatusOf(served.Get("/slots", key)) == 501);
}

TEST_CASE("a client that leaves has its answers cancelled, streamed or not") {
  for (const std::string_view stream : {"false", "true"}) {
    Served served(
        {.context = TokenCount(1 << 20), .step_us = 500, .ignores_end = true, .origin = {}});
    RawClient client = served.Connect();
    client.Send(Served::RequestOf(
        "/v1/completions",
        fmt::format(R"({{"prompt":"hello","max_tokens":50,"n":3,"stream":{}}})", stream)));
    CHECK(Eventually([&] { return served.engine().steps > 2; }));
    client.Close();
    CHECK(Eventually([&] { return served.engine().cancelled == 3; }));
  }
}

TEST_CASE("a failure of the engine is an error with a status, or an event in a stream") {
  FakeEngine::Options failing;
  failing.fails = true;
  Served served(failing);
  const std::string whole =
      served.Post("/v1/completions", R"({"prompt":"hello world","max_tokens":9})");
  CHECK(StatusOf(whole) == 500);
  CHECK(BodyOf(whole).contains("the model broke"));
  const std::string stream =
      served.Post("/v1/completions", R"({"prompt":"hello world","max_tokens":9,"stream":true})");
  CHECK(StatusOf(stream) == 200);
  CHECK(stream.contains(R"(data: {"error":{"code":500)"));
  CHECK_FALSE(stream.contains("[DONE]"));
}

TEST_CASE("more requests than may wait are told to come again") {
  Served served({.step_us = 1000, .ignores_end = true, .origin = {}}, {}, 2);
  RawClient one = served.Connect(), two = served.Connect();
  const std::string_view slow = R"({"prompt":"a","max_tokens":60})";
  one.Send(Served::RequestOf("/v1/completions", slow));
  two.Send(Served::RequestOf("/v1/completions", slow));
  CHECK(Eventually([&] { return served.engine().steps > 2; }));
  const std::string answer = served.Post("/v1/completions", R"({"prompt":["a","b"]})");
  CHECK(StatusOf(answer) == 503);
  CHECK(answer.contains("Retry-After: 1"));
  CHECK(StatusOf(one.ReadAll()) == 200);
}

TEST_CASE("what the budget of state could never hold isn't told to come again") {
  Served served({.missing = Bytes(96), .origin = {}});
  for (const char* path : {"/v1/chat/completions", "/v1/messages"}) {
    const std::string answer = served.Post(
        path, R"({"messages":[{"role":"user","content":"hello"}],"max_tokens":4,"stream":true})");
    CHECK(StatusOf(answer) == 400);
    CHECK_FALSE(answer.contains("Retry-After"));
    CHECK(answer.contains("it can't be held"));
  }
  const std::string answer = served.Post("/v1/completions", R"({"prompt":"a"})");
  CHECK(Json::parse(BodyOf(answer))["error"]["missing_bytes"] == 96);
}

TEST_CASE("bodies of every wrong kind are refused by name, and the server goes on") {
  Served served;
  const auto param_of = [&](std::string_view body) {
    const std::string answer = served.Post("/v1/chat/completions", body);
    CHECK(StatusOf(answer) == 400);
    return Json::parse(BodyOf(answer))["error"]["param"].get<std::string>();
  };
  CHECK(param_of("") == "body");
  CHECK(param_of("\xff\xfe") == "body");
  CHECK(param_of(std::string(100'000, '[')) == "body");
  CHECK(param_of(R"({"temperature":NaN})") == "body");
  CHECK(param_of(R"({"messages":1})") == "messages");
  CHECK(param_of(R"({"messages":[{"role":"user","content":"x"}],"max_tokens":"5"})") ==
        "max_tokens");
  CHECK(StatusOf(served.Post("/v1/chat/completions", kHello)) == 200);
}

TEST_CASE("texts are embedded in their order, more of them than may wait at once, too") {
  Served served({}, {}, 64);
  std::string inputs = R"("a")";
  for (int i = 1; i < 200; ++i) inputs += fmt::format(R"(,"{}")", std::string(i % 7 + 1, 'b'));
  const std::string answer =
      served.Post("/v1/embeddings", fmt::format(R"({{"input":[{}],"dimensions":2}})", inputs));
  CHECK(StatusOf(answer) == 200);
  const Json body = Json::parse(BodyOf(answer));
  REQUIRE(body["data"].size() == 200);
  for (int i = 0; i < 200; ++i) {
    CHECK(body["data"][i]["index"] == i);
    CHECK(body["data"][i]["embedding"] == Json::parse("[0.6000000238418579,-0.800000011920929]"));
  }
  const Json whole = Json::parse(BodyOf(served.Post("/embeddings", R"({"input":[7,8]})")));
  CHECK(whole["data"][0]["embedding"].size() == 3);
  CHECK(whole["usage"] == Json{{"prompt_tokens", 2}, {"total_tokens", 2}});
  const std::string metrics = served.Get("/metrics");
  CHECK(metrics.contains("cairn_embeddings_total 201\n"));
  CHECK_FALSE(metrics.contains("cairn_answers_total"));
  CHECK(StatusOf(served.Post("/v1/embeddings", R"({"input":"a","dimensions":4})")) == 400);
}

TEST_CASE("an embedding that can't be had in time is an error, never a part") {
  Served served({.fails = true, .origin = {}});
  const std::string answer = served.Post("/v1/embeddings", R"({"input":["a","b"]})");
  CHECK(StatusOf(answer) == 503);
  CHECK_FALSE(answer.contains("data"));
}

TEST_CASE("metrics and state tell what has happened") {
  ApiServerOptions options;
  options.state_figures = [] {
    StateFigures figures;
    figures.budget_bytes = 4096;
    return figures;
  };
  Served served({}, std::move(options));
  served.Post("/v1/chat/completions", kHello);
  const std::string metrics = served.Get("/metrics");
  CHECK(metrics.contains("Content-Type: text/plain; version=0.0.4"));
  CHECK(metrics.contains("Process-Start-Time-Unix: "));
  CHECK(
      metrics.contains("cairn_requests_total{route=\"/v1/chat/completions\",status=\"200\"} 1\n"));
  CHECK(metrics.contains("cairn_time_to_first_token_seconds_count 1\n"));
  CHECK(metrics.contains("cairn_state_bytes{kind=\"budget\"} 4096\n"));
  CHECK(Json::parse(BodyOf(served.Get("/state")))["occupancy"]["budget_bytes"] == 4096);
}

TEST_CASE("after a signal what is being answered is finished, and then the server ends") {
  Served served({.step_us = 5000, .origin = {}});
  RawClient client = served.Connect();
  client.Send(Served::RequestOf("/v1/chat/completions", kHello));
  CHECK(Eventually([&] { return served.engine().steps > 1; }));
  served.http().Post([&] { served.api().OnSignal(); });
  CHECK(client.ReadAll().contains("u:hello;a:"));
  served.WaitForEnd();
  CHECK_FALSE(served.Connect().connected());
}

}  // namespace
TEST_CASE("a page is shown without a key, by GET and HEAD, and not again to who has it") {
  ApiServerOptions options;
  options.keys = *ApiKeys::Make({"secret"});
  options.pages.push_back(MakeWebPage(
      "/", R"(<meta http-equiv="Content-Security-Policy" content="default-src 'none'">)"));
  const std::string tag = options.pages.front().tag;
  Served served({}, std::move(options));
  const std::string page = served.Get("/?a=b");
  CHECK(StatusOf(page) == 200);
  CHECK(BodyOf(page).starts_with("<meta"));
  CHECK(StatusOf(served.Get("/", "If-None-Match: " + tag + "\r\n")) == 304);
  RawClient client = served.Connect();
  client.Send("HEAD / HTTP/1.1\r\nConnection: close\r\n\r\n");
  const std::string head = client.ReadAll();
  CHECK(head.contains("ETag: " + tag));
  CHECK(BodyOf(head).empty());
  CHECK(StatusOf(served.Get("/size")) == 501);  // none was given
  CHECK(StatusOf(served.Get("/state")) == 401);
}

}  // namespace cairn
