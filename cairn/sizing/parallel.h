// How a model is spread over cards: what one card holds of it.
//
// A card is described by a ModelSpec of its own, so that its state is counted as a model's state
// is: tensor parallelism divides the heads and channels of each mixer, or repeats what can't be
// divided; a pipeline stage has its own layers only. Data parallelism repeats the model and divides
// the requests; decode context parallelism divides the rows of a sequence. Feed-forwards stay whole
// here: they keep no state, and weight_bytes.h divides weights. Pure functions; thread-safe.
#ifndef CAIRN_SIZING_PARALLEL_H_
#define CAIRN_SIZING_PARALLEL_H_

#include <cstdint>
#include <string>
#include <vector>

#include "cairn/base/ids.h"
#include "cairn/base/status.h"
#include "cairn/spec/model_spec.h"

namespace cairn {

inline constexpr int64_t kMaxCards = 65'536;

struct Parallelism {
  int tp = 1;   // tensor parallel cards of a stage
  int pp = 1;   // pipeline stages
  int dp = 1;   // replicas, each with requests of its own
  int ep = 1;   // cards that the experts are divided over; 1: tensor parallel like the rest
  int dcp = 1;  // of the tp cards, so many divide a sequence's rows by position
  std::vector<int> stage_layers = {};  // of each stage; empty: as even as can be

  int64_t Cards() const { return int64_t{tp} * pp * dp; }
  bool IsOne() const { return tp == 1 && pp == 1 && dp == 1 && ep == 1 && dcp == 1; }
  bool operator==(const Parallelism&) const = default;
};

// What every card of a stage holds. Cards of one stage hold equally much: where a number doesn't
// divide, this is the card with the most.
struct RankModel {
  int stage = 0;
  LayerIndex first_layer;
  LayerIndex end_layer;
  ModelSpec spec;  // the stage's layers, numbered from 0
};

// Errors: sizes below 1 or too many cards, more stages than layers, stage_layers that don't add up,
// dcp that doesn't divide tp or is more than the cards that keep the same rows.
Result<std::vector<RankModel>> RankModels(const ModelSpec& model, const Parallelism& parallel);

// What tensor parallelism can't divide evenly or must repeat, a sentence for each kind of layer.
std::vector<std::string> ParallelWarnings(const ModelSpec& model, const Parallelism& parallel);

// Heads that one of `cards` holds: the share rounded up, at least one (then some are repeated).
int64_t HeadsOfRank(int64_t heads, int cards);

}  // namespace cairn

#endif  // CAIRN_SIZING_PARALLEL_H_
