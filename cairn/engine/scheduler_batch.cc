#include <algorithm>
#include <utility>

#include "cairn/base/check.h"
#include "cairn/engine/prefix_sharing.h"
#include "cairn/engine/scheduler.h"

namespace cairn {
namespace {

// Rows of hidden states in memory at once.
constexpr int64_t kHiddenRows = 32;

// With so many tokens before it a piece that is read in slices saves more than is lost where layers
// don't fill a step: their state takes about as long to read as a few tokens to compute.
constexpr TokenCount kMuchState{512};

}  // namespace

// ---- What goes in ----

void Scheduler::Plan() {
  batch_.clear();
  for (Answer* answer : running_) {
    if (!answer->ready && state_.Ready(*answer->lease)) NoteReady(*answer);
    if (!answer->ready || !answer->Answering()) continue;
    batch_.push_back({.answer = answer, .tokens = TokenCount(1), .keeps = false});
  }
  const auto answers = static_cast<int64_t>(batch_.size());
  // More answers than when it began: a batch has no more tokens than it may.
  if (piece_ && piece_->item.tokens.value() > options_.step_tokens.value() - answers) DropPiece();
  if (!piece_) return PlanPrompts(answers);
  BatchItem& item = piece_->item;
  const int64_t left = layers() - item.layers.end;
  item.layers.first = item.layers.end;
  item.layers.end +=
      StepCost::SliceLayers(cost_.Room(answers), item.tokens.value(), layers(), left);
  batch_.push_back(item);
}

void Scheduler::PlanPrompts(int64_t answers) {
  int64_t most = options_.step_tokens.value() - answers;
  int64_t most_at_once = std::min(most, cost_.PromptTokens(answers));
  double room = cost_.Room(answers);
  bool may_admit = true;
  while (most_at_once > 0) {
    Answer* next = NextPrompt(may_admit);
    if (next == nullptr) break;
    next->tried_in_step = step_;
    if (next->stage == Answer::Stage::kWaiting && !Admit(*next)) {
      may_admit = false;  // the others come after it, even if they would fit: it must not starve
      continue;
    }
    if (!next->ready) continue;
    // One that has come back may lack its last token only: that isn't a prompt.
    const bool in_slices = !next->Answering() && InSlices(*next, room);
    batch_.push_back(in_slices ? SliceOf(*next, TokenCount(most), room)
                               : PieceOf(*next, TokenCount(most_at_once)));
    if (IsPart(batch_.back())) break;
    const int64_t tokens = batch_.back().tokens.value();
    most -= tokens;
    most_at_once -= tokens;
    room -= static_cast<double>(tokens);
  }
}

// Running or waiting, not looked at in this step.
Answer* Scheduler::NextPrompt(bool may_admit) {
  Answer* next = nullptr;
  const auto offer = [&](Answer* answer) {
    if (answer->tried_in_step == step_) return;
    if (next == nullptr || IsNext(*answer, *next)) next = answer;
  };
  for (Answer* answer : running_) {
    if (answer->ready && !answer->Answering()) offer(answer);
  }
  if (!may_admit) return next;
  for (Answer* answer : waiting_) {
    if (answer->waits_for == nullptr) offer(answer);
  }
  return next;
}

Scheduler::BatchItem Scheduler::PieceOf(const Answer& answer, TokenCount most) const {
  TokenCount end = answer.size();
  bool keeps = false;
  if (!answer.alone) {
    const TokenCount prompt = answer.generation->prompt;
    if (answer.read < prompt) {
      end = std::min(prompt, state_.NextKeep(*answer.lease, prompt));
      keeps = true;
    }
    for (const TokenCount cut : answer.cuts) {
      if (cut <= answer.read || cut > end) continue;
      end = cut;
      keeps = true;
      break;
    }
  }
  if (answer.generation->policy) end = std::min(end, NextDrop(answer));
  CAIRN_CHECK(end > answer.read);
  if (end - answer.read > most) {
    end = answer.read + most;
    keeps = false;
  }
  return {.answer = const_cast<Answer*>(&answer), .tokens = end - answer.read, .keeps = keeps};
}

bool Scheduler::InSlices(const Answer& answer, double room) const {
  if (!slices_ || room >= StepCost::kLeastPieceTokens) return false;
  // What a policy's watcher was shown can't be taken back where a piece is given up.
  if (answer.watcher) return false;
  return room < StepCost::kLeastPromptTokens || answer.read >= kMuchState;
}

Scheduler::BatchItem Scheduler::SliceOf(const Answer& answer, TokenCount most, double room) const {
  const int64_t tokens = StepCost::PieceTokens(room, layers(), answer.unread().value());
  BatchItem item = PieceOf(answer, std::min(most, TokenCount(tokens)));
  item.layers.end = StepCost::SliceLayers(room, item.tokens.value(), layers(), layers());
  return item;
}

bool Scheduler::IsPart(const BatchItem& item) const { return item.layers.first > 0 || !Ends(item); }

double Scheduler::WorkOf(const BatchItem& item) const {
  const int64_t tokens = item.tokens.value();
  if (!IsPart(item)) return static_cast<double>(tokens);
  const int64_t passed = std::min(item.layers.end, layers()) - item.layers.first;
  return static_cast<double>(StepCost::Counted(tokens)) * static_cast<double>(passed) /
         static_cast<double>(layers());
}

void Scheduler::DropPiece() {
  state_.store().Commit(state_.Sequence(*piece_->item.answer->lease), TokenCount(0));
  piece_.reset();
}

// In order of precedence: who must go is the last that runs, and so isn't prepared yet.
void Scheduler::PrepareBatch() {
  std::ranges::sort(batch_, [](const BatchItem& a, const BatchItem& b) {
    return Precedes(*a.answer, *b.answer);
  });
  for (size_t i = 0; i < batch_.size();) {
    BatchItem& item = batch_[i];
    Answer& answer = *item.answer;
    if (answer.drop_due && !DropRows(answer)) {
      MakeRoomFor(answer);
      continue;
    }
    if (InPiece(answer) || state_.Prepare(*answer.lease, item.tokens)) {
      ++i;
      continue;
    }
    // Of windows, a large piece takes bytes that a small one doesn't.
    const TokenCount piece = StateNeeds::PieceAt(answer.read);
    if (piece < item.tokens) {
      item.tokens = piece;
      item.keeps = false;
      continue;
    }
    MakeRoomFor(answer);  // what it makes of the batch has less precedence
  }
}

// ---- What comes out ----

bool Scheduler::AddSpan(const BatchItem& item) {
  Answer& answer = *item.answer;
  const Generation& generation = *answer.generation;
  const bool ends = answer.read + item.tokens == answer.size();
  const bool asks = ends && generation.request.max_tokens > 0 && Ends(item);
  const int64_t rows =
      generation.pooled ? generation.pooled->Wanted(item.tokens.value(), ends) : (asks ? 1 : 0);
  spans_.push_back({.state = state_.store().View(state_.Sequence(*answer.lease)),
                    .tokens = std::span(answer.tokens)
                                  .subspan(static_cast<size_t>(answer.read.value()),
                                           static_cast<size_t>(item.tokens.value())),
                    .logits = rows,
                    .layers = item.layers,
                    .watcher = answer.watcher.get()});
  return asks;
}

void Scheduler::Compute(int64_t start_us) {
  // Rows of logits come first. A part of a piece is the last span: it has rows of its own with its
  // last layers only, and then answers alone are before it.
  std::ranges::sort(batch_, [this](const BatchItem& a, const BatchItem& b) {
    if (IsPart(a) != IsPart(b)) return IsPart(b);
    const bool ours = a.answer->generation->pooled.has_value();
    const bool theirs = b.answer->generation->pooled.has_value();
    return ours != theirs ? theirs : Precedes(*a.answer, *b.answer);
  });
  spans_.clear();
  asking_.clear();
  int64_t answer_tokens = 0;
  double prompt_work = 0;
  stats_.last_batch_tokens = 0;
  const int64_t before_us = options_.now_us();
  for (const BatchItem& item : batch_) {
    Answer& answer = *item.answer;
    Generation& generation = *answer.generation;
    if (!std::exchange(generation.begun, true)) {
      generation.usage.queued_us = before_us - generation.submitted_us;
    }
    stats_.last_batch_tokens += item.tokens.value();
    if (answer.Answering()) {
      answer_tokens += item.tokens.value();
    } else {
      prompt_work += WorkOf(item);
    }
    if (AddSpan(item)) asking_.push_back(&answer);
  }
  model_.Forward(spans_);
  stats_.busy_us += options_.now_us() - before_us;
  ++stats_.steps;
  NoteCompute(cost_.PromptTokenUs(answer_tokens, prompt_work, options_.now_us() - before_us));
  for (const BatchItem& item : batch_) {
    if (Ends(item)) Commit(item);
  }
  ReadHidden();
  for (const BatchItem& item : batch_) {
    if (Ends(item)) AfterForward(item);
  }
  ReadLogits();
  cost_.Observe(answer_tokens, prompt_work, options_.now_us() - start_us);
}

void Scheduler::Commit(const BatchItem& item) {
  if (!item.answer->Answering()) stats_.prompt_tokens += item.tokens.value();
  if (InPiece(*item.answer)) piece_.reset();
  state_.store().Commit(state_.Sequence(*item.answer->lease), item.tokens);
}

// What prompts cost decides what is read from lower tiers instead.
void Scheduler::NoteCompute(double prompt_token_us) {
  for (const BatchItem& item : batch_) {
    const Answer& answer = *item.answer;
    if (answer.Answering()) continue;
    double us = prompt_token_us * WorkOf(item);
    if (InPiece(answer)) us += piece_->prompt_us;
    if (!Ends(item)) {
      piece_ = {.item = item, .prompt_us = us};
      continue;
    }
    state_.NoteCompute(answer.read, item.tokens, static_cast<int64_t>(us));
  }
}

void Scheduler::AfterForward(const BatchItem& item) {
  Answer& answer = *item.answer;
  Generation& generation = *answer.generation;
  if (!answer.Answering()) Tenants::Charge(*generation.tenant, item.tokens.value(), 0);
  answer.read += item.tokens;
  if (item.keeps) Keep(answer);
  DropIfDue(answer);
  if (generation.answering) return;
  generation.listener->OnPromptProgress(generation.id, answer.read, generation.prompt);
  if (answer.read == generation.prompt && generation.request.max_tokens == 0) {
    if (generation.pooled) {
      generation.listener->OnEmbedding(generation.id, generation.pooled->Pooled());
    }
    EndAll(generation, GenerationEnd::kLength, {});
  }
}

void Scheduler::Keep(Answer& answer) {
  state_.Keep(*answer.lease, answer.ReadTokens(), options_.now_us());
  answer.kept = answer.read;
  ++answer.points;
  ReleaseWaiting(waiting_, answer);
}

// Behind the rows of logits, token by token in order.
void Scheduler::ReadHidden() {
  const int64_t width = model_.spec().hidden;
  auto first = static_cast<int64_t>(asking_.size());
  for (size_t i = 0; i < batch_.size(); ++i) {
    std::optional<PooledRows>& pooled = batch_[i].answer->generation->pooled;
    if (!pooled || !Ends(batch_[i])) continue;
    hidden_.resize(static_cast<size_t>(kHiddenRows * width));
    for (const int64_t end = first + spans_[i].logits; first < end;) {
      const int64_t count = std::min(end - first, kHiddenRows);
      model_.HiddenStates(first, count, hidden_.data());
      for (int64_t row = 0; row < count; ++row) {
        pooled->Add({hidden_.data() + row * width, static_cast<size_t>(width)});
      }
      first += count;
    }
  }
}

void Scheduler::ReadLogits() {
  const auto vocabulary = static_cast<size_t>(model_.spec().vocabulary);
  const size_t rows = logits_.size() / vocabulary;
  for (size_t first = 0; first < asking_.size(); first += rows) {
    const size_t count = std::min(rows, asking_.size() - first);
    const int64_t before_us = options_.now_us();
    model_.Logits(static_cast<int64_t>(first), static_cast<int64_t>(count), logits_.data());
    stats_.busy_us += options_.now_us() - before_us;
    for (size_t i = 0; i < count; ++i) {
      Answer& answer = *asking_[first + i];
      const auto row = std::span<const float>(logits_).subspan(i * vocabulary, vocabulary);
      if (answer.generation->answering) {
        Next(answer, row);
      } else {
        Begin(answer, row);
      }
    }
  }
}

// All answers draw their first token from the same row; those that go on then get a fork.
void Scheduler::Begin(Answer& first, std::span<const float> logits) {
  Generation& generation = *first.generation;
  generation.answering = true;
  for (const auto& owned : generation.answers) {
    Answer& answer = *owned;
    if (&answer == &first) continue;
    answer.tokens = first.tokens;
    Next(answer, logits);
    if (answer.stage != Answer::Stage::kEnded) TakeFork(answer, first);
  }
  Next(first, logits);
}

void Scheduler::TakeFork(Answer& answer, const Answer& of) {
  answer.alone = of.alone;
  answer.preempted = true;
  if (static_cast<int64_t>(running_.size()) >= most_running_) return Wait(answer);
  const Result<LeaseId> lease = state_.Fork(*of.lease);
  if (!lease) return Wait(answer);
  Run(answer, *lease);
  if (of.watcher) answer.watcher = of.watcher->Clone();
  answer.drop_due = of.drop_due;
  answer.lost_rows = of.lost_rows;
  answer.dropped = of.dropped;
  NoteRead(answer);
}

void Scheduler::Next(Answer& answer, std::span<const float> logits) {
  Generation& generation = *answer.generation;
  const GenerationRequest& request = generation.request;
  const TokenChooser::Choice choice = answer.chooser.Choose(logits, answer.tokens, scratch_);
  if (!choice.possible) {
    return End(answer, GenerationEnd::kFailed,
               "no token may come next: the logit bias and the constraint forbid all of them");
  }
  if (std::ranges::find(request.ends, choice.token) != request.ends.end())
    return End(answer, GenerationEnd::kEnd);
  answer.tokens.push_back(choice.token);
  answer.chooser.Accept(choice.token);
  ++answer.produced;
  ++stats_.answer_tokens;
  Tenants::Charge(*generation.tenant, 0, 1);
  if (!std::exchange(generation.answered, true)) {
    generation.usage.first_token_us = options_.now_us() - generation.submitted_us;
  }
  const bool goes_on = generation.listener->OnToken({.id = generation.id,
                                                     .answer = answer.index,
                                                     .token = choice.token,
                                                     .logprob = choice.logprob,
                                                     .likeliest = choice.likeliest});
  if (!goes_on) return End(answer, GenerationEnd::kStopped);
  if (answer.produced == request.max_tokens) return End(answer, GenerationEnd::kLength);
  if (answer.size() >= options_.context) return End(answer, GenerationEnd::kContext);
}

}  // namespace cairn
