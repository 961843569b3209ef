// Contexts over HTTP, on an engine whose answers repeat their prompts.
#include <doctest/doctest.h>

#include <atomic>
#include <nlohmann/json.hpp>
#include <string>

#include "cairn/serve/api_served_for_tests.h"

namespace cairn {
namespace {

using Json = nlohmann::json;

constexpr int64_t kTokenBytes = FakeEngine::kTokenBytes;
constexpr std::string_view kSystem =
    R"({"messages":[{"role":"system","content":"be"}],"pin":true})";

// A server whose contexts' time stands still unless told otherwise.
class Contexts {
 public:
  explicit Contexts(ContextLimits limits = {}, FakeEngine::Options engine = {})
      : served_(std::move(engine), OptionsOf(limits)) {}

  Json Post(std::string_view path, std::string_view body, int status = 200,
            std::string_view key = "one") {
    return Read(served_.Post(path, body, Header(key)), status);
  }
  Json Get(std::string_view path, int status = 200, std::string_view key = "one") {
    return Read(served_.Get(path, Header(key)), status);
  }
  Json Release(std::string_view id, std::string_view body = "", int status = 200,
               std::string_view key = "one") {
    RawClient client = served_.Connect();
    std::string request = Served::RequestOf(PathOf(id), body, Header(key));
    client.Send(request.replace(0, 4, "DELETE"));
    return Read(client.ReadAll(), status);
  }
  std::string Make(std::string_view body) { return Post("/v1/contexts", body)["id"]; }
  static std::string PathOf(std::string_view id, std::string_view what = "") {
    return fmt::format("/v1/contexts/{}{}", id, what);
  }
  Json Pinned() { return Get("/state")["contexts"]; }
  static std::string Header(std::string_view key) {
    return fmt::format("Authorization: Bearer {}\r\n", key);
  }

  Served& served() { return served_; }
  std::atomic<int64_t> now_us{0};

 private:
  static Json Read(const std::string& answer, int status) {
    CHECK(StatusOf(answer) == status);
    return Json::parse(BodyOf(answer));
  }
  ApiServerOptions OptionsOf(const ContextLimits& limits) {
    ApiServerOptions options;
    options.keys = *ApiKeys::Make({"one", "two"});
    options.contexts = limits;
    options.now_us = [this] { return now_us.load(); };
    return options;
  }

