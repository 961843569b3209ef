#include "cairn/serve/api_server.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "cairn/base/check.h"
#include "cairn/serve/api_server_impl.h"
#include "cairn/serve/server_info.h"

namespace cairn {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kMetricsType = "text/plain; version=0.0.4; charset=utf-8";
constexpr const char* kStreamType = "text/event-stream";
// Of one request, in the engine's hands.
constexpr size_t kInputsAtOnce = 64;

// What waiting can't mend is the request's fault, not the load's.
ApiError RefusalOf(const AnswerEvent& event) {
  ApiError error = ErrorOf(event.problem);
  if (event.missing > Bytes(0)) {
    error.type = ApiErrorType::kStateBudget;
    error.missing_bytes = event.missing.value();
  }
  return error;
}

}  // namespace

// ---- Requests ----

void ApiServer::Impl::OnRequest(ExchangeId id, HttpRequest request) {
  const FoundRoute found = FindRoute(request.path, request.method);
  const Route* route = found.route;
  if (route == nullptr) {
    return AnswerError(id, nullptr,
                       {.type = ApiErrorType::kNotFound, .message = "no such path here"});
  }
  const std::optional<int> key = options_.keys.Find(request);
  if (route->needs_key && !key) {
    return AnswerError(id, route,
                       {.type = ApiErrorType::kAuthentication, .message = "Invalid API Key"});
  }
  if (!found.takes_method) {
    return AnswerError(id, route,
                       {.type = ApiErrorType::kMethod,
                        .message = fmt::format("{} takes {}", route->path, MethodsOf(*route))});
  }
  const std::string context(found.id);
  if (!context.empty()) {
    return DispatchContext(id, *route, context, std::move(request), key.value_or(0));
  }
  Dispatch(id, *route, std::move(request), key.value_or(0));
}

void ApiServer::Impl::Dispatch(ExchangeId id, const Route& route, HttpRequest request, int key) {
  switch (route.endpoint) {
    case Endpoint::kPage:
      return ShowPage(id, route, request);
    case Endpoint::kHealth:
      return Answer(id, route.path, {.body = HealthJson()});
    case Endpoint::kModels:
      return Answer(id, route.path, {.body = ModelsJson(model_)});
    case Endpoint::kProps:
      return Answer(id, route.path, {.body = PropsJson(model_)});
    case Endpoint::kMetrics:
    case Endpoint::kState:
      return Inspect(id, route);
    case Endpoint::kChat:
      return Work(id, route, std::move(request.body), PrepareChat, key);
    case Endpoint::kCompletion:
      return Work(id, route, std::move(request.body), PrepareCompletion, key);
    case Endpoint::kMessages:
      return Work(id, route, std::move(request.body), PrepareMessages, key);
    case Endpoint::kCountTokens:
      return WorkSmall(id, route, std::move(request.body), AnswerCountTokens);
    case Endpoint::kTokenize:
      return WorkSmall(id, route, std::move(request.body), AnswerTokenize);
    case Endpoint::kDetokenize:
      return WorkSmall(id, route, std::move(request.body), AnswerDetokenize);
    case Endpoint::kApplyTemplate:
      return WorkSmall(id, route, std::move(request.body), AnswerApplyTemplate);
    case Endpoint::kContextMake:
      if (const ApiResult<void> room = contexts_.CheckRoom(key, 1, 0); !room) {
        return AnswerError(id, &route, room.error());
      }
      return Work(id, route, std::move(request.body), PrepareContextMake, key);
    case Endpoint::kContextList:
      return ListContexts(id, route, key);
    case Endpoint::kEmbeddings:
      return Work(id, route, std::move(request.body), PrepareEmbeddings, key);
    case Endpoint::kContext:  // those with an id were dispatched by DispatchContext
    case Endpoint::kContextRelease:
    case Endpoint::kContextFork:
    case Endpoint::kContextAppend:
    case Endpoint::kContextRewind:
    case Endpoint::kContextTouch:
    case Endpoint::kNotOffered:
      return AnswerError(
          id, &route,
          {.type = ApiErrorType::kNotSupported, .message = "this server has no such page"});
  }
}

bool ApiServer::Impl::Admit(ExchangeId id, Pending pending) {
  if (static_cast<int64_t>(pending_.size()) >= options_.max_pending) {
    AnswerError(
        id, pending.route,
        {.type = ApiErrorType::kUnavailable,
         .message = fmt::format("{} requests wait to be read: try again", pending_.size())});
    return false;
  }
  pending.arrived_us = NowMicroseconds();
  pending_[id] = std::move(pending);
  return true;
}

