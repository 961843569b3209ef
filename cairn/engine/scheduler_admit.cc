#include <algorithm>
#include <utility>

#include "cairn/base/check.h"
#include "cairn/engine/prefix_sharing.h"
#include "cairn/engine/scheduler.h"

namespace cairn {
namespace {

// Bytes for so many more tokens of each running answer must be there before another begins, so
// that it needn't go again soon.
constexpr TokenCount kHeadroom{64};

}  // namespace

// ---- Whether there is room ----

bool Scheduler::MakeWayFor(const Answer& answer) {
  if (running_.empty()) return false;
  Answer& last = *running_.back();
  if (last.generation->request.priority >= answer.generation->request.priority) return false;
  Preempt(last);
  return true;
}

TokenCount Scheduler::LastLength(const Answer& answer) const {
  const Generation& generation = *answer.generation;
  const TokenCount room = options_.context - generation.prompt;
  return generation.prompt + std::min(room, TokenCount(generation.request.max_tokens));
}

// Besides what it shares with others, and with a copy of windows and Fixed components for each
// length that was, or soon will be, kept on its way.
Bytes Scheduler::NeedOf(const Answer& answer, TokenCount shared) const {
  const Generation& generation = *answer.generation;
  const TokenCount soon = std::min(LastLength(answer), answer.size() + kHeadroom);
  const TokenCount tokens = std::max(answer.size(), soon);
  if (answer.lost_rows) {
    const DroppedRows& lost = *state_.store().Dropped(state_.Sequence(*answer.lease));
    return model_.layout().AllocatedBytesWithout(lost.rows, tokens, TokenCount(0));
  }
  const Bytes own = model_.layout().AllocatedBytes(tokens) - needs_.Rows(std::min(shared, tokens));
  if (answer.alone) return own;
  return own + needs_.Point(generation.prompt) * std::max<int64_t>(answer.points, 1);
}

// What is kept and not on the way of a running answer can go, so only those count. An estimate: if
// it is too low, Prepare will say so.
bool Scheduler::Fits(const Answer& answer) const {
  Bytes need = NeedOf(answer, LongestShared(answer, running_).tokens);
  for (const Answer* other : running_) need += NeedOf(*other, other->shares);
  return need <= state_.store().stats().budget;
}

bool Scheduler::Admit(Answer& answer) {
  if (short_of_bytes_ && !running_.empty() && !MakeWayFor(answer)) return false;
  while (static_cast<int64_t>(running_.size()) >= most_running_) {
    if (!MakeWayFor(answer)) return false;
  }
  while (!running_.empty() && !Fits(answer)) {
    if (!MakeWayFor(answer)) return false;
  }
  return OpenLease(answer);
}

bool Scheduler::OpenLease(Answer& answer) {
  while (true) {
    const StateKey& key = answer.alone ? alone_key_ : answer.generation->tenant->key;
    const auto begun = static_cast<size_t>(answer.MostResumed().value()) + 1;
    const Result<LeaseId> lease =
        state_.Open(key, std::span(answer.tokens).first(begun), options_.now_us());
    if (lease) {
      Run(answer, *lease);
      if (state_.Ready(*lease)) NoteReady(answer);
      for (Answer* other : waiting_) {
        if (other->waits_for == nullptr) WaitForPrefix(*other, answer, HandOver(*other, answer));
      }
      return true;
    }
    if (MakeWayFor(answer)) continue;
    if (!running_.empty()) {
      short_of_bytes_ = true;
      return false;
    }
    if (OthersHoldBytes(answer)) {
      waits_for_others_ = true;
      return false;
    }
    if (answer.alone) {
      End(answer, GenerationEnd::kFailed, lease.error().message);
      return false;
    }
    answer.alone = true;  // perhaps what it would resume from is in its way
  }
}

// ---- From place to place ----

void Scheduler::Wait(Answer& answer) {
  answer.stage = Answer::Stage::kWaiting;
  waiting_.push_back(&answer);
}

void Scheduler::WaitForRunning(Answer& answer) {
  Answer* best = nullptr;
  TokenCount longest;
  for (Answer* reader : running_) {
    const TokenCount length = HandOver(answer, *reader);
    if (length <= longest) continue;
    longest = length;
    best = reader;
  }
  if (best != nullptr) {
    // A piece ends where somebody waits for it.
    if (InPiece(*best) && longest < best->read + piece_->item.tokens) DropPiece();
    return WaitForPrefix(answer, *best, longest);
  }
  // One that has read it all already can show it at once, unless that needs a point there.
  if (needs_.Point(TokenCount(1)) > Bytes(0)) return;
  const SharedPrefix shared = LongestShared(answer, running_);
  if (shared.with == nullptr || shared.tokens - shared.with->kept < kWorthWaiting) return;
  if (InPiece(*shared.with)) DropPiece();
  Keep(*shared.with);
}

void Scheduler::Run(Answer& answer, LeaseId lease) {
  if (answer.stage == Answer::Stage::kWaiting) std::erase(waiting_, &answer);
  answer.stage = Answer::Stage::kRunning;
  answer.preempted = false;
  answer.lease = lease;
  answer.tokens.reserve(static_cast<size_t>(std::max(LastLength(answer), answer.size()).value()));
  const auto after = [&answer](const Answer* other) { return Precedes(answer, *other); };
  running_.insert(std::ranges::find_if(running_, after), &answer);
}

void Scheduler::NoteReady(Answer& answer) {
  NoteRead(answer);
  if (answer.generation->policy) {
    answer.watcher = std::move(*model_.WatchRows(*answer.generation->policy));  // Submit tried it
  }
  const StateOrigin& origin = state_.Origin(*answer.lease);
  stats_.resumed_tokens += origin.resumed().value();
  Generation& generation = *answer.generation;
  if (!generation.begun) generation.usage.origin = origin;
  ReleaseWaiting(waiting_, answer);
}

void Scheduler::NoteRead(Answer& answer) {
  answer.ready = true;
  answer.read = state_.store().Length(state_.Sequence(*answer.lease));
  CAIRN_CHECK(answer.read < answer.size());
  answer.kept = answer.read;
  answer.points = answer.read > TokenCount(0) ? 1 : 0;
  const SharedPrefix shared = LongestShared(answer, running_);
  answer.shares = std::min(shared.tokens, answer.read);
  answer.sharer = answer.shares > TokenCount(0) ? shared.with : nullptr;
}

void Scheduler::GiveBack(Answer& answer, const Turn& turn) {
  if (InPiece(answer)) DropPiece();
  if (answer.ready && !answer.alone && !answer.lost_rows) {
    state_.Close(*answer.lease, answer.ReadTokens(), options_.now_us(), turn);
  } else {
    state_.Drop(*answer.lease);
  }
  answer.lease.reset();
  answer.ready = false;
  answer.read = answer.kept = TokenCount(0);
  answer.points = 0;
  answer.watcher.reset();
  answer.drop_due = answer.lost_rows = false;
  answer.dropped = TokenCount(0);
  if (answer.generation->pooled) answer.generation->pooled->Clear();
  std::erase(running_, &answer);
  LeaveSharing(answer, running_);
  ReleaseWaiting(waiting_, answer);
}

void Scheduler::Preempt(Answer& answer) {
  std::erase_if(batch_, [&](const BatchItem& item) { return item.answer == &answer; });
  GiveBack(answer);
  answer.preempted = true;
  ++answer.generation->usage.preemptions;
  ++stats_.preemptions;
  Wait(answer);
}

// It is the only one that runs, and yet there is no room: what it could be resumed from, and what
// it has kept for others, is in its way. By itself it fits, as CheckRoom has seen.
void Scheduler::GoAlone(Answer& answer) {
  Preempt(answer);
  answer.alone = true;
}

// For one that runs and whose bytes can't be had. Somebody goes, perhaps itself; never the first in
// order, unless it is the only one.
void Scheduler::MakeRoomFor(Answer& answer) {
  if (running_.size() > 1) {
    short_of_bytes_ = true;
    Preempt(*running_.back());
  } else if (OthersHoldBytes(answer)) {
    waits_for_others_ = true;
    Preempt(answer);
  } else if (!answer.alone) {
    GoAlone(answer);
  } else {
    std::erase_if(batch_, [&](const BatchItem& item) { return item.answer == &answer; });
    End(answer, GenerationEnd::kFailed,
        "the budget of state is taken by what is pinned: its own state would fit");
  }
}

// For a while: stores of several models may share a budget, and what is being written to a tier, or
// was being read from one, goes when that has ended. One that is alone causes no more of it.
bool Scheduler::OthersHoldBytes(const Answer& answer) const {
  if (answer.alone && !state_.idle()) return true;
  const Arena::Stats& stats = state_.store().stats();
  return stats.budget - state_.store().available() > stats.live;
}

}  // namespace cairn