  Served served_;
};

TEST_CASE("a context is made, shown, listed and released, and its pin goes with it") {
  Contexts c;
  const Json made = c.Post("/v1/contexts", kSystem);
  const std::string id = made["id"];
  const int64_t tokens = made["tokens"];
  CHECK(made["kind"] == "chat");
  CHECK(made["messages"] == 1);
  CHECK(made["pinned_tokens"] == tokens);
  CHECK(made["pinned_bytes"] == tokens * kTokenBytes);
  CHECK(made["usage"]["prompt_tokens"] == tokens);
  CHECK(made["expires_in_s"] == 600);
  const Json shown = c.Get(Contexts::PathOf(id));
  CHECK(shown["own_pinned_bytes"] == tokens * kTokenBytes);
  CHECK(c.Get("/v1/contexts")["data"] == Json::array({shown}));
  CHECK(c.Pinned()["count"] == 1);
  const Json released = c.Release(id);
  CHECK(released["released"] == true);
  CHECK(released["unpinned_bytes"] == tokens * kTokenBytes);
  CHECK(released["forgotten_bytes"] == 0);
  CHECK(c.Pinned()["pinned_bytes"] == 0);
  CHECK(c.Get(Contexts::PathOf(id), 404)["error"]["type"] == "not_found_error");
  c.Release(id, "", 404);
}

TEST_CASE("forgetting leaves what other contexts of the key begin with") {
  Contexts c;
  const std::string id = c.Make(R"({"text":"abcdef","cache_salt":"s"})");
  c.Make(R"({"text":"abcx","cache_salt":"s"})");
  const int64_t tokens = c.Get(Contexts::PathOf(id))["tokens"];
  const Json released = c.Release(id, R"({"forget":true})");
  CHECK(released["forgotten_bytes"] > 0);
  CHECK(released["forgotten_bytes"] < tokens * kTokenBytes);
  CHECK(c.served().engine().forgotten == "0/s");
}

TEST_CASE("thirty-two forks take the bytes of one") {
  Contexts c;
  const std::string id = c.Make(kSystem);
  const int64_t before = c.Pinned()["pinned_bytes"];
  const Json forks = c.Post(Contexts::PathOf(id, "/fork"), R"({"n":32})")["data"];
  REQUIRE(forks.size() == 32);
  CHECK(c.Pinned()["pinned_bytes"] == before);
  CHECK(c.Pinned()["pinned"] == 33);
  for (const Json& fork : forks) {
    CHECK(fork["parent"] == id);
    CHECK(fork["own_pinned_bytes"] == 0);
  }
  CHECK(c.Get(Contexts::PathOf(id))["children"].size() == 32);
  const std::string path = Contexts::PathOf(forks[0]["id"].get<std::string>(), "/append");
  const Json more = c.Post(path, R"({"messages":[{"role":"user","content":"x"}]})");
  CHECK(more["own_pinned_bytes"] ==
        (more["tokens"].get<int64_t>() - more["kept_tokens"].get<int64_t>()) * kTokenBytes);
  CHECK(c.Pinned()["pinned_bytes"] == before + more["own_pinned_bytes"].get<int64_t>());
  c.Release(id);
  CHECK(c.Pinned()["pinned_bytes"] == before + more["own_pinned_bytes"].get<int64_t>());
}

TEST_CASE("appending and rewinding move the pin, and nothing is left of it") {
  Contexts c;
  const std::string id = c.Make(R"({"text":"abc","pin":true})");
  const Json more = c.Post(Contexts::PathOf(id, "/append"), R"({"text":"defg"})");
  CHECK(more["pinned_tokens"] == more["tokens"]);
  CHECK(more["kept_tokens"] == c.Post("/v1/contexts", R"({"text":"abc"})")["tokens"]);
  const Json back = c.Post(Contexts::PathOf(id, "/rewind"), R"({"tokens":1})");
  CHECK(back["tokens"] == 1);
  CHECK(c.Pinned()["pinned_bytes"] == kTokenBytes);
  CHECK(c.Post(Contexts::PathOf(id, "/rewind"), R"({"tokens":2})", 400)["error"]["param"] ==
        "tokens");
  CHECK(c.Post(Contexts::PathOf(id, "/append"), "{}", 400)["error"]["param"] == "messages");
}

TEST_CASE("an answer on a context is that of the whole in one piece, and may be appended") {
  Contexts c;
  const std::string id = c.Make(kSystem);
  const std::string user = R"("messages":[{"role":"user","content":"hi"}])";
  const Json whole =
      c.Post("/v1/chat/completions",
             R"({"messages":[{"role":"system","content":"be"},{"role":"user","content":"hi"}]})");
  const Json answer =
      c.Post("/v1/chat/completions", fmt::format(R"({{{},"context":"{}"}})", user, id));
  CHECK(answer["choices"] == whole["choices"]);
  CHECK(answer["usage"]["prompt_tokens"] == whole["usage"]["prompt_tokens"]);
  CHECK(answer["context"]["appended"] == false);
  const int64_t before = answer["context"]["tokens"];
  CHECK(answer["context"]["kept_tokens"] == before);

  const std::string append =
      fmt::format(R"({{{},"context":"{}","context_append":true}})", user, id);
  const Json appended = c.Post("/v1/chat/completions", append);
  CHECK(appended["choices"] == whole["choices"]);
  CHECK(appended["context"]["appended"] == true);
  CHECK(appended["context"]["tokens"] == whole["usage"]["total_tokens"]);
  const Json shown = c.Get(Contexts::PathOf(id));
  CHECK(shown["messages"] == 3);
  CHECK(shown["pinned_tokens"] == shown["tokens"]);
  CHECK(c.Pinned()["pinned_bytes"] == shown["tokens"].get<int64_t>() * kTokenBytes);
}

TEST_CASE("a stream says what became of the context with its usage") {
  Contexts c;
  const std::string id = c.Make(R"({"text":"ab"})");
  const std::string stream = c.served().Post(
      "/v1/completions",
      fmt::format(R"({{"prompt":"c","context":"{}","context_append":true,"stream":true,)"
                  R"("stream_options":{{"include_usage":true}}}})",
                  id),
      Contexts::Header("one"));
  CHECK(stream.contains(fmt::format(R"("context":{{"id":"{}")", id)));
  CHECK(stream.contains(R"("appended":true)"));
  CHECK(stream.contains("data: [DONE]"));
  const int64_t tokens = c.Get(Contexts::PathOf(id))["tokens"];
  CHECK(tokens == c.Post("/v1/contexts", R"({"text":"abcabc","prefill":false})")["tokens"]);
}

TEST_CASE("completions go on from a context as tokens, several at once") {
  Contexts c;
  const std::string id = c.Make(R"({"text":"ab"})");
  const Json body =
      c.Post("/v1/completions",
             fmt::format(R"({{"prompt":["c","d"],"context":"{}","max_tokens":3,"n":2}})", id));
  REQUIRE(body["choices"].size() == 4);
  CHECK(body["choices"][0]["text"] == "abc");
  CHECK(body["choices"][3]["text"] == "abd");
  const Json none =
      c.Post("/v1/completions", fmt::format(R"({{"context":"{}","max_tokens":2}})", id));
  CHECK(none["choices"][0]["text"] == "ab");
}

TEST_CASE("what can't be with a context is refused by name") {
  Contexts c;
  const std::string text = c.Make(R"({"text":"ab","cache_salt":"s"})");
  const auto param = [&](std::string_view path, std::string_view fields, int status = 400) {
    const Json body = c.Post(path, fmt::format(R"({{"context":"{}"{}}})", text, fields), status);
    return body["error"]["param"].is_null() ? "" : body["error"]["param"].get<std::string>();
  };
  CHECK(param("/v1/chat/completions", R"(,"messages":[{"role":"user","content":"x"}])") ==
        "context");
  CHECK(param("/v1/completions", R"(,"n":2,"context_append":true)") == "n");
  CHECK(param("/v1/completions", R"(,"prompt":["a","b"],"context_append":true)") == "prompt");
  CHECK(param("/v1/completions", R"(,"max_tokens":0,"context_append":true)") == "max_tokens");
  CHECK(param("/v1/completions", R"(,"cache_salt":"t")") == "cache_salt");
  CHECK(param("/v1/completions", R"(,"echo":true)") == "echo");
  CHECK(param("/v1/completions", R"(,"context_append":1)") == "context_append");
  CHECK(param("/v1/completions", R"(,"prompt":7)") == "prompt");
  c.Post("/v1/completions", R"({"context_append":true,"prompt":"a"})", 400);
  c.Post("/v1/completions", R"({"context":7,"prompt":"a"})", 400);
  c.Post("/v1/completions", R"({"context":"ctx-none","prompt":"a"})", 404);
  const Json anthropic =
      c.Post("/v1/messages",
             R"({"context":"x","max_tokens":1,"messages":[{"role":"user","content":"a"}]})", 400);
  CHECK(anthropic["error"]["message"].get<std::string>().contains("context"));
  // All of that has let go of the context.
  const Json shown = c.Get(Contexts::PathOf(text));
  CHECK(c.Post(Contexts::PathOf(text, "/append"), R"({"text":"c"})")["tokens"] > shown["tokens"]);
}

TEST_CASE("of two appends at once one is told to wait, and readers are not") {
  Contexts c({}, {.step_us = 2000, .ignores_end = true, .origin = {}});
  const std::string id = c.Make(R"({"text":"ab"})");
  const std::string slow =
      fmt::format(R"({{"prompt":"c","context":"{}","context_append":true,"max_tokens":40}})", id);
  RawClient client = c.served().Connect();
  client.Send(Served::RequestOf("/v1/completions", slow, Contexts::Header("one")));
  const int64_t made = c.served().engine().steps;
  REQUIRE(Eventually([&] { return c.served().engine().steps > made + 2; }));
  const Json refused = c.Post("/v1/completions", slow, 409);
  CHECK(refused["error"]["type"] == "conflict_error");
  c.Post(Contexts::PathOf(id, "/append"), R"({"text":"x"})", 409);
  c.Post(Contexts::PathOf(id, "/rewind"), R"({"tokens":1})", 409);
  const int64_t before = c.Get(Contexts::PathOf(id))["tokens"];
  CHECK(c.Post(Contexts::PathOf(id, "/fork"), "")["data"][0]["tokens"] == before);
  c.Post("/v1/completions", fmt::format(R"({{"context":"{}","max_tokens":1}})", id));
  CHECK(StatusOf(client.ReadAll()) == 200);
  CHECK(c.Get(Contexts::PathOf(id))["tokens"] > before + 30);
}

TEST_CASE("an append whose client leaves, or that fails, changes nothing and lets others") {
  for (const bool fails : {false, true}) {
    Contexts c({}, {.step_us = fails ? 0 : 500, .ignores_end = true, .fails = fails, .origin = {}});
    const std::string id = c.Make(R"({"text":"ab","pin":true})");
    const int64_t before = c.Get(Contexts::PathOf(id))["tokens"];
    const std::string slow =
        fmt::format(R"({{"prompt":"c","context":"{}","context_append":true,"max_tokens":50}})", id);
    if (fails) {
      c.Post("/v1/completions", slow, 500);
    } else {
      RawClient client = c.served().Connect();
      client.Send(Served::RequestOf("/v1/completions", slow, Contexts::Header("one")));
      const int64_t made = c.served().engine().steps;
      REQUIRE(Eventually([&] { return c.served().engine().steps > made + 2; }));
      client.Close();
      REQUIRE(Eventually([&] { return c.served().engine().cancelled == 1; }));
    }
    CHECK(c.Get(Contexts::PathOf(id))["tokens"] == before);
    CHECK(c.Post(Contexts::PathOf(id, "/append"), R"({"text":"x"})")["tokens"] == before + 1);
    CHECK(c.Pinned()["pinned_bytes"] == (before + 1) * kTokenBytes);
  }
}

TEST_CASE("a context that is released while an answer is to be appended is not made again") {
  Contexts c({}, {.step_us = 2000, .ignores_end = true, .origin = {}});
  const std::string id = c.Make(R"({"text":"ab","pin":true})");
  RawClient client = c.served().Connect();
  client.Send(Served::RequestOf(
      "/v1/completions",
      fmt::format(R"({{"context":"{}","context_append":true,"max_tokens":30}})", id),
      Contexts::Header("one")));
  const int64_t made = c.served().engine().steps;
  REQUIRE(Eventually([&] { return c.served().engine().steps > made + 2; }));
  c.Release(id);
  const std::string answer = client.ReadAll();
  CHECK(StatusOf(answer) == 200);
  CHECK(Json::parse(BodyOf(answer))["context"]["appended"] == false);
  CHECK(c.Pinned()["count"] == 0);
  CHECK(c.Pinned()["pinned_bytes"] == 0);
}

TEST_CASE("contexts expire some time after their last use, and their pins with them") {
  Contexts c({.ttl_us = 100'000'000, .ttl_max_us = 1'000'000'000});
  const std::string id = c.Make(R"({"text":"ab","pin":true})");
  const std::string other = c.Make(R"({"text":"ac","pin":true,"ttl_s":500})");
  c.now_us = 99'000'000;
  CHECK(c.Get(Contexts::PathOf(id))["expires_in_s"] == 1);
  CHECK(c.Post(Contexts::PathOf(id, "/touch"), "")["expires_in_s"] == 100);
  c.now_us = 198'000'000;
  c.Post("/v1/completions", fmt::format(R"({{"context":"{}","max_tokens":1}})", id));
  c.now_us = 297'000'000;
  c.Get(Contexts::PathOf(id));
  c.now_us = 299'000'000;
  c.Get(Contexts::PathOf(id), 404);
  c.Post(Contexts::PathOf(id, "/touch"), "", 404);
  c.Get(Contexts::PathOf(other));
  CHECK(Eventually([&] { return c.Pinned()["pinned"] == 1; }));
  CHECK(c.Post(Contexts::PathOf(other, "/touch"), R"({"ttl_s":2})")["ttl_s"] == 2);
  CHECK(c.Post(Contexts::PathOf(other, "/touch"), R"({"ttl_s":1001})", 400)["error"]["param"] ==
        "ttl_s");
  c.Post("/v1/contexts", R"({"text":"a","ttl_s":1001})", 400);
}

TEST_CASE("to another key a context is not there") {
  Contexts c;
  const std::string id = c.Make(kSystem);
  const Json refused = c.Get(Contexts::PathOf(id), 404, "two");
  CHECK(refused == c.Get(Contexts::PathOf("ctx-0123"), 404, "two"));
  for (const char* what : {"/fork", "/append", "/rewind", "/touch"}) {
    c.Post(Contexts::PathOf(id, what), R"({"text":"a","tokens":1})", 404, "two");
  }
  c.Release(id, "", 404, "two");
  c.Post("/v1/completions", fmt::format(R"({{"context":"{}","prompt":"a"}})", id), 404, "two");
  CHECK(c.Get("/v1/contexts", 200, "two")["data"].empty());
  c.Get("/v1/contexts", 401, "three");
  c.Get(Contexts::PathOf(id));
}

TEST_CASE("contexts and pinned bytes beyond the limits are refused with the numbers") {
  Contexts c({.contexts = 4, .contexts_per_key = 3, .pinned_bytes = 6 * kTokenBytes});
  const auto message = [](const Json& body) { return body["error"]["message"].get<std::string>(); };
  const std::string id = c.Make(R"({"tokens":[1,2,3,4],"pin":true})");
  const std::string full = message(c.Post("/v1/contexts", R"({"tokens":[9,8,7],"pin":true})", 429));
  CHECK(full.contains(fmt::format("{} bytes of state", 7 * kTokenBytes)));
  CHECK(full.contains(fmt::format("at most {} may be", 6 * kTokenBytes)));
  CHECK(c.Pinned()["pinned_bytes"] == 4 * kTokenBytes);
  c.Post(Contexts::PathOf(id, "/append"), R"({"tokens":[5,6,7]})", 429);
  CHECK(c.Get(Contexts::PathOf(id))["tokens"] == 4);
  // What it was appended to stays pinned; the answer is not lost.
  const Json answer =
      c.Post("/v1/completions",
             fmt::format(R"({{"context":"{}","context_append":true,"max_tokens":4}})", id));
  CHECK(answer["context"]["appended"] == true);
  const Json shown = c.Get(Contexts::PathOf(id));
  CHECK(shown["tokens"] == 8);
  CHECK(shown["pinned_tokens"] == 4);

  const std::string many = message(c.Post(Contexts::PathOf(id, "/fork"), R"({"n":3})", 429));
  CHECK(many.contains("1 contexts are this key's already, and 3 more would exceed the 3"));
  CHECK(c.Get("/v1/contexts")["data"].size() == 1);
  CHECK(c.Post(Contexts::PathOf(id, "/fork"), R"({"n":2,"pin":false})")["data"].size() == 2);
  c.Post("/v1/contexts", R"({"text":"a"})", 200, "two");
  c.Post("/v1/contexts", R"({"text":"a"})", 429, "two");
}

TEST_CASE("what no context can be is refused, and the server goes on") {
  Contexts c;
  for (const std::string_view body :
       {"", "{", "[]", "7", R"({"text":"a","messages":[]})", R"({"tokens":[-1]})",
        R"({"messages":[{"role":"user"}]})", R"({"text":"a","ttl_s":-1})", "\xff"}) {
    CAPTURE(body);
    c.Post("/v1/contexts", body, 400);
  }
  const std::string id = c.Make(R"({"text":"a"})");
  c.Post(Contexts::PathOf(id, "/touch"), std::string(70'000, ' '), 400);
  c.Release(id, std::string(70'000, '['), 400);
  c.Post(Contexts::PathOf(id, "/nothing"), "{}", 404);
  CHECK(StatusOf(c.served().Post(Contexts::PathOf(id), "{}", Contexts::Header("one"))) == 405);
  c.Get(Contexts::PathOf(id));
  c.Get(Contexts::PathOf("..%2F..%2Fetc"), 404);
}

TEST_CASE("metrics count contexts and what they hold, by patterns of paths") {
  Contexts c;
  const std::string id = c.Make(R"({"tokens":[1,2,3],"pin":true})");
  c.Make(R"({"tokens":[1,2,3]})");
  c.Get(Contexts::PathOf(id));
  const std::string metrics = c.served().Get("/metrics", Contexts::Header("one"));
  CHECK(metrics.contains("cairn_contexts{pin=\"true\"} 1\n"));
  CHECK(metrics.contains("cairn_contexts{pin=\"false\"} 1\n"));
  CHECK(metrics.contains(fmt::format("cairn_context_pinned_bytes {}\n", 3 * kTokenBytes)));
  CHECK(metrics.contains("cairn_requests_total{route=\"/v1/contexts/{id}\",status=\"200\"} 1\n"));
  CHECK_FALSE(metrics.contains(id));
}

}  // namespace
}  // namespace cairn
