#include "cairn/serve/http_server.h"

#include <doctest/doctest.h>
#include <sys/resource.h>

#include <condition_variable>
#include <deque>
#include <mutex>
#include <vector>

#include "cairn/base/env.h"
#include "cairn/base/executor.h"
#include "cairn/serve/http_client_for_tests.h"

namespace cairn {
namespace {

constexpr std::string_view kGet = "GET /now HTTP/1.1\r\nHost: h\r\n\r\n";
constexpr std::string_view kLater = "GET /later HTTP/1.1\r\nHost: h\r\n\r\n";

// Answers /now at once with the body it got; leaves all else to the test.
class TestHandler final : public HttpHandler {
 public:
  void OnRequest(ExchangeId id, HttpRequest request) override {
    if (request.path == "/now") {
      return server->Respond(id, {.body = request.body.empty() ? "now" : request.body});
    }
    const std::lock_guard lock(mutex_);
    asked_.push_back(id);
    changed_.notify_all();
  }
  void OnLeft(ExchangeId id) override {
    const std::lock_guard lock(mutex_);
    left_.push_back(id);
    changed_.notify_all();
  }
  ExchangeId NextAsked() { return Next(asked_); }
  ExchangeId NextLeft() { return Next(left_); }

  HttpServer* server = nullptr;

 private:
  ExchangeId Next(std::deque<ExchangeId>& queue) {
    std::unique_lock lock(mutex_);
    const bool came =
        changed_.wait_for(lock, std::chrono::seconds(20), [&] { return !queue.empty(); });
    if (!came) return ExchangeId(-1);
    const ExchangeId id = queue.front();
    queue.pop_front();
    return id;
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<ExchangeId> asked_;
  std::deque<ExchangeId> left_;
};

// A server on a thread.
struct Running {
  explicit Running(HttpServerOptions options = {}) {
    options.port = 0;
    Result<std::unique_ptr<HttpServer>> listening = HttpServer::Listen(options, handler);
    REQUIRE(listening);
    server = std::move(*listening);
    handler.server = server.get();
    thread = std::make_unique<IoThreads>(1);
    thread->Run([this] { server->Run(); });
  }
  ~Running() {
    server->Stop();
    thread.reset();
  }
  RawClient Connect() { return RawClient(server->port()); }

