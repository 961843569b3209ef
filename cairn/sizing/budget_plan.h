// Everything that is said about cards, from one description: weights, activations, the budget of a
// card, the devices that would do, time bounds and moving the state.
//
// Puts together weight_bytes.h, activations.h, budget.h and bounds.h for a model spread over cards.
// Plain data and pure functions; thread-compatible.
#ifndef CAIRN_SIZING_BUDGET_PLAN_H_
#define CAIRN_SIZING_BUDGET_PLAN_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "cairn/base/ids.h"
#include "cairn/base/status.h"
#include "cairn/sizing/bounds.h"
#include "cairn/sizing/budget.h"
#include "cairn/sizing/hardware.h"
#include "cairn/sizing/parallel.h"
#include "cairn/sizing/request_mix.h"
#include "cairn/sizing/section.h"
#include "cairn/sizing/sizing.h"
#include "cairn/sizing/weight_storage.h"
#include "cairn/spec/model_spec.h"

namespace cairn {

struct CardQuestion {
  ModelSpec model;
  Parallelism parallel;
  StateCodecs codecs = {};
  RequestMix mix;         // of all copies together
  WeightStorage storage;  // of the model's layers
  std::optional<WeightTotals> file = std::nullopt;
  const Gpu* gpu = nullptr;  // nullptr: none is asked about
  Bytes memory;              // of a card; 0: the GPU's
  double memory_fraction = 0.9;
  OverheadRule overhead = {};
  int64_t chunk_tokens = 8192;  // of a prefill step
  double bytes_per_second = 0;  // 0: the GPU's
  double flops_per_second = 0;  // 0: the GPU's
  double compute_share = 1;
  const Link* link = nullptr;                       // nullptr: every link
  std::optional<TokenCount> prompt = std::nullopt;  // nothing: the longest request
  TokenCount cached;                                // of the prompt
  bool fleet = false;  // which devices would do, also where one is named
};

// Sections "weights", "activations", "budget" (where a card's memory is known), "fleet" (where no
// card is named, or it is asked for), "bounds" and "transfers". Weights that can't be counted leave
// out what needs them, with a warning in "weights". Errors: a question out of range.
Result<std::vector<Section>> CardSections(const CardQuestion& question);

// The budget's question and the fleet's, for callers who want one alone.
Result<BudgetQuestion> BudgetOf(const CardQuestion& question);
FleetQuestion FleetOf(const CardQuestion& question);

// How a model is usually spread over so many cards: tensor parallel within a server of eight,
// stages of a pipeline beyond it, experts over all. Errors: a count that doesn't divide so, more
// stages than layers.
Result<Parallelism> SpreadOver(const ModelSpec& model, int64_t cards);

}  // namespace cairn

#endif  // CAIRN_SIZING_BUDGET_PLAN_H_
