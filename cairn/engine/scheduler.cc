#include "cairn/engine/scheduler.h"

#include <algorithm>
#include <utility>

#include "cairn/base/check.h"
#include "cairn/base/env.h"
#include "cairn/engine/check_request.h"
#include "cairn/engine/prefix_sharing.h"
#include "cairn/engine/state_identity.h"

namespace cairn {
namespace {

// Rows of logits in memory at once; the output matrix is read once for so many answers.
constexpr int64_t kLogitRows = 32;

EngineOptions WithClock(EngineOptions options) {
  if (!options.now_us) options.now_us = NowMicroseconds;
  return options;
}

// No tenant can have this key: its positions aren't any model's.
StateKey AloneKey(StateIdentity identity, const StateSpec& spec) {
  identity.positions += "/alone";
  return KeyOf(identity, spec);
}

}  // namespace

Result<std::unique_ptr<Engine>> MakeEngine(Model& model, StateManager& state,
                                           EngineOptions options) {
  CAIRN_CHECK(model.layout().spec() == state.store().layout().spec());
  const auto check = [](int64_t value, int64_t most, const char* name) -> Status {
    if (value >= 1 && value <= most) return {};
    return Fail(ErrorCode::kInvalidArgument, "{} {} is out of range: it must be in [1, {}]", name,
                value, most);
  };
  constexpr int64_t kMany = int64_t{1} << 20;
  CAIRN_TRY(check(options.context.value(), kMaxStateTokens.value() - kRowsPerBlock, "context"));
  CAIRN_TRY(check(options.max_running, kMany, "running answers"));
  CAIRN_TRY(check(options.max_waiting, kMany, "waiting generations"));
  CAIRN_TRY(check(options.step_tokens.value(), kMany, "tokens of a step"));
  if (options.target_step_us < 0) {
    return Fail(ErrorCode::kInvalidArgument,
                "a step's target of {} us is out of range: it must be 0 or more",
                options.target_step_us);
  }
  if (options.target_gap != 0 && !(options.target_gap > 1)) {
    return Fail(ErrorCode::kInvalidArgument,
                "a gap of {} times a step is out of range: it must be more than 1, or 0",
                options.target_gap);
  }
  return std::unique_ptr<Engine>(std::make_unique<Scheduler>(model, state, std::move(options)));
}

Scheduler::Scheduler(Model& model, StateManager& state, EngineOptions options)
    : model_(model),
      state_(state),
      options_(WithClock(std::move(options))),
      most_running_(std::min(options_.max_running, options_.step_tokens.value())),
      needs_(model.layout(), options_.context),
      alone_key_(AloneKey(IdentityOf(model.spec(), options_.context, options_.weights),
                          model.layout().spec())),
      slices_(model.CanSlice() && std::ssize(model.spec().layers) > 1 &&
              model.layout().fixed_bytes() == Bytes(0)),
      tenants_(IdentityOf(model.spec(), options_.context, options_.weights), model.layout().spec()),
      cost_(options_.target_step_us, options_.target_gap) {
  const auto rows = static_cast<size_t>(std::min(most_running_, kLogitRows));
  logits_.resize(rows * static_cast<size_t>(model.spec().vocabulary));
}

Scheduler::~Scheduler() {
  for (const Answer* answer : running_) state_.Drop(*answer->lease);
}

// ---- Submit ----

// The last token of an answer is never read.
TokenCount Scheduler::MostRead(const GenerationRequest& request) const {
  const TokenCount prompt(static_cast<int64_t>(request.prompt.size()));
  const int64_t room = options_.context.value() - prompt.value();
  return prompt + TokenCount(std::max<int64_t>(std::min(request.max_tokens, room) - 1, 0));
}

Bytes Scheduler::MissingBytes(const GenerationRequest& request) const {
  const Bytes need = needs_.Alone(std::min(MostRead(request), options_.context));
  return std::max(need - state_.store().stats().budget, Bytes(0));
}

Status Scheduler::CheckRoom(const GenerationRequest& request) const {
  const Bytes missing = MissingBytes(request);
  if (missing == Bytes(0)) return {};
  const Bytes budget = state_.store().stats().budget;
  return Fail(ErrorCode::kUnsupported,
              "the state of {} tokens takes {} bytes and the budget is {}: {} bytes are missing; a "
              "shorter prompt, fewer tokens or a larger budget would be right",
              MostRead(request).value(), (budget + missing).value(), budget.value(),
              missing.value());
}

Result<GenerationId> Scheduler::Submit(GenerationRequest request, GenerationListener& listener) {
  Status status = CheckRequest(request, model_.spec(), options_.context);
  if (status) status = CheckRoom(request);
  std::unique_ptr<TokenPolicy> policy;
  if (status && request.policy) {
    policy = MakeTokenPolicy(*request.policy);
    const auto watcher = model_.WatchRows(*policy);
    if (!watcher) status = Fail(ErrorCode::kInvalidArgument, "{}", watcher.error().message);
  }
  if (status && draining_) {
    status = Fail(ErrorCode::kCancelled, "nothing new is begun: the engine is shutting down");
  }
  if (status && static_cast<int64_t>(waiting_.size()) >= options_.max_waiting) {
    status =
        Fail(ErrorCode::kExhausted,
             "the queue is full: {} wait already; ask again when some have ended", waiting_.size());
  }
  if (!status) {
    ++stats_.refused;
    return std::unexpected(std::move(status.error()));
  }
  auto owned = std::make_unique<Generation>();
  Generation& generation = *owned;
  generation.id = GenerationId(next_id_++);
  generation.request = std::move(request);
  generation.prompt = TokenCount(static_cast<int64_t>(generation.request.prompt.size()));
  generation.listener = &listener;
  generation.tenant = &tenants_.Enter(generation.request.tenant);
  generation.policy = std::move(policy);
  generation.submitted_us = options_.now_us();
  generation.usage.prompt = generation.prompt;
  for (int32_t i = 0; i < generation.request.answers; ++i) {
    generation.answers.push_back(std::make_unique<Answer>(generation, i, generation.request));
  }
  Answer& first = *generation.answers.front();
  first.tokens = std::move(generation.request.prompt);
  if (generation.request.embedding) {
    generation.pooled.emplace(*generation.request.embedding);
    first.alone = true;
  }
  if (generation.policy && generation.policy->needs().AllQueries()) first.alone = true;
  generations_.emplace(generation.id, std::move(owned));
  Wait(first);
  WaitForRunning(first);
  ++stats_.submitted;
  ++stats_.waiting;
  return generation.id;
}

void Scheduler::Cancel(GenerationId id) {
  const auto found = generations_.find(id);
  if (found != generations_.end()) found->second->cancelled = true;
}

void Scheduler::Drain(int64_t deadline_us) {
  draining_ = true;
  drain_deadline_us_ = deadline_us;
}

// ---- State that is held ----

PinId Scheduler::Pin(const std::string& tenant, std::span<const TokenId> tokens) {
  return state_.Pin(tenants_.StateKeyOf(tenant), tokens);
}

Bytes Scheduler::Forget(const std::string& tenant, std::span<const TokenId> tokens,
                        TokenCount keep) {
  return state_.ForgetAll(tenants_.StateKeyOf(tenant), tokens, keep);
}

// ---- Ends ----

void Scheduler::EndOverdue() {
  const int64_t now_us = options_.now_us();
  const bool all = draining_ && drain_deadline_us_ > 0 && now_us >= drain_deadline_us_;
  for (const auto& [id, generation] : generations_) {
    const int64_t deadline_us = generation->request.deadline_us;
    if (generation->cancelled) {
      EndAll(*generation, GenerationEnd::kCancelled, {});
    } else if (all || (deadline_us > 0 && now_us >= deadline_us)) {
      EndAll(*generation, GenerationEnd::kDeadline, {});
    }
  }
}

void Scheduler::EndAll(Generation& generation, GenerationEnd reason, std::string_view problem) {
  for (const auto& answer : generation.answers) {
    if (answer->stage != Answer::Stage::kEnded) End(*answer, reason, problem);
  }
}

// What is known of an answer that may help to tell when somebody asks on.
Turn Scheduler::TurnOf(const Answer& answer, GenerationEnd reason) const {
  Turn turn{.end = TurnEnd::kUnknown, .answer = TokenCount(answer.produced)};
  const Generation& generation = *answer.generation;
  if (reason == GenerationEnd::kEnd || reason == GenerationEnd::kStopped) {
    turn.end = generation.listener->CallsTool(generation.id, answer.index) ? TurnEnd::kToolCall
                                                                           : TurnEnd::kEndOfTurn;
  } else if (reason == GenerationEnd::kLength || reason == GenerationEnd::kContext) {
    turn.end = TurnEnd::kLength;
  }
  return turn;
}

void Scheduler::End(Answer& answer, GenerationEnd reason, std::string_view problem) {
  Generation& generation = *answer.generation;
  GenerationUsage usage = generation.usage;
  usage.dropped = answer.dropped;
  if (answer.lease) GiveBack(answer, TurnOf(answer, reason));
  if (answer.stage == Answer::Stage::kWaiting) std::erase(waiting_, &answer);
  answer.stage = Answer::Stage::kEnded;
  answer.waits_for = nullptr;
  short_of_bytes_ = false;
  const bool last = ++generation.ended == generation.answers.size();
  if (last) {
    CountEnd(reason);
    tenants_.Leave(*generation.tenant);
    ended_.push_back(generation.id);
  }
  generation.listener->OnEnd({.id = generation.id,
                              .answer = answer.index,
                              .reason = reason,
                              .tokens = answer.produced,
                              .last = last,
                              .problem = std::string(problem),
                              .usage = usage});
}

void Scheduler::CountEnd(GenerationEnd reason) {
  switch (reason) {
    case GenerationEnd::kEnd:
    case GenerationEnd::kLength:
    case GenerationEnd::kContext:
    case GenerationEnd::kStopped:
      ++stats_.finished;
      break;
    case GenerationEnd::kCancelled:
    case GenerationEnd::kDeadline:
      ++stats_.cancelled;
      break;
    case GenerationEnd::kFailed:
      ++stats_.failed;
      break;
  }
}

void Scheduler::Sweep() {
  for (const GenerationId id : ended_) generations_.erase(id);
  ended_.clear();
  stats_.waiting = static_cast<int64_t>(waiting_.size());
  stats_.running = static_cast<int64_t>(running_.size());
}

// ---- Step ----

Engine::Progress Scheduler::Step() {
  ++step_;
  waits_for_others_ = false;
  const int64_t start_us = options_.now_us();
  state_.Poll(start_us);
  EndOverdue();
  Plan();
  PrepareBatch();
  Progress progress = Progress::kComputed;
  if (!batch_.empty()) {
    Compute(start_us);
  } else if (generations_.size() == ended_.size()) {
    progress = state_.idle() ? Progress::kIdle : Progress::kWaiting;
  } else if (waits_for_others_ ||
             std::ranges::any_of(running_, [](const Answer* a) { return !a->ready; })) {
    progress = Progress::kWaiting;
  }
  Sweep();
  return progress;
}

void Scheduler::Audit() const {
  size_t waiting = 0;
  size_t running = 0;
  for (const auto& [id, generation] : generations_) {
    for (const auto& answer : generation->answers) {
      waiting += answer->stage == Answer::Stage::kWaiting ? 1 : 0;
      running += answer->stage == Answer::Stage::kRunning ? 1 : 0;
      CAIRN_CHECK((answer->stage == Answer::Stage::kRunning) == answer->lease.has_value());
      if (answer->waits_for == nullptr) continue;
      CAIRN_CHECK(answer->stage == Answer::Stage::kWaiting);
      CAIRN_CHECK(answer->waits_for->lease && answer->waits_for->kept < answer->waits_until);
    }
  }
  CAIRN_CHECK(waiting == waiting_.size() && running == running_.size());
  CAIRN_CHECK(std::ranges::is_sorted(
      running_, [](const Answer* a, const Answer* b) { return Precedes(*a, *b); }));
  for (const Answer* answer : running_) {
    if (!answer->ready) continue;
    CAIRN_CHECK(answer->read < answer->size());
    CAIRN_CHECK(state_.store().Length(state_.Sequence(*answer->lease)) == answer->read);
  }
  if (piece_) {
    const BatchItem& item = piece_->item;
    CAIRN_CHECK(slices_ && item.layers.end > 0 && !Ends(item));
    CAIRN_CHECK(std::ranges::find(running_, item.answer) != running_.end());
    CAIRN_CHECK(item.tokens > TokenCount(0) && item.tokens <= item.answer->unread());
  }
  state_.Audit();
}

}  // namespace cairn