void ApiServer::Impl::Work(ExchangeId id, const Route& route, std::string body, Prepare prepare,
                           int key) {
  if (!Admit(id, {.route = &route, .key = key})) return;
  Read(id, std::move(body), prepare, FactsFor(key), nullptr);
}

RequestFacts ApiServer::Impl::FactsFor(int key) const {
  RequestFacts facts{.key = key, .deadline_us = 0};
  if (options_.answer_timeout_us > 0) {
    facts.deadline_us = NowMicroseconds() + options_.answer_timeout_us;
  }
  return facts;
}

// A body may name a context: it is then read once more, with the context's text at hand.
void ApiServer::Impl::Read(ExchangeId id, std::string body, Prepare prepare, RequestFacts facts,
                           std::unique_ptr<const ContextText> context) {
  workers_->Run(
      [this, id, body = std::move(body), prepare, facts, context = std::move(context)]() mutable {
        facts.context = context.get();
        ApiResult<PreparedAnswer> prepared = prepare(model_, body, facts);
        http_->Post([this, id, body = std::move(body), prepare, facts,
                     prepared = std::move(prepared)]() mutable {
          if (prepared && prepared->renderer == nullptr) {
            return ReadOn(id, std::move(body), prepare, facts, *prepared->context);
          }
          Start(id, std::move(prepared));
        });
      });
}

void ApiServer::Impl::WorkSmall(ExchangeId id, const Route& route, std::string body, Small answer) {
  if (!Admit(id, {.route = &route, .is_small = true})) return;
  workers_->Run([this, id, &route, body = std::move(body), answer] {
    http_->Post([this, id, &route, answered = answer(model_, body)]() mutable {
      pending_.erase(id);
      if (!answered) return AnswerError(id, &route, answered.error());
      Answer(id, route.path, {.body = std::move(*answered)});
    });
  });
}

// ---- Answers ----

void ApiServer::Impl::Start(ExchangeId id, ApiResult<PreparedAnswer> prepared) {
  const auto found = pending_.find(id);
  if (found == pending_.end()) return;  // its client has left
  Pending pending = std::move(found->second);
  pending_.erase(found);
  if (!prepared) {
    EndUse(pending.context_use);
    return AnswerError(id, pending.route, prepared.error());
  }
  Answering& a = answering_[id];
  a.route = pending.route;
  a.key = pending.key;
  a.context_use = std::move(pending.context_use);
  a.arrived_us = pending.arrived_us;
  a.written_us = NowMicroseconds();
  a.prepared = std::move(*prepared);
  if (a.context_use) a.prepared.context->id = a.context_use->id;
  a.jobs_left = a.prepared.jobs.size();
  a.last_token_us.resize(a.jobs_left * static_cast<size_t>(a.prepared.answers_per_job));
  // Many texts to embed mustn't fill the queue by themselves.
  const size_t at_once = a.prepared.embeds ? kInputsAtOnce : a.jobs_left;
  while (a.next_job < std::min(at_once, a.prepared.jobs.size())) {
    if (!SubmitNext(id, a)) return;
  }
  if (a.jobs_left == 0) Finish(id);  // nothing has to be computed
}

bool ApiServer::Impl::SubmitNext(ExchangeId id, Answering& a) {
  const auto choice = static_cast<int>(a.next_job) * a.prepared.answers_per_job;
  const JobId job_id(next_job_++);
  if (!engine_->Submit(job_id, std::move(a.prepared.jobs[a.next_job++]))) {
    FailAnswer(id, {.type = ApiErrorType::kUnavailable,
                    .message = "as many requests wait as may be: try again"});
    return false;
  }
  a.jobs.push_back(job_id);
  jobs_[job_id] = {id, choice};
  return true;
}

void ApiServer::Impl::OnEvent(AnswerEvent& event) {
  const auto found = jobs_.find(event.job);
  if (found == jobs_.end()) return;
  const Place place = found->second;
  Answering& a = answering_.at(place.exchange);
  const int choice = place.first_choice + event.answer;
  switch (event.kind) {
    case AnswerEvent::Kind::kRefused:
      return FailAnswer(place.exchange, RefusalOf(event));
    case AnswerEvent::Kind::kPiece:
      return OnPiece(place.exchange, a, event, choice);
    case AnswerEvent::Kind::kEnded:
      return OnEnded(place.exchange, a, event, choice);
  }
}

