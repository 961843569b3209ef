// KeyStandards: what standardised keys need to know of a model, and how it is measured.
//
// For every layer with keys: their mean before rotation, and the spread by which they are divided.
// Both come from some hundred tokens of any text: what keys have in common is the model's, not the
// text's. The spread of a pair of channels is sqrt(rms of the keys' deviation / rms of the
// queries): with that, the error that a rotated codec's even noise leaves in a score is the
// smallest (Cauchy-Schwarz; a channel that queries hardly read may be coarse). Plain data;
// thread-compatible.
#ifndef CAIRN_MODELS_KEY_STANDARDS_H_
#define CAIRN_MODELS_KEY_STANDARDS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cairn/base/ids.h"
#include "cairn/base/status.h"
#include "cairn/kernels/key_standard.h"
#include "cairn/spec/model_spec.h"
#include "cairn/spec/state_spec.h"

namespace cairn {

struct KeyStandards {
  struct Layer {
    std::vector<float> mean;    // [kv_heads * key_width]; empty: the layer has none
    std::vector<float> spread;  // the same, positive
    bool operator==(const Layer&) const = default;
  };
  std::vector<Layer> layers;

  bool empty() const { return layers.empty(); }
  // Part of what makes state reusable; empty if there are none.
  std::string Digest() const;
  bool operator==(const KeyStandards&) const = default;
};

// kInvalidArgument: rows are to be standardised and there is nothing for them, or of another shape,
// or numbers that can't be divided by.
Status CheckStandards(const KeyStandards& standards, const ModelSpec& model,
                      const StateSpec& state);

// Which channels of a head turn together.
TurningPairs PairsOf(const std::optional<Rope>& rope);

// Queries, keys and values of some tokens of one layer, as they are when they are stored: normed,
// turned.
struct SeenKeys {
  LayerIndex layer;  // whose keys they are
  const AttentionSpec* spec = nullptr;
  int64_t first_position = 0;
  int64_t tokens = 0;
  const float* queries = nullptr;  // [tokens][heads * key_width]
  const float* keys = nullptr;     // [tokens][kv_heads * key_width]; null: another layer's are read
  const float* values = nullptr;   // [tokens][kv_heads * value_width]; null as keys are
};

class KeyObserver {
 public:
  virtual ~KeyObserver() = default;
  virtual void OnKeys(const SeenKeys& seen) = 0;
};

// Adds up what a model shows (Model::ObserveKeys) and makes standards of it.
class KeyMeter final : public KeyObserver {
 public:
  // For sequences of up to `context` tokens, as the model was loaded for. `model` outlives it.
  KeyMeter(const ModelSpec& model, TokenCount context);

  void OnKeys(const SeenKeys& seen) override;
  // kInvalidArgument: fewer than kMinTokens were seen, or numbers that aren't finite.
  Result<KeyStandards> Standards() const;

  static constexpr int64_t kMinTokens = 64;
  // The first ones are unlike all others: where attention goes that has nowhere to go.
  static constexpr int64_t kSkippedTokens = 4;

 private:
  struct Sums {
    int64_t tokens = 0;
    int64_t query_rows = 0;
    std::vector<double> keys, squares;  // [kv_heads * key_width]
    std::vector<double> queries;        // squares, by the channels of their KV head
    TurningPairs pairs;
    int64_t width = 0;
  };

  void AddKeys(const SeenKeys& seen, Sums& sums) const;
  static void AddQueries(const SeenKeys& seen, Sums& sums);

  const TokenCount context_;
  std::vector<Sums> layers_;
};

}  // namespace cairn

#endif  // CAIRN_MODELS_KEY_STANDARDS_H_
