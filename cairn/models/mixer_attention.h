// The softmax-attention mixer: projections, norms and rotation, state rows, attention, output.
//
// Kinds that make their rows otherwise, or read fewer of them, derive from it. Thread safety: one
// call at a time.
#ifndef CAIRN_MODELS_MIXER_ATTENTION_H_
#define CAIRN_MODELS_MIXER_ATTENTION_H_

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "cairn/kernels/attention.h"
#include "cairn/kernels/key_standard.h"
#include "cairn/models/part.h"

namespace cairn {

struct AttentionWeights {
  Linear query;     // [heads * key_width, hidden]
  Linear gate;      // [heads * value_width, hidden]; empty: none
  Linear key;       // [kv_heads * key_width, hidden]; empty: another layer's keys are read
  Linear value;     // [kv_heads * value_width, hidden]; empty as well where keys are values
  Linear output;    // [hidden, heads * value_width]
  Norm query_norm;  // of a head, or of all heads together
  Norm key_norm;
  Norm value_norm;
  std::vector<float> sinks;
};

class AttentionMixer : public Mixer {
 public:
  // `spec` must outlive the mixer. `shares`: keys and values are another layer's.
  AttentionMixer(const LayerBuild& build, const AttentionSpec& spec, bool shares);
  virtual Status Load(const PartLoader& loader);

  void Run(const Pass& pass, const float* normed, std::span<const int64_t> rows,
           float* out) override;

 protected:
  // Of all tokens of the batch: [tokens][heads * width].
  struct Made {
    float* query = nullptr;
    float* key = nullptr;
    float* value = nullptr;
    float* gate = nullptr;
    float* attended = nullptr;
  };

  const AttentionSpec& spec() const { return spec_; }
  const AttentionWeights& weights() const { return weights_; }
  int64_t hidden() const { return hidden_; }
  const RopeTable* rope() const { return rope_; }
  const StateLayout::RowsPlace& keys() const { return keys_; }
  const StateLayout::RowsPlace& values() const { return values_; }
  // Of all heads, as the rows are stored.
  AttentionShape Shape() const;
  Made MakeRoom(const Pass& pass) const;
  // Queries, keys, values and gates of all tokens, before norms and rotation.
  virtual void Project(const Pass& pass, const float* normed, const Made& made);
  // What every query sees of the rows that are stored by now.
  virtual void Attend(const Pass& pass, const Made& made);

 private:
  // Of rows that are read exactly (state_form.h).
  struct ExactPlaces {
    std::optional<StateLayout::RowsPlace> first;
    std::optional<StateLayout::RowsPlace> recent;
  };

  Status LoadQueries(const PartLoader& loader);
  Status LoadKeysAndValues(const PartLoader& loader);
  Status LoadNorms(const PartLoader& loader);
  void FinishQueriesAndKeys(int64_t token, int64_t position, const Made& made) const;
  void NormHeads(float* query, float* key) const;
  static void StoreExactRow(const BatchSpan& span, const ExactPlaces& places, int64_t position,
                            const float* values);
  ExactRows ExactRowsOf(const BatchSpan& span) const;
  void StoreRows(const BatchSpan& span, int64_t index, int64_t token, const Made& made) const;
  void PrepareStandard(const Pass& pass);
  void ShowRows(const Pass& pass, const Made& made) const;
  void ShowKeys(const Pass& pass, const Made& made) const;
  void Output(const Pass& pass, std::span<const int64_t> rows, const Made& made, float* out);

  const AttentionSpec& spec_;
  const int64_t hidden_;
  const double norm_epsilon_;
  const bool shares_;
  const RopeTable* rope_ = nullptr;
  TileRope* tiles_ = nullptr;  // of standardised keys
  StateLayout::RowsPlace keys_;
  StateLayout::RowsPlace values_;
  ExactPlaces exact_keys_;
  ExactPlaces exact_values_;
  bool droppable_;        // a token policy may have taken rows
  KeyStandard standard_;  // of the current pass; no mean: keys aren't standardised
  AttentionWeights weights_;
  std::vector<AttentionSpan> spans_;
};

}  // namespace cairn

#endif  // CAIRN_MODELS_MIXER_ATTENTION_H_
