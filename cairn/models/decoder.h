// The one layer loop: embedding, then for each layer mixer and feed-forward on a residual stream,
// then the final norm and the head. A ModelSpec says what each layer does.
#ifndef CAIRN_MODELS_DECODER_H_
#define CAIRN_MODELS_DECODER_H_

#include <memory>
#include <vector>

#include "cairn/models/decoder_weights.h"
#include "cairn/models/mixer_attention.h"
#include "cairn/models/mlp.h"
#include "cairn/models/model.h"
#include "cairn/models/rope_table.h"

namespace cairn {

class Decoder final : public Model {
 public:
  Decoder(ModelSpec spec, StateLayout layout, DecoderWeights weights, ThreadPool& pool);

  const ModelSpec& spec() const override { return spec_; }
  const StateLayout& layout() const override { return layout_; }
  Bytes weight_bytes() const override { return Bytes(weights_.PackedBytes()); }
  void Forward(std::span<const BatchSpan> batch) override;
  int64_t logit_rows() const override { return static_cast<int64_t>(wanted_.size()); }
  void Logits(int64_t first, int64_t count, float* out) override;

 private:
  // What a layer needs besides its weights, worked out once.
  struct LayerPlan {
    AttentionPlaces places;
    int rope = -1;  // index in ropes_, -1: no rotation
  };

  void PlanLayers();
  void Embed(std::span<const BatchSpan> batch);
  void RunLayer(size_t layer, std::span<const BatchSpan> batch);
  void AddBranch(const std::vector<float>& norm, int64_t rows);
  void KeepRows(std::span<const int64_t> rows);

  ModelSpec spec_;
  StateLayout layout_;
  DecoderWeights weights_;
  ThreadPool& pool_;
  AttentionMixer attention_;
  GatedMlp mlp_;
  std::vector<LayerPlan> plans_;
  std::vector<RopeTable> ropes_;

  // Of the current batch.
  int64_t tokens_ = 0;
  std::vector<int64_t> positions_;
  std::vector<int64_t> all_;     // 0 .. tokens - 1
  std::vector<int64_t> wanted_;  // tokens that get logits
  AlignedBuffer residual_;       // [tokens][hidden]; the wanted rows alone after Forward
  AlignedBuffer normed_;
  AlignedBuffer branch_;
  Activations head_activations_;
};

}  // namespace cairn

#endif  // CAIRN_MODELS_DECODER_H_
