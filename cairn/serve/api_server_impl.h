// The inside of ApiServer: api_server.cc has requests and answers, api_server_contexts.cc contexts.
#ifndef CAIRN_SERVE_API_SERVER_IMPL_H_
#define CAIRN_SERVE_API_SERVER_IMPL_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "cairn/base/env.h"
#include "cairn/serve/api_routes.h"
#include "cairn/serve/api_server.h"
#include "cairn/serve/metrics.h"
#include "cairn/serve/prepare_context.h"
#include "cairn/serve/render_context.h"

namespace cairn {

class ApiServer::Impl {
 public:
  Impl(const ServedModel& model, ApiServerOptions options)
      : model_(model), options_(std::move(options)), contexts_(options_.contexts) {}

  void Attach(HttpServer& http, EngineService& engine) {
    http_ = &http;
    engine_ = &engine;
    workers_ = std::make_unique<IoThreads>(options_.workers);
  }
  void Detach() { workers_.reset(); }

  void OnRequest(ExchangeId id, HttpRequest request);
  void OnLeft(ExchangeId id);
  void OnTick();
  void OnSignal();
  void OnAnswerEvents(std::vector<AnswerEvent> events) {
    http_->Post([this, events = std::move(events)]() mutable {
      for (AnswerEvent& event : events) OnEvent(event);
    });
  }

 private:
  using Prepare = ApiResult<PreparedAnswer> (*)(const ServedModel&, std::string_view,
                                                const RequestFacts&);
  using Small = ApiResult<std::string> (*)(const ServedModel&, std::string_view);

  // A request that a worker reads.
  struct Pending {
    const Route* route = nullptr;
    int key = 0;
    int64_t arrived_us = 0;
    bool is_small = false;                                        // answered by the worker itself
    std::optional<ContextTable::Use> context_use = std::nullopt;  // of what it goes on from
  };
  // A request that the engine answers.
  struct Answering {
    const Route* route = nullptr;
    int key = 0;
    int64_t arrived_us = 0;
    std::optional<ContextTable::Use> context_use = std::nullopt;
    PreparedAnswer prepared;
    std::vector<JobId> jobs;
    size_t jobs_left = 0;
    size_t next_job = 0;  // of prepared.jobs: those from here on aren't the engine's yet
    bool begun = false;   // the stream's head is out
    bool first_token = false;
    int64_t written_us = 0;
    std::vector<int64_t> last_token_us;  // by choice
    AnswerUsage usage;
  };

  void Dispatch(ExchangeId id, const Route& route, HttpRequest request, int key);
  void Work(ExchangeId id, const Route& route, std::string body, Prepare prepare, int key);
  RequestFacts FactsFor(int key) const;
  // By a worker, and then back here.
  void Read(ExchangeId id, std::string body, Prepare prepare, RequestFacts facts,
            std::unique_ptr<const ContextText> context);
  void WorkSmall(ExchangeId id, const Route& route, std::string body, Small answer);
  bool Admit(ExchangeId id, Pending pending);
  void Start(ExchangeId id, ApiResult<PreparedAnswer> prepared);
  // False: it has failed for want of room.
  bool SubmitNext(ExchangeId id, Answering& a);
  void OnEvent(AnswerEvent& event);
  void OnPiece(ExchangeId id, Answering& a, AnswerEvent& event, int choice);
  void OnEnded(ExchangeId id, Answering& a, AnswerEvent& event, int choice);
  void FailAnswer(ExchangeId id, const ApiError& error);
  void Finish(ExchangeId id);
  void Complete(ExchangeId id);
  void Send(ExchangeId id, Answering& a, std::string events);
  void Forget(ExchangeId id);
  void ShowPage(ExchangeId id, const Route& route, const HttpRequest& request);
  void Inspect(ExchangeId id, const Route& route);
  void Answer(ExchangeId id, std::string_view route, HttpResponse response);
  void AnswerError(ExchangeId id, const Route* route, const ApiError& error);

  // ---- Contexts (api_server_contexts.cc) ----
  // What the engine did about the pins that a change of contexts needs.
  struct Pinned {
    std::vector<PinId> pins;
    bool refused = false;  // they would have taken more bytes than pins may
    Bytes bytes;           // of all pins, with these
  };
  void DispatchContext(ExchangeId id, const Route& route, std::string_view context,
                       HttpRequest request, int key);
  void WorkOn(ExchangeId id, const Route& route, std::string body, Prepare prepare, int key,
              const ContextPlan& plan);
  // The request waits in pending_.
  void ReadOn(ExchangeId id, std::string body, Prepare prepare, RequestFacts facts,
              const ContextPlan& plan);
  void AnswerFacts(ExchangeId id, const Route& route, std::vector<ContextFacts> facts,
                   std::move_only_function<std::string(const std::vector<ContextFacts>&)> json);
  void TouchContext(ExchangeId id, const Route& route, const ServedContext& context,
                    std::string_view body);
  void ReleaseContext(ExchangeId id, const Route& route, const ServedContext& context,
                      std::string_view body);
  void ListContexts(ExchangeId id, const Route& route, int key);
  void NoteAnswer(ContextPlan& plan, const AnswerEvent& event);
  // What follows once all jobs of a request have ended: pins, then the change itself.
  void Settle(ExchangeId id, Answering& a);
  bool WantsPin(const Answering& a) const;
  ApiResult<void> CheckPlan(const Answering& a) const;
  void Apply(ExchangeId id, Pinned pinned);
  void AddContexts(ExchangeId id, Answering& a, const Pinned& pinned);
  void ChangeContext(ExchangeId id, Answering& a, const Pinned& pinned);
  void AnswerContext(ExchangeId id, Answering& a, const std::string& context);
  void Unpin(std::vector<PinId> pins);
  void EndUse(std::optional<ContextTable::Use>& use);
  void ExpireContexts();
  ApiResult<int64_t> TtlOf(std::optional<int64_t> asked_us, int64_t otherwise_us) const;
  int64_t ContextNow() const { return options_.now_us ? options_.now_us() : NowMicroseconds(); }

  const ServedModel& model_;
  const ApiServerOptions options_;
  const int64_t started_unix_s_ = NowUnixSeconds();
  HttpServer* http_ = nullptr;
  EngineService* engine_ = nullptr;
  std::unique_ptr<IoThreads> workers_;

  // The loop's own.
  ServeMetrics metrics_;
  ContextTable contexts_;
  std::unordered_map<ExchangeId, Pending> pending_;
  std::unordered_map<ExchangeId, Answering> answering_;
  struct Place {
    ExchangeId exchange;
    int first_choice = 0;
  };
  std::unordered_map<JobId, Place> jobs_;
  int64_t next_job_ = 1;
  int signals_ = 0;
};

}  // namespace cairn

#endif  // CAIRN_SERVE_API_SERVER_IMPL_H_
