// ApiServer: the endpoints, between the HTTP server and the engine.
//
// A request is authorised and routed on the server's loop, read by a worker (parsing, template,
// tokenizer), and answered by the engine's events, which come back to the loop. All bookkeeping is
// the loop's alone, so there are no locks here.
//
// Invariants: each exchange gets one response, or its client has left; when it leaves, its jobs are
// cancelled at once. At most max_pending requests wait for a worker.
// Thread safety: the constructor, Attach and Detach before and after the loop runs; OnRequest,
// OnLeft, OnTick and OnSignal on the loop; OnAnswerEvents on the engine's thread.
#ifndef CAIRN_SERVE_API_SERVER_H_
#define CAIRN_SERVE_API_SERVER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cairn/base/executor.h"
#include "cairn/serve/api_keys.h"
#include "cairn/serve/context_table.h"
#include "cairn/serve/engine_service.h"
#include "cairn/serve/http_server.h"
#include "cairn/serve/prepare_answer.h"
#include "cairn/serve/state_report.h"
#include "cairn/serve/web_page.h"

namespace cairn {

struct ApiServerOptions {
  ApiKeys keys;
  int workers = 2;
  int64_t max_pending = 1024;
  int64_t answer_timeout_us = 3600 * int64_t{1'000'000};  // of one request, queue included
  int64_t ping_every_us = 15'000'000;                     // of a stream in which nothing happens
  int64_t drain_us = 30'000'000;                          // after a signal, until answers are cut
  // Fills in the state's figures, on the engine's thread; empty: none are known.
  std::function<StateFigures()> state_figures;
  // Adds what only GET /state shows and takes longer to find; on the engine's thread, or empty.
  std::function<void(StateFigures&)> state_details;
  // What browsers are given; none: there are no pages.
  std::vector<WebPage> pages = {};
  ContextLimits contexts = {};
  // For the times of contexts; empty: the machine's clock.
  std::function<int64_t()> now_us = {};
  // Called once, when a signal has begun the end.
  std::function<void()> on_drain;
};

class ApiServer final : public HttpHandler, public AnswerObserver {
 public:
  // The model must outlive the server.
  ApiServer(const ServedModel& model, ApiServerOptions options);
  ~ApiServer() override;

  // Before the loop runs. Both must stay until Detach.
  void Attach(HttpServer& http, EngineService& engine);
  // After the loop has ended: waits for the workers, which use both.
  void Detach();

  void OnRequest(ExchangeId id, HttpRequest request) override;
  void OnLeft(ExchangeId id) override;
  void OnTick() override;
  // Drains; a second signal stops at once.
  void OnSignal() override;
  void OnAnswerEvents(std::vector<AnswerEvent> events) override;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace cairn

#endif  // CAIRN_SERVE_API_SERVER_H_