void ApiServer::Impl::OnPiece(ExchangeId id, Answering& a, AnswerEvent& event, int choice) {
  int64_t& last_us = a.last_token_us[static_cast<size_t>(choice)];
  if (last_us != 0) metrics_.ObserveGap(event.time_us - last_us);
  last_us = event.time_us;
  if (!std::exchange(a.first_token, true)) {
    metrics_.ObserveFirstToken(event.time_us - a.arrived_us);
  }
  if (a.prepared.context) NoteAnswer(*a.prepared.context, event);
  Send(id, a, a.prepared.renderer->Piece(choice, std::move(event.piece)));
}

void ApiServer::Impl::OnEnded(ExchangeId id, Answering& a, AnswerEvent& event, int choice) {
  if (a.prepared.embeds) {
    metrics_.CountEmbedding(event.usage.prompt.value());
  } else {
    metrics_.CountAnswer(event.end.reason, event.tokens);
  }
  if (event.end.reason == GenerationEnd::kFailed) {
    return FailAnswer(id, {.type = ApiErrorType::kServer, .message = event.problem.message});
  }
  if (a.prepared.embeds && event.end.embedding.empty()) {
    return FailAnswer(id, {.type = ApiErrorType::kUnavailable,
                           .message = "the time for an answer is over: try again"});
  }
  a.usage.answer_tokens += event.tokens;
  a.usage.dropped_tokens += event.usage.dropped.value();
  if (a.prepared.context) NoteAnswer(*a.prepared.context, event);
  std::string events;
  if (!event.piece.text.empty() || !event.piece.tokens.empty()) {
    events = a.prepared.renderer->Piece(choice, std::move(event.piece));
  }
  events += a.prepared.renderer->End(choice, event.end);
  Send(id, a, std::move(events));
  if (!event.last) return;
  metrics_.CountPrompt(event.usage);
  metrics_.ObserveQueue(event.usage.queued_us);
  a.usage.Add(event.usage);
  jobs_.erase(event.job);
  if (--a.jobs_left == 0) return Finish(id);
  if (a.next_job < a.prepared.jobs.size()) SubmitNext(id, a);
}

// Begins the stream with the first thing there is to send.
void ApiServer::Impl::Send(ExchangeId id, Answering& a, std::string events) {
  if (!a.prepared.stream || events.empty()) return;
  if (!std::exchange(a.begun, true)) {
    http_->StartStream(id, kStreamType);
    events.insert(0, a.prepared.renderer->Begin());
  }
  a.written_us = NowMicroseconds();
  http_->Write(id, std::move(events));
}

void ApiServer::Impl::Finish(ExchangeId id) {
  Answering& a = answering_.at(id);
  if (a.prepared.context) return Settle(id, a);
  Complete(id);
}

void ApiServer::Impl::Complete(ExchangeId id) {
  Answering& a = answering_.at(id);
  a.usage.total_us = NowMicroseconds() - a.arrived_us;
  metrics_.ObserveRequest(a.usage.total_us);
  std::string last = a.prepared.renderer->Finish(a.usage);
  if (a.prepared.stream) {
    Send(id, a, std::move(last));
    http_->EndStream(id);
    metrics_.CountRequest(a.route->path, 200);
  } else {
    Answer(id, a.route->path, {.body = std::move(last)});
  }
  Forget(id);
}

// One of the jobs can't be answered, so the request can't.
void ApiServer::Impl::FailAnswer(ExchangeId id, const ApiError& error) {
  Answering& a = answering_.at(id);
  if (a.begun) {
    http_->Write(id, a.prepared.renderer->StreamError(error));
    http_->EndStream(id);
    metrics_.CountRequest(a.route->path, error.status());
  } else {
    AnswerError(id, a.route, error);
  }
  Forget(id);
}

void ApiServer::Impl::Forget(ExchangeId id) {
  const auto found = answering_.find(id);
  for (const JobId job : found->second.jobs) {
    if (jobs_.erase(job) > 0) engine_->Cancel(job);
  }
  EndUse(found->second.context_use);
  answering_.erase(found);
}

void ApiServer::Impl::OnLeft(ExchangeId id) {
  const auto pending = pending_.find(id);
  const auto found = answering_.find(id);
  const Route* route = nullptr;
  if (pending != pending_.end() && !pending->second.is_small) {
    route = pending->second.route;
    EndUse(pending->second.context_use);
    pending_.erase(pending);
  } else if (found != answering_.end()) {
    route = found->second.route;
    Forget(id);
  } else {
    return;  // a quick answer is given to whoever still reads
  }
  metrics_.CountRequest(route->path, ApiError{.type = ApiErrorType::kLeft}.status());
  http_->Abort(id);
}

