// The whole server on loopback with a fake engine, and what tests ask of it.
#ifndef CAIRN_SERVE_API_SERVED_FOR_TESTS_H_
#define CAIRN_SERVE_API_SERVED_FOR_TESTS_H_

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "cairn/base/env.h"
#include "cairn/base/executor.h"
#include "cairn/serve/api_server.h"
#include "cairn/serve/fake_engine_for_tests.h"
#include "cairn/serve/http_client_for_tests.h"
#include "cairn/serve/model_for_tests.h"

namespace cairn {

inline constexpr std::string_view kHello = R"({"messages":[{"role":"user","content":"hello"}]})";

class Served {
 public:
  explicit Served(FakeEngine::Options engine = {}, ApiServerOptions options = {},
                  int64_t max_jobs = 1024)
      : engine_(std::move(engine)), api_(model_.served, std::move(options)) {
    HttpServerOptions http;
    http.port = 0;
    http_ = std::move(*HttpServer::Listen(http, api_));
    service_ = std::make_unique<EngineService>(engine_, model_.tokenizer->table(), api_,
                                               EngineService::Options{.max_jobs = max_jobs});
    api_.Attach(*http_, *service_);
    thread_ = std::make_unique<IoThreads>(1);
    thread_->Run([this] { http_->Run(); });
  }
  ~Served() {
    http_->Stop();
    thread_.reset();
    api_.Detach();
    service_.reset();
  }

  RawClient Connect() { return RawClient(http_->port()); }
  static std::string RequestOf(std::string_view path, std::string_view body,
                               std::string_view headers = "") {
    return fmt::format("POST {} HTTP/1.1\r\n{}Connection: close\r\nContent-Length: {}\r\n\r\n{}",
                       path, headers, body.size(), body);
  }
  // The whole answer, head and body.
  std::string Post(std::string_view path, std::string_view body, std::string_view headers = "") {
    RawClient client = Connect();
    client.Send(RequestOf(path, body, headers));
    return client.ReadAll();
  }
  std::string Get(std::string_view path, std::string_view headers = "") {
    return Ask("GET", path, headers);
  }
  std::string Ask(std::string_view method, std::string_view path, std::string_view headers = "") {
    RawClient client = Connect();
    client.Send(
        fmt::format("{} {} HTTP/1.1\r\n{}Connection: close\r\n\r\n", method, path, headers));
    return client.ReadAll();
  }

  FakeEngine& engine() { return engine_; }
  ApiServer& api() { return api_; }
  HttpServer& http() { return *http_; }
  void WaitForEnd() { thread_.reset(); }

 private:
  ModelForTests model_;
  FakeEngine engine_;
  ApiServer api_;
  std::unique_ptr<HttpServer> http_;
  std::unique_ptr<EngineService> service_;
  std::unique_ptr<IoThreads> thread_;
};

inline std::string BodyOf(const std::string& answer) {
  return answer.substr(answer.find("\r\n\r\n") + 4);
}
inline int StatusOf(const std::string& answer) { return std::stoi(answer.substr(9, 3)); }

// Until it holds, for some seconds.
inline bool Eventually(const std::function<bool()>& holds) {
  const int64_t until_us = NowMicroseconds() + 20'000'000;
  while (!holds()) {
    if (NowMicroseconds() > until_us) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return true;
}

}  // namespace cairn

#endif  // CAIRN_SERVE_API_SERVED_FOR_TESTS_H_
