// Activations: what a step computes and drops, how much of it is live at once, and what tiled
// attention never writes.
//
// A layer's activations are listed in the order in which they come to be, each with its fate: kept
// in the state, passed on to the next layer, added to the residual stream, or dropped. How much is
// live is counted stage by stage (the inputs and outputs of each product), for one card. Plain data
// and pure functions; thread-compatible.
#ifndef CAIRN_SIZING_ACTIVATIONS_H_
#define CAIRN_SIZING_ACTIVATIONS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "cairn/base/ids.h"
#include "cairn/base/status.h"
#include "cairn/sizing/parallel.h"
#include "cairn/sizing/section.h"
#include "cairn/sizing/sizing.h"
#include "cairn/spec/model_spec.h"

namespace cairn {

inline constexpr int64_t kMaxChunk = int64_t{1} << 24;

enum class Fate : uint8_t { kKept, kPassedOn, kResidual, kDropped };

struct LayerActivation {
  std::string name;
  int64_t width = 0;        // elements of one token; 0 of scores
  int64_t score_heads = 0;  // of scores: heads x queries x keys, which tiles hold, not memory
  Fate fate = Fate::kDropped;
};

// A product or kernel with what is live while it runs, per token.
struct ActivationStage {
  std::string name;
  int64_t live_width = 0;
  std::string formula;
};

// Of one layer as one card computes it (a RankModel's layer; its feed-forward is divided here).
std::vector<LayerActivation> ActivationsOf(const LayerSpec& layer, int64_t hidden,
                                           const Parallelism& parallel);
std::vector<ActivationStage> StagesOf(const LayerSpec& layer, int64_t hidden,
                                      const Parallelism& parallel);

struct ActivationQuestion {
  Parallelism parallel;
  int64_t chunk_tokens = 8192;  // tokens of a prefill step, all requests together
  int64_t sequences = 1;        // whose logits a step makes
  int64_t context = 0;          // keys of the score matrices; 0: chunk_tokens
  int64_t element_bytes = 2;
  int64_t logit_bytes = 4;
};

struct ActivationAnswer {
  Bytes peak;         // of the fullest card
  Bytes logits;       // of one card: its share of the vocabulary
  std::string stage;  // where the peak is
  int layer = 0;      // of the model
  int64_t live_width = 0;
  int64_t stream_width = 0;  // of the residual stream
  int64_t words = 0;         // of the vocabulary, on one card
  std::string formula;
};

// Errors: a question out of range, a product that passes 63 bits.
Result<ActivationAnswer> PeakActivations(const ModelSpec& model,
                                         const ActivationQuestion& question);

// Of a step of another size on the same cards: widths don't change with it. Never shrinks when the
// step grows.
Result<Bytes> PeakOfStep(const ActivationAnswer& widths, const ActivationQuestion& step);

// heads x n x n scores of one layer, and what writing and reading them once would move.
Result<Bytes> ScoreMatrixBytes(int64_t heads, int64_t tokens, int64_t element_bytes);

Result<Section> ActivationsSection(const ModelSpec& model, const ActivationQuestion& question);

}  // namespace cairn

#endif  // CAIRN_SIZING_ACTIVATIONS_H_
