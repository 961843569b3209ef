// Model: a decoder with its weights. Reads token ids and a view of the state, writes state and
// logits; knows no request, no tokenizer, no scheduler.
//
// Forward's results are a pure function of (weights, the tokens before, the state format): the same
// bits for any batch, chunk size and thread count. Thread safety: one call at a time.
#ifndef CAIRN_MODELS_MODEL_H_
#define CAIRN_MODELS_MODEL_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <string>

#include "cairn/base/ids.h"
#include "cairn/base/status.h"
#include "cairn/base/thread_pool.h"
#include "cairn/models/key_standards.h"
#include "cairn/models/row_watcher.h"
#include "cairn/spec/model_spec.h"
#include "cairn/spec/state_layout.h"
#include "cairn/state/state_view.h"

namespace cairn {

class KeyObserver;
class TokenPolicy;
class WeightFile;

// Layers [first, end) of a model; by itself all of them.
struct LayerRange {
  int64_t first = 0;
  int64_t end = std::numeric_limits<int64_t>::max();
};

// Consecutive new tokens of one sequence.
struct BatchSpan {
  SequenceView state;
  std::span<const TokenId> tokens;
  int64_t logits = 0;      // how many of the last tokens get a row: of logits, or of hidden states
  LayerRange layers = {};  // that they pass in this call; see Model::CanSlice
  RowWatcher* watcher = nullptr;  // of the sequence, if a token policy holds for it
};

class Model {
 public:
  virtual ~Model() = default;

  virtual const ModelSpec& spec() const = 0;
  virtual const StateLayout& layout() const = 0;
  // Bytes of weights held in memory, packed for the kernels.
  virtual Bytes weight_bytes() const = 0;

  // Computes all spans and writes their state rows. REQUIRES: every token id in [0, vocabulary);
  // the views are writable for their tokens.
  virtual void Forward(std::span<const BatchSpan> batch) = 0;
  // Whether the last span of a batch may pass a part of the layers, and the others in later calls,
  // each time as the last span, with the same tokens and a view of the same state. The tokens'
  // state is complete, and their rows are there, after the call that ends with the last layer.
  // Calls between may be without it. One span at a time: who begins another drops it.
  virtual bool CanSlice() const { return false; }

  // Rows that the last Forward prepared: the spans' wanted tokens in order.
  virtual int64_t logit_rows() const = 0;
  // Writes rows [first, first + count), `vocabulary` floats each, one behind the other.
  virtual void Logits(int64_t first, int64_t count, float* out) = 0;
  // Writes what the head makes these rows' logits from: the last hidden states behind the final
  // norm, `hidden` floats each.
  virtual void HiddenStates(int64_t first, int64_t count, float* out) = 0;

  // What the residual of all tokens that go on holds after each layer, for finding faults; after
  // the last layer those are the wanted ones.
  using LayerObserver =
      std::function<void(size_t layer, std::span<const float> rows, int64_t width)>;
  virtual void ObserveLayers(LayerObserver /*observer*/) {}
  // Queries and keys of the tokens that are computed from now on (key_standards.h); null: nobody.
  virtual void ObserveKeys(KeyObserver* /*observer*/) {}
  // For a sequence that has read nothing, or nothing that the policy must know of. `policy` and the
  // model outlive it. kUnsupported: a policy can't judge the rows of such a model.
  virtual Result<std::unique_ptr<RowWatcher>> WatchRows(const TokenPolicy& policy) const;
};

struct ModelOptions {
  StateCodecs codecs;
  // REQUIRED where keys are standardised.
  KeyStandards standards = {};
  // The longest sequence that will be run; decides for models that turn keys of long ones otherwise
  // (RopeLong). Part of what makes state reusable.
  TokenCount context{0};
};

// Loads a GGUF file, a .safetensors file beside its config.json, or a folder that holds both.
// The pool must outlive the model.
Result<std::unique_ptr<Model>> LoadModel(const std::string& path, const ModelOptions& options,
                                         ThreadPool& pool);
// The same from a file that is open already, of what `spec` describes.
Result<std::unique_ptr<Model>> LoadModel(std::unique_ptr<WeightFile> file, ModelSpec spec,
                                         const ModelOptions& options, ThreadPool& pool);

}  // namespace cairn

#endif  // CAIRN_MODELS_MODEL_H_
