// Budget: what a card's memory is used for, what is left for state, and the questions backwards.
//
// Left for state = memory x fraction - weights - activations - overhead, on the card of the stage
// where the least is left beside what it needs. How much state a context and a batch need is asked
// of the caller's function, so that the answers follow whatever is sized: windows, shared prefixes,
// divided heads. Plain data and pure functions; thread-compatible.
#ifndef CAIRN_SIZING_BUDGET_H_
#define CAIRN_SIZING_BUDGET_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cairn/base/ids.h"
#include "cairn/base/status.h"
#include "cairn/sizing/hardware.h"
#include "cairn/sizing/section.h"

namespace cairn {

// What the runtime takes beside weights, state and activations.
struct OverheadRule {
  enum class Kind : uint8_t {
    kRuntime,         // CUDA context and kernels, communication buffers, captured graphs
    kShareOfWeights,  // the common rule of thumb: `share` of the weights, activations included
  };
  Kind kind = Kind::kRuntime;
  double share = 0.1;
};

// Of one card; `cards` that work together.
Bytes OverheadOf(const OverheadRule& rule, Bytes weights, int64_t cards);
std::string OverheadSentence(const OverheadRule& rule);

// State of `batch` requests of `context` tokens each, on the fullest card of one stage. Must not
// shrink when either grows. An error means "more than can be counted".
using StateBytes = std::function<Result<Bytes>(TokenCount context, int64_t batch)>;

// Activations of a step that reads such requests. Must not shrink when either grows.
using StepActivations = std::function<Result<Bytes>(TokenCount context, int64_t batch)>;

// One card of one pipeline stage.
struct StageBudget {
  int stage = 0;
  Bytes weights;
  Bytes activations;  // of the mix
  StateBytes state;
  std::optional<Bytes> mix = std::nullopt;  // state of the mix, if it isn't batch x context
  StepActivations step = nullptr;           // where searches look; none: `activations`
};

struct BudgetQuestion {
  std::string card;              // what it is called: "H100 SXM"; empty: of a size given by hand
  Bytes memory;                  // of one card
  double memory_fraction = 0.9;  // in (0, 1]
  int64_t cards = 1;             // that hold one copy of the model: tp x pp
  OverheadRule overhead;
  std::vector<StageBudget> stages;
  TokenCount context;                         // of the request mix
  int64_t batch = 1;                          // requests of one copy
  TokenCount most_context{int64_t{1} << 30};  // where searches end
};

struct StageAnswer {
  int stage = 0;
  Bytes usable;
  Bytes weights;
  Bytes activations;
  Bytes overhead;
  Bytes left;      // for state; may be negative
  Bytes state;     // of the mix
  Bytes headroom;  // left - state; may be negative
};

struct BudgetAnswer {
  std::vector<StageAnswer> stages;
  size_t tightest = 0;                    // index of the stage with the least headroom
  std::optional<TokenCount> most_tokens;  // of each of `batch` requests; nothing: not even one
  bool most_tokens_unbounded = false;     // the search ended at most_context
  std::optional<int64_t> most_requests;   // of `context` tokens; nothing: not even one
  bool most_requests_unbounded = false;
  Bytes memory_needed;  // of a card, for the mix at this fraction

  const StageAnswer& Tightest() const { return stages[tightest]; }
  bool Fits() const { return Tightest().headroom >= Bytes(0); }
};

// Errors: a fraction outside (0, 1], no memory, no stage, a state that can't be counted.
Result<BudgetAnswer> AnswerBudget(const BudgetQuestion& question);
Result<Section> BudgetSection(const BudgetQuestion& question);

// The largest value in [0, most] for which `fits` holds, if it holds for all smaller ones; nothing
// if it doesn't hold for `least`.
Result<std::optional<int64_t>> Largest(int64_t least, int64_t most,
                                       const std::function<Result<bool>(int64_t)>& fits);

// The inverse: a plan of the model over so many cards of any size, or an error where it can't be
// spread so.
struct ModelPlan {
  std::vector<StageBudget> stages;
};
using PlanFor = std::function<Result<ModelPlan>(int64_t cards)>;

struct FleetQuestion {
  PlanFor plan;
  TokenCount context;
  int64_t users = 1;
  double memory_fraction = 0.9;
  OverheadRule overhead;
  std::vector<int64_t> counts = {1, 2, 4, 8, 16};
};

// Which devices of the table hold so many users, with the smallest count of each that does.
Result<Section> FleetSection(const FleetQuestion& question);

}  // namespace cairn

#endif  // CAIRN_SIZING_BUDGET_H_
