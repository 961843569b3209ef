// ModelWeights: how many bytes a model's weights take, and how many a card holds and reads.
//
// From the shapes (weight_parts.h) in their stored forms (weight_storage.h); where a file's own
// total is known, the parts are scaled to it. Plain data and pure functions; thread-compatible.
#ifndef CAIRN_SIZING_WEIGHT_BYTES_H_
#define CAIRN_SIZING_WEIGHT_BYTES_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cairn/base/ids.h"
#include "cairn/base/status.h"
#include "cairn/sizing/parallel.h"
#include "cairn/sizing/section.h"
#include "cairn/sizing/sizing.h"
#include "cairn/sizing/weight_parts.h"
#include "cairn/sizing/weight_storage.h"
#include "cairn/spec/model_spec.h"

namespace cairn {

using PartBytes = std::array<Bytes, kWeightParts>;

// What one card of a stage holds.
struct CardWeights {
  int stage = 0;
  int layers = 0;
  PartBytes parts = {};
  Bytes total;
  // Routed experts of each layer that has any: how many it has and their bytes on this card.
  struct Experts {
    int64_t experts = 0;  // in the model
    int64_t per_token = 0;
    Bytes bytes;
  };
  std::vector<Experts> experts;
  Bytes unread;  // tables of which a step reads a few rows only

  // Of a step over so many tokens (of all replicas that share the experts): all but the tables,
  // and the experts that are expected to be picked; all of them where their number isn't known.
  Bytes ReadBy(double tokens) const;
};

struct ModelWeights {
  std::string storage;             // the form's name
  std::string rule;                // what is stored how
  bool from_file = false;          // scaled to the file's own total
  std::optional<WeightTree> tree;  // nothing where the shapes don't tell
  PartBytes parts = {};
  Bytes total;
  std::optional<int64_t> parameters;
  std::optional<int64_t> active;      // that take part for a token
  std::optional<int64_t> multiplied;  // matrices of layers that a token passes
  std::vector<CardWeights> cards;     // of each stage

  const CardWeights& Heaviest() const;
};

// `file`: the totals of a checkpoint or GGUF file, in its own form. Errors: those of RankModels, a
// model whose weights neither its shapes nor a file tell, a sum that passes 63 bits.
Result<ModelWeights> WeighModel(const ModelSpec& model, const Parallelism& parallel,
                                const WeightStorage& storage,
                                const std::optional<WeightTotals>& file);

// `batch`: tokens of a decode step, for the experts that it touches.
Section WeightsSection(const ModelSpec& model, const Parallelism& parallel,
                       const ModelWeights& weights, int64_t batch);

}  // namespace cairn

#endif  // CAIRN_SIZING_WEIGHT_BYTES_H_