void ApiServer::Impl::OnTick() {
  ExpireContexts();
  const int64_t now_us = NowMicroseconds();
  for (auto& [id, a] : answering_) {
    if (!a.prepared.stream || now_us - a.written_us < options_.ping_every_us) continue;
    Send(id, a, ": still here\n\n");  // a comment: proxies see that the connection lives
  }
}

void ApiServer::Impl::OnSignal() {
  if (++signals_ > 1) return http_->Stop();
  const int64_t until_us = NowMicroseconds() + options_.drain_us;
  if (options_.on_drain) options_.on_drain();
  engine_->Drain(until_us);
  // Answers that are cut at that time still have to be sent.
  http_->Drain(until_us + options_.drain_us / 10);
}

// ---- What is told about the server itself ----

void ApiServer::Impl::ShowPage(ExchangeId id, const Route& route, const HttpRequest& request) {
  const auto page = std::ranges::find(options_.pages, route.path, &WebPage::path);
  if (page == options_.pages.end()) {
    return AnswerError(
        id, &route,
        {.type = ApiErrorType::kNotSupported, .message = "this server has no such page"});
  }
  Answer(id, route.path, RespondWithPage(*page, request.Header("If-None-Match")));
}

void ApiServer::Impl::Inspect(ExchangeId id, const Route& route) {
  engine_->Inspect([this, id, &route](const Engine& engine) {
    StateFigures state;
    if (options_.state_figures) state = options_.state_figures();
    if (route.endpoint == Endpoint::kState && options_.state_details) options_.state_details(state);
    state.contexts.pinned_bytes = engine.PinnedBytes().value();
    http_->Post([this, id, &route, stats = engine.stats(), state = std::move(state)]() mutable {
      state.contexts.count = contexts_.size();
      state.contexts.pinned = contexts_.pinned();
      state.contexts.pinned_bytes_max = contexts_.limits().pinned_bytes;
      if (route.endpoint == Endpoint::kState) {
        return Answer(id, route.path, {.body = StateReportJson(state, stats)});
      }
      Answer(id, route.path,
             {.content_type = kMetricsType,
              .body = metrics_.Render(stats, state, http_->stats(), engine_->jobs()),
              .headers = {{"Process-Start-Time-Unix", std::to_string(started_unix_s_)}}});
    });
  });
}

void ApiServer::Impl::Answer(ExchangeId id, std::string_view route, HttpResponse response) {
  metrics_.CountRequest(route, response.status);
  http_->Respond(id, std::move(response));
}

void ApiServer::Impl::AnswerError(ExchangeId id, const Route* route, const ApiError& error) {
  HttpResponse response;
  response.status = error.status();
  const bool anthropic = route != nullptr && route->is_anthropic;
  response.body = anthropic ? AnthropicErrorJson(error) : OpenAiErrorJson(error);
  if (error.type == ApiErrorType::kMethod) {
    response.headers.emplace_back("Allow", MethodsOf(*route));
  }
  if (error.type == ApiErrorType::kAuthentication) {
    response.headers.emplace_back("WWW-Authenticate", "Bearer");
  }
  if (error.type == ApiErrorType::kUnavailable) response.headers.emplace_back("Retry-After", "1");
  Answer(id, route == nullptr ? "other" : route->path, std::move(response));
}

// ---- The public face ----

ApiServer::ApiServer(const ServedModel& model, ApiServerOptions options)
    : impl_(std::make_unique<Impl>(model, std::move(options))) {}
ApiServer::~ApiServer() = default;

void ApiServer::Attach(HttpServer& http, EngineService& engine) { impl_->Attach(http, engine); }
void ApiServer::Detach() { impl_->Detach(); }
void ApiServer::OnRequest(ExchangeId id, HttpRequest request) {
  impl_->OnRequest(id, std::move(request));
}
void ApiServer::OnLeft(ExchangeId id) { impl_->OnLeft(id); }
void ApiServer::OnTick() { impl_->OnTick(); }
void ApiServer::OnSignal() { impl_->OnSignal(); }
void ApiServer::OnAnswerEvents(std::vector<AnswerEvent> events) {
  impl_->OnAnswerEvents(std::move(events));
}

}  // namespace cairn