  TestHandler handler;
  std::unique_ptr<HttpServer> server;
  std::unique_ptr<IoThreads> thread;
};

int StatusOf(const std::string& answer) {
  return answer.starts_with("HTTP/1.1 ") ? std::stoi(answer.substr(9, 3)) : 0;
}

TEST_CASE("one connection serves many requests, also when they come all at once") {
  Running running;
  RawClient client = running.Connect();
  for (int i = 0; i < 3; ++i) {
    client.Send(kGet);
    CHECK(client.ReadUntil("\r\n\r\nnow").contains("200 OK"));
  }
  std::string many;
  for (int i = 0; i < 500; ++i) many += kGet;
  client.Send(many);
  for (int i = 0; i < 500; ++i) CHECK(client.ReadUntil("now").contains("200 OK"));
}

TEST_CASE("a body that comes byte by byte, in chunks or after leave arrives whole") {
  Running running;
  RawClient slow = running.Connect();
  for (const char c : std::string("POST /now HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello")) {
    slow.Send(std::string(1, c));
  }
  CHECK(slow.ReadUntil("hello").contains("200 OK"));
  RawClient asking = running.Connect();
  asking.Send("POST /now HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n");
  CHECK(asking.ReadUntil("\r\n\r\n") == "HTTP/1.1 100 Continue\r\n\r\n");
  asking.Send("body");
  CHECK(asking.ReadUntil("body").contains("200 OK"));
}

TEST_CASE("what breaks a bound gets its status, and the server goes on") {
  HttpServerOptions options;
  options.limits = {.header_bytes = 1000, .body_bytes = 100};
  options.max_bodies_bytes = 50;
  Running running(options);
  const auto status_of = [&](std::string_view request) {
    RawClient client = running.Connect();
    client.Send(request);
    return StatusOf(client.ReadAll());
  };
  CHECK(status_of("POST /now HTTP/1.1\r\nContent-Length: 101\r\n\r\n") == 413);
  CHECK(status_of("GET /now HTTP/1.1\r\nA: " + std::string(2000, 'a') + "\r\n\r\n") == 431);
  CHECK(status_of("nonsense\r\n\r\n") == 400);
  CHECK(status_of("POST /now HTTP/1.1\r\nContent-Length: 60\r\n\r\n" + std::string(60, 'a')) ==
        503);
  CHECK(status_of("GET /now HTTP/1.1\r\nConnection: close\r\n\r\n") == 200);
}

TEST_CASE("a request that doesn't come to its end is given up, an idle connection closed") {
  HttpServerOptions options;
  options.request_timeout_us = 300'000;
  options.idle_timeout_us = 300'000;
  Running running(options);
  RawClient slow = running.Connect();
  slow.Send("GET /now HTTP/1.1\r\n");
  const std::string answer = slow.ReadAll();
  CHECK(StatusOf(answer) == 408);
  RawClient idle = running.Connect();
  CHECK(idle.ReadAll().empty());
}

TEST_CASE("a stream comes in chunks, to an old client as it is") {
  Running running;
  RawClient client = running.Connect();
  client.Send(kLater);
  const ExchangeId id = running.handler.NextAsked();
  running.server->StartStream(id, "text/event-stream");
  CHECK(client.ReadUntil("\r\n\r\n").contains("Transfer-Encoding: chunked"));
  running.server->Write(id, "abc");
  CHECK(client.ReadUntil("abc\r\n") == "3\r\nabc\r\n");
  running.server->EndStream(id);
  CHECK(client.ReadUntil("0\r\n\r\n") == "0\r\n\r\n");
  client.Send(kGet);
  CHECK(client.ReadUntil("now").contains("200 OK"));
  RawClient old = running.Connect();
  old.Send("GET /later HTTP/1.0\r\n\r\n");
  const ExchangeId next = running.handler.NextAsked();
  running.server->StartStream(next, "text/event-stream");
  running.server->Write(next, "abc");
  running.server->EndStream(next);
  CHECK(old.ReadAll().ends_with("\r\n\r\nabc"));
}

TEST_CASE("a client that leaves is noticed while it waits, streamed to or not") {
  Running running;
  RawClient waiting = running.Connect();
  waiting.Send(kLater);
  const ExchangeId first = running.handler.NextAsked();
  waiting.Close();
  CHECK(running.handler.NextLeft() == first);
  running.server->Respond(first, {});
  RawClient reading = running.Connect();
  reading.Send(kLater);
  const ExchangeId second = running.handler.NextAsked();
  running.server->StartStream(second, "text/plain");
  reading.ReadUntil("\r\n\r\n");
  reading.Close();
  CHECK(running.handler.NextLeft() == second);
  running.server->Abort(second);
  running.server->Write(second, "for nobody");
}

TEST_CASE("a client that has only ended its sending still gets a quick answer") {
  Running running;
  RawClient client = running.Connect();
  client.Send(kGet);
  client.EndSending();
  CHECK(client.ReadAll().ends_with("now"));
}

TEST_CASE("a client that doesn't read is left when too much waits for it") {
  HttpServerOptions options;
  options.max_unsent_bytes = 1 << 20;
  Running running(options);
  RawClient client = running.Connect();
  client.Send(kLater);
  const ExchangeId id = running.handler.NextAsked();
  running.server->StartStream(id, "text/plain");
  for (int i = 0; i < 200; ++i) running.server->Write(id, std::string(1 << 17, 'x'));
  CHECK(running.handler.NextLeft() == id);
}

TEST_CASE("more connections than may be are told so") {
  HttpServerOptions options;
  options.max_connections = 2;
  Running running(options);
  RawClient one = running.Connect(), two = running.Connect();
  one.Send(kGet);
  two.Send(kGet);
  one.ReadUntil("now");
  two.ReadUntil("now");
  RawClient three = running.Connect();
  CHECK(StatusOf(three.ReadAll()) == 503);
  one.Close();
  two.Send(kGet);
  CHECK(two.ReadUntil("now").contains("200 OK"));
}

TEST_CASE("a drain ends when the last answer has been given, and takes nothing new") {
  Running running;
  RawClient busy = running.Connect(), idle = running.Connect();
  busy.Send(kLater);
  const ExchangeId id = running.handler.NextAsked();
  running.server->Drain(NowMicroseconds() + 20'000'000);
  CHECK(idle.ReadAll().empty());
  RawClient late = running.Connect();
  CHECK(late.ReadAll().empty());
  running.server->Respond(id, {.body = "done"});
  CHECK(busy.ReadAll().ends_with("done"));
  running.thread.reset();  // Run has returned
}

TEST_CASE("a thousand connections wait at the same time") {
  const rlimit descriptors{.rlim_cur = 4096, .rlim_max = 4096};
  rlimit before{};
  getrlimit(RLIMIT_NOFILE, &before);
  if (before.rlim_cur < descriptors.rlim_cur) setrlimit(RLIMIT_NOFILE, &descriptors);
  Running running;
  std::vector<RawClient> clients;
  for (int i = 0; i < 1000; ++i) {
    clients.push_back(running.Connect());
    if (!clients.back().connected()) break;
    clients.back().Send(kLater);
  }
  REQUIRE(clients.size() == 1000);
  for (int i = 0; i < 1000; ++i) {
    running.server->Respond(running.handler.NextAsked(), {.body = "done"});
  }
  int answered = 0;
  for (RawClient& client : clients) answered += client.ReadUntil("done").ends_with("done") ? 1 : 0;
  CHECK(answered == 1000);
}

TEST_CASE("an address that can't be had is an error that names it") {
  TestHandler handler;
  HttpServerOptions options;
  options.host = "203.0.113.7";
  const auto listening = HttpServer::Listen(options, handler);
  REQUIRE_FALSE(listening);
  CHECK(listening.error().message.contains("--host 203.0.113.7"));
}

}  // namespace
}  // namespace cairn
