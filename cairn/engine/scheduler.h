// Scheduler: the Engine. Continuous batching over leases of a StateManager.
//
// Each step is one batch: first the next token of every running answer, then pieces of prompts, as
// many tokens as the step's budget and the measured cost allow (step_cost.h). Where a piece's
// layers don't fit into a step they are shared out among several: until the last of them its tokens
// are prepared and not read, it is the only piece, and who must go loses it. A prompt that waits is
// admitted when the batch has room for its first piece and the bytes that it will need can be had.
// Where bytes run out all the same, the last in order gives up its lease and goes on later: its
// tokens are then a prompt, mostly one that was kept. The first in order never gives way, so
// something always comes to its end.
//
// Invariants between steps:
//   1. an answer is in exactly one place: unborn, in `waiting_`, in `running_` (in order of
//      Precedes, with a lease), or ended
//   2. a running answer's ready lease has read `read` of its tokens, at most all but the last once
//      it answers
//   3. waits_for points to a running answer that hasn't kept what is waited for
//   4. all running answers' sequences are at rest, but that of `piece_`
//   5. an answer that lost rows keeps nothing for others and shares nothing but with its forks
// The files: scheduler.cc requests and their ends, scheduler_admit.cc leases, scheduler_batch.cc
// batches, scheduler_drop.cc rows that go. Thread safety: none.
#ifndef CAIRN_ENGINE_SCHEDULER_H_
#define CAIRN_ENGINE_SCHEDULER_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
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
    LayerRange layers = {};
  };
  // One that has some of its layers behind it.
  struct Piece {
    BatchItem item;        // its layers are those of the latest step
    double prompt_us = 0;  // that it took so far
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
  void PlanPrompts(int64_t answers);
  Answer* NextPrompt(bool may_admit);
  BatchItem PieceOf(const Answer& answer, TokenCount most) const;
  int64_t layers() const { return std::ssize(model_.spec().layers); }
  bool IsPart(const BatchItem& item) const;
  bool Ends(const BatchItem& item) const { return item.layers.end >= layers(); }
  // As how many prompt tokens the step's cost counts it.
  double WorkOf(const BatchItem& item) const;
  // Whether a piece's layers are to be shared out if there is room for so many tokens.
  bool InSlices(const Answer& answer, double room) const;
  // A piece with as many layers as there is room for.
  BatchItem SliceOf(const Answer& answer, TokenCount most, double room) const;
  bool InPiece(const Answer& answer) const { return piece_ && piece_->item.answer == &answer; }
  // What it has computed is lost; its answer's sequence is at rest.
  void DropPiece();
  void PrepareBatch();
  void Compute(int64_t start_us);
  void NoteCompute(double prompt_token_us);
  void Commit(const BatchItem& item);
  // Adds the item's span to the batch; whether it asks for logits.
  bool AddSpan(const BatchItem& item);
  void AfterForward(const BatchItem& item);
  void Keep(Answer& answer);
  void ReadHidden();
  void ReadLogits();
  void Begin(Answer& first, std::span<const float> logits);
  void Next(Answer& answer, std::span<const float> logits);
  void TakeFork(Answer& answer, const Answer& of);

  // ---- Rows that a token policy drops ----
  // The next length at which rows of the answer are dropped, above what it has read.
  static TokenCount NextDrop(const Answer& answer);
  void DropIfDue(Answer& answer);
  // False: there are no bytes for it now.
  bool DropRows(Answer& answer);

  Model& model_;
  StateManager& state_;
  const EngineOptions options_;
  const int64_t most_running_;
  const StateNeeds needs_;
  const StateKey alone_key_;  // nothing is ever kept under it
  // Of models without Fixed components: those would be between two lengths when a piece is dropped.
  const bool slices_;
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
  std::optional<Piece> piece_;

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
