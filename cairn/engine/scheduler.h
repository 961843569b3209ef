// Scheduler: the Engine. Continuous batching over leases of a StateManager.
//
// Each step is one batch: first the next token of every running answer, then pieces of prompts, as
// many tokens as the step's budget and the measured cost allow (step_cost.h). A prompt that waits
// is admitted when the batch has room for its first piece and the bytes that it will need can be
// had. Where bytes run out all the same, the last in order gives up its lease and goes on later:
// its tokens are then a prompt, mostly one that was kept. The first in order never gives way, so
// something always comes to its end.
//
// Invariants between steps:
//   1. an answer is in exactly one place: unborn, in `waiting_`, in `running_` (in order of
//      Precedes, with a lease), or ended
//   2. a running answer's ready lease has read `read` of its tokens, at most all but the last once
//      it answers
//   3. waits_for points to a running answer that hasn't kept what is waited for
// The files: scheduler.cc requests and their ends, scheduler_admit.cc leases, scheduler_batch.cc
// batches. Thread safety: none.
#ifndef CAIRN_ENGINE_SCHEDULER_H_
#define CAIRN_ENGINE_SCHEDULER_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cairn/engine/engine.h"
#include "cairn/engine/generation.h"
#include "cairn/engine/state_needs.h"
#include "cairn/engine/step_cost.h"
#include "cairn/engine/tenants.h"

namespace cairn {

class Scheduler final : public Engine {
 public:
  // Made by MakeEngine, which checks the options.
  Scheduler(Model& model, StateManager& state, EngineOptions options);
  // What hasn't ended is dropped, and its listeners hear nothing.
  ~Scheduler() override;

  Result<GenerationId> Submit(GenerationRequest request, GenerationListener& listener) override;
  Bytes MissingBytes(const GenerationRequest& request) const override;
  void Cancel(GenerationId id) override;
  void Drain(int64_t deadline_us) override;
  Progress Step() override;

  PinId Pin(const std::string& tenant, std::span<const TokenId> tokens) override;
  void Unpin(PinId id) override { state_.Unpin(id); }
  StateManager::PinUse UseOf(PinId id) const override { return state_.UseOf(id); }
  Bytes PinnedBytes() const override { return state_.PinnedBytes(); }
  Bytes StateBudget() const override { return state_.store().stats().budget; }
  Bytes Forget(const std::string& tenant, std::span<const TokenId> tokens,
               TokenCount keep) override;

  const EngineStats& stats() const override { return stats_; }
  const ModelSpec& spec() const override { return model_.spec(); }
  TokenCount context() const override { return options_.context; }

  // CHECKs the invariants above.
  void Audit() const;

 private:
  struct BatchItem {
    Answer* answer;
    TokenCount tokens;
    bool keeps;  // the piece ends where the state should be kept
  };

  // ---- Requests and their ends ----
  Status CheckRoom(const GenerationRequest& request) const;
  // How many tokens an answer has read at most.
  TokenCount MostRead(const GenerationRequest& request) const;
  void EndOverdue();
  void EndAll(Generation& generation, GenerationEnd reason, std::string_view problem);
  void End(Answer& answer, GenerationEnd reason, std::string_view problem = {});
  void CountEnd(GenerationEnd reason);
  void Sweep();

  // ---- Leases ----
  bool Admit(Answer& answer);
  // Preempts an answer of lower priority; false if there is none.
  bool MakeWayFor(const Answer& answer);
  bool Fits(const Answer& answer) const;
  // How many tokens it has when it ends of itself.
  TokenCount LastLength(const Answer& answer) const;
  Bytes NeedOf(const Answer& answer, TokenCount shared) const;
  // False: not now, or it has ended because it never can be.
  bool OpenLease(Answer& answer);
  void NoteReady(Answer& answer);
  void NoteRead(Answer& answer);
  void Run(Answer& answer, LeaseId lease);
  void Wait(Answer& answer);
  // If one that runs is reading what it begins with.
  void WaitForRunning(Answer& answer);
  void GiveBack(Answer& answer, const Turn& turn = {});
  Turn TurnOf(const Answer& answer, GenerationEnd reason) const;
  void Preempt(Answer& answer);
  void GoAlone(Answer& answer);
  void MakeRoomFor(Answer& answer);
  bool OthersHoldBytes(const Answer& answer) const;

  // ---- Batches ----
  void Plan();
  Answer* NextPrompt(bool may_admit);
  BatchItem PieceOf(const Answer& answer, TokenCount most) const;
  void PrepareBatch();
  void Compute(int64_t start_us);
  void NoteCompute(double prompt_token_us);
  // Adds the item's span to the batch; whether it asks for logits.
  bool AddSpan(const BatchItem& item);
  void AfterForward(const BatchItem& item);
  void Keep(Answer& answer);
  void ReadHidden();
  void ReadLogits();
  void Begin(Answer& first, std::span<const float> logits);
  void Next(Answer& answer, std::span<const float> logits);
  void TakeFork(Answer& answer, const Answer& of);

  Model& model_;
  StateManager& state_;
  const EngineOptions options_;
  const int64_t most_running_;
  const StateNeeds needs_;
  const StateKey alone_key_;  // nothing is ever kept under it
  Tenants tenants_;
  StepCost cost_;
  EngineStats stats_;

  std::map<GenerationId, std::unique_ptr<Generation>> generations_;
  std::vector<Answer*> waiting_;
  std::vector<Answer*> running_;
  std::vector<GenerationId> ended_;
  int64_t next_id_ = 1;
  bool draining_ = false;
  int64_t drain_deadline_us_ = 0;
  // Since an answer had to go for want of bytes, none has ended: nobody else may come.
  bool short_of_bytes_ = false;
  // Engines of other models in the same budget, or tiers, hold what the next answer needs.
  bool waits_for_others_ = false;
  int64_t step_ = 0;

  // Of the step in progress.
  std::vector<BatchItem> batch_;
  std::vector<BatchSpan> spans_;
  std::vector<Answer*> asking_;  // for logits
  std::vector<float> logits_;
  std::vector<float> hidden_;
  TokenChooser::Scratch scratch_;
};

}  // namespace cairn

#endif  // CAIRN_ENGINE_SCHEDULER_H_
