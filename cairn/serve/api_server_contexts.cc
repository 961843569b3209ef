// Of ApiServer: contexts, from their paths to their ends.
//
// The table is the loop's own; pins are the engine's. What the loop asks of the engine it does in
// the order of asking, so a pin that the table still has can be looked at.
#include <algorithm>
#include <utility>

#include "cairn/base/check.h"
#include "cairn/serve/api_keys.h"
#include "cairn/serve/api_server_impl.h"

namespace cairn {
namespace {

// Of those that the loop reads itself.
constexpr size_t kMaxSmallBody = size_t{64} << 10;

ApiError NoContext() {
  return {.type = ApiErrorType::kNotFound,
          .message = "there is no such context, or not any more",
          .param = "context"};
}

std::string TenantOfText(int key, const ContextText& text) {
  return TenantOf(key, text.cache_salt);
}

std::string OneJson(const std::vector<ContextFacts>& facts) { return ContextJson(facts.front()); }

}  // namespace

// ---- Requests ----

void ApiServer::Impl::DispatchContext(ExchangeId id, const Route& route, std::string_view context,
                                      HttpRequest request, int key) {
  const ServedContext* found = contexts_.Find(key, context, ContextNow());
  if (found == nullptr) return AnswerError(id, &route, NoContext());
  ContextPlan plan{.kind = ContextPlan::Kind::kAppend, .id = found->id};
  switch (route.endpoint) {
    case Endpoint::kContextAppend:
      return WorkOn(id, route, std::move(request.body), PrepareContextAppend, key, plan);
    case Endpoint::kContextRewind:
      return WorkOn(id, route, std::move(request.body), PrepareContextRewind, key, plan);
    case Endpoint::kContextFork:
      plan.kind = ContextPlan::Kind::kFork;
      return WorkOn(id, route, std::move(request.body), PrepareContextFork, key, plan);
    case Endpoint::kContextTouch:
      return TouchContext(id, route, *found, request.body);
    case Endpoint::kContextRelease:
      return ReleaseContext(id, route, *found, request.body);
    default:
      break;
  }
  std::vector<ContextFacts> facts = {FactsOf(contexts_, *found, ContextNow())};
  AnswerFacts(id, route, std::move(facts), OneJson);
}

void ApiServer::Impl::WorkOn(ExchangeId id, const Route& route, std::string body, Prepare prepare,
                             int key, const ContextPlan& plan) {
  if (!Admit(id, {.route = &route, .key = key})) return;
  ReadOn(id, std::move(body), prepare, FactsFor(key), plan);
}

void ApiServer::Impl::ReadOn(ExchangeId id, std::string body, Prepare prepare, RequestFacts facts,
                             const ContextPlan& plan) {
  const auto pending = pending_.find(id);
  if (pending == pending_.end()) return;  // its client has left
  ApiResult<ContextTable::Use> use = contexts_.Begin(facts.key, plan.id, plan.use(), ContextNow());
  if (!use) {
    const Route* route = pending->second.route;
    pending_.erase(pending);
    return AnswerError(id, route, use.error());
  }
  pending->second.context_use = std::move(*use);
  const ServedContext* context = contexts_.Find(facts.key, plan.id, ContextNow());
  CAIRN_CHECK(context != nullptr);
  Read(id, std::move(body), prepare, facts, std::make_unique<const ContextText>(context->text));
}

// What their pins hold the engine knows.
void ApiServer::Impl::AnswerFacts(
    ExchangeId id, const Route& route, std::vector<ContextFacts> facts,
    std::move_only_function<std::string(const std::vector<ContextFacts>&)> json) {
  engine_->Inspect([this, id, &route, facts = std::move(facts),
                    json = std::move(json)](const Engine& engine) mutable {
    for (ContextFacts& each : facts) {
      if (each.pin_id) each.pinned = engine.UseOf(*each.pin_id);
    }
    http_->Post([this, id, &route, body = json(facts)]() mutable {
      Answer(id, route.path, {.body = std::move(body)});
    });
  });
}

void ApiServer::Impl::TouchContext(ExchangeId id, const Route& route, const ServedContext& context,
                                   std::string_view body) {
  if (body.size() > kMaxSmallBody) {
    return AnswerError(id, &route, RefuseField("body", "is longer than any that is right").error());
  }
  const ApiResult<ContextTouch> touch = ParseContextTouch(body);
  if (!touch) return AnswerError(id, &route, touch.error());
  const ApiResult<int64_t> ttl_us = TtlOf(touch->ttl_us, context.options.ttl_us);
  if (!ttl_us) return AnswerError(id, &route, ttl_us.error());
  contexts_.Touch(context.id, *ttl_us, ContextNow());
  std::vector<ContextFacts> facts = {FactsOf(contexts_, context, ContextNow())};
  AnswerFacts(id, route, std::move(facts), OneJson);
}

// Answers that go on from it come to their ends; what one would append has no place any more.
void ApiServer::Impl::ReleaseContext(ExchangeId id, const Route& route,
                                     const ServedContext& context, std::string_view body) {
  if (body.size() > kMaxSmallBody) {
    return AnswerError(id, &route, RefuseField("body", "is longer than any that is right").error());
  }
  const ApiResult<ContextRelease> release = ParseContextRelease(body);
  if (!release) return AnswerError(id, &route, release.error());
  const TokenCount shared = contexts_.SharedTokens(context);
  engine_->Tell([this, id, &route, forget = release->forget, shared,
                 context = contexts_.Remove(context.id)](Engine& engine) {
    ContextGone gone{.id = context.id};
    if (context.pin) {
      gone.unpinned_bytes = engine.UseOf(*context.pin).alone.value();
      engine.Unpin(*context.pin);
    }
    if (forget) {
      const std::string tenant = TenantOfText(context.key, context.text);
      gone.forgotten_bytes = engine.Forget(tenant, context.text.tokens, shared).value();
    }
    http_->Post([this, id, &route, gone = std::move(gone)] {
      Answer(id, route.path, {.body = ContextGoneJson(gone)});
    });
  });
}

void ApiServer::Impl::ListContexts(ExchangeId id, const Route& route, int key) {
  const int64_t now_us = ContextNow();
  std::vector<ContextFacts> facts;
  for (const ServedContext* each : contexts_.Of(key, now_us)) {
    facts.push_back(FactsOf(contexts_, *each, now_us));
  }
  AnswerFacts(id, route, std::move(facts), ContextListJson);
}

// ---- What follows a request's jobs ----

void ApiServer::Impl::NoteAnswer(ContextPlan& plan, const AnswerEvent& event) {
  if (plan.kind != ContextPlan::Kind::kAppendAnswer) return;
  plan.answer.text += event.piece.text;
  if (event.kind == AnswerEvent::Kind::kEnded) plan.answer.tokens = event.answer_tokens;
}

ApiResult<int64_t> ApiServer::Impl::TtlOf(std::optional<int64_t> asked_us,
                                          int64_t otherwise_us) const {
  const int64_t most_us = contexts_.limits().ttl_max_us;
  if (asked_us && *asked_us > most_us) {
    return RefuseField("ttl_s", fmt::format("at most {} can be", most_us / 1'000'000));
  }
  return std::min(asked_us.value_or(otherwise_us), most_us);
}

bool ApiServer::Impl::WantsPin(const Answering& a) const {
  const ContextPlan& plan = *a.prepared.context;
  if (plan.kind == ContextPlan::Kind::kMake) return plan.pin.value_or(false);
  const ServedContext* context = contexts_.Find(a.key, plan.id, ContextNow());
  if (context == nullptr) return false;
  return plan.kind == ContextPlan::Kind::kFork ? plan.pin.value_or(context->options.pin)
                                               : context->options.pin;
}

ApiResult<void> ApiServer::Impl::CheckPlan(const Answering& a) const {
  const ContextPlan& plan = *a.prepared.context;
  const ServedContext* context = contexts_.Find(a.key, plan.id, ContextNow());
  switch (plan.kind) {
    case ContextPlan::Kind::kMake:
      CAIRN_TRY(TtlOf(plan.ttl_us, contexts_.limits().ttl_us));
      return contexts_.CheckRoom(a.key, 1, plan.text.Bytes());
    case ContextPlan::Kind::kFork:
      if (context == nullptr) return std::unexpected(NoContext());
      CAIRN_TRY(TtlOf(plan.ttl_us, context->options.ttl_us));
      return contexts_.CheckRoom(a.key, plan.count, plan.text.Bytes() * plan.count);
    case ContextPlan::Kind::kAppend:
      if (context == nullptr) return std::unexpected(NoContext());
      return contexts_.CheckRoom(a.key, 0,
                                 std::max<int64_t>(plan.text.Bytes() - context->text.Bytes(), 0));
    case ContextPlan::Kind::kAnswer:
    case ContextPlan::Kind::kAppendAnswer:
      return {};
  }
  return {};
}

void ApiServer::Impl::Settle(ExchangeId id, Answering& a) {
  ContextPlan& plan = *a.prepared.context;
  if (const ApiResult<void> room = CheckPlan(a); !room) return FailAnswer(id, room.error());
  if (plan.kind == ContextPlan::Kind::kAnswer) return Apply(id, {});
  if (plan.kind == ContextPlan::Kind::kAppendAnswer) {
    plan.answer.calls = a.prepared.renderer->CallsOf(0);
    plan.text = AddAnswer(model_, std::move(plan.text), plan.answer);
  }
  if (!WantsPin(a)) return Apply(id, {});
  engine_->Tell([this, id, tenant = TenantOfText(a.key, plan.text), tokens = plan.text.tokens,
                 count = plan.count, most = contexts_.limits().pinned_bytes](Engine& engine) {
    Pinned pinned;
    const Bytes before = engine.PinnedBytes();
    for (int64_t i = 0; i < count; ++i) pinned.pins.push_back(engine.Pin(tenant, tokens));
    pinned.bytes = engine.PinnedBytes();
    pinned.refused = pinned.bytes.value() > most && pinned.bytes > before;
    if (pinned.refused) {
      for (const PinId pin : std::exchange(pinned.pins, {})) engine.Unpin(pin);
    }
    http_->Post([this, id, pinned = std::move(pinned)]() mutable { Apply(id, std::move(pinned)); });
  });
}

void ApiServer::Impl::Apply(ExchangeId id, Pinned pinned) {
  const auto found = answering_.find(id);
  if (found == answering_.end()) return Unpin(std::move(pinned.pins));  // its client has left
  Answering& a = found->second;
  const ContextPlan::Kind kind = a.prepared.context->kind;
  if (pinned.refused && kind != ContextPlan::Kind::kAppendAnswer) {
    const int64_t most = contexts_.limits().pinned_bytes;
    return FailAnswer(
        id, {.type = ApiErrorType::kRateLimit,
             .message = fmt::format("with this context {} bytes of state would be pinned, and at "
                                    "most {} may be: release some, or do without \"pin\"",
                                    pinned.bytes.value(), most)});
  }
  if (kind == ContextPlan::Kind::kMake || kind == ContextPlan::Kind::kFork) {
    return AddContexts(id, a, pinned);
  }
  ChangeContext(id, a, pinned);
}

void ApiServer::Impl::AddContexts(ExchangeId id, Answering& a, const Pinned& pinned) {
  const ContextPlan& plan = *a.prepared.context;
  if (const ApiResult<void> room = CheckPlan(a); !room) {  // others have come meanwhile
    Unpin(pinned.pins);
    return FailAnswer(id, room.error());
  }
  const int64_t now_us = ContextNow();
  ContextOptions options{.ttl_us = contexts_.limits().ttl_us, .pin = WantsPin(a)};
  const ServedContext* parent = contexts_.Find(a.key, plan.id, now_us);
  if (parent != nullptr) options.ttl_us = parent->options.ttl_us;
  options.ttl_us = plan.ttl_us.value_or(options.ttl_us);
  std::vector<std::string> ids;
  for (size_t i = 0; i < static_cast<size_t>(plan.count); ++i) {
    std::optional<PinId> pin;
    if (i < pinned.pins.size()) pin = pinned.pins[i];
    ids.push_back(contexts_.Add(a.key, plan.text, options, plan.id, pin, now_us));
  }
  if (plan.kind == ContextPlan::Kind::kMake) return AnswerContext(id, a, ids.front());
  std::vector<ContextFacts> facts;
  for (const std::string& each : ids) {
    facts.push_back(FactsOf(contexts_, *contexts_.Find(a.key, each, now_us), now_us));
  }
  const Route& route = *a.route;
  Forget(id);
  AnswerFacts(id, route, std::move(facts), ContextListJson);
}

void ApiServer::Impl::ChangeContext(ExchangeId id, Answering& a, const Pinned& pinned) {
  ContextPlan& plan = *a.prepared.context;
  bool there = true;
  if (plan.kind != ContextPlan::Kind::kAnswer) {
    std::optional<PinId> pin;
    if (!pinned.pins.empty()) pin = pinned.pins.front();
    const ContextTable::Changed changed =
        contexts_.Change(*a.context_use, std::move(plan.text), pin);
    there = changed.there;
    if (changed.old_pin) Unpin({*changed.old_pin});
    if (!there) Unpin(pinned.pins);
  }
  if (plan.kind == ContextPlan::Kind::kAppend) {
    return there ? AnswerContext(id, a, plan.id) : FailAnswer(id, NoContext());
  }
  const ServedContext* context = contexts_.Find(a.key, plan.id, ContextNow());
  a.usage.context = ContextNote{.id = plan.id,
                                .tokens = context == nullptr ? 0 : context->text.size(),
                                .kept_tokens = plan.kept_tokens,
                                .appended = there && plan.kind == ContextPlan::Kind::kAppendAnswer};
  Complete(id);
}

void ApiServer::Impl::AnswerContext(ExchangeId id, Answering& a, const std::string& context) {
  const int64_t now_us = ContextNow();
  std::vector<ContextFacts> facts = {
      FactsOf(contexts_, *contexts_.Find(a.key, context, now_us), now_us)};
  metrics_.ObserveRequest(NowMicroseconds() - a.arrived_us);
  ContextReading reading{.usage = a.usage, .kept_tokens = a.prepared.context->kept_tokens};
  const Route& route = *a.route;
  Forget(id);
  AnswerFacts(id, route, std::move(facts),
              [reading = std::move(reading)](const std::vector<ContextFacts>& filled) {
                return ContextJson(filled.front(), &reading);
              });
}

// ---- Ends ----

void ApiServer::Impl::Unpin(std::vector<PinId> pins) {
  if (pins.empty()) return;
  engine_->Tell([pins = std::move(pins)](Engine& engine) {
    for (const PinId pin : pins) engine.Unpin(pin);
  });
}

void ApiServer::Impl::EndUse(std::optional<ContextTable::Use>& use) {
  if (use) contexts_.End(*use, ContextNow());
  use.reset();
}

void ApiServer::Impl::ExpireContexts() {
  std::vector<PinId> pins;
  for (const ServedContext& each : contexts_.Expire(ContextNow())) {
    if (each.pin) pins.push_back(*each.pin);
  }
  Unpin(std::move(pins));
}

}  // namespace cairn
