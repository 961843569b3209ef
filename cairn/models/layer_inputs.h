// LayerInputs: what each layer gets to know of a token besides the residual (Gemma 3n and 4).
//
// Every token has an embedding of `width` channels for each layer: a row of a table and a
// projection of its ordinary embedding, added. They are made once a pass and lie in
// Handover::kPerLayerInputs. A layer multiplies them with a gate that it makes from the residual.
// Thread safety: one pass at a time.
#ifndef CAIRN_MODELS_LAYER_INPUTS_H_
#define CAIRN_MODELS_LAYER_INPUTS_H_

#include <cstdint>
#include <span>
#include <vector>

#include "cairn/models/residual.h"

namespace cairn {

class LayerInputs {
 public:
  // REQUIRES: spec.width > 0.
  Status Load(const ModelBuild& build, const LayerInputsSpec& spec);

  // Embeddings of all tokens are in the first channels of the residual's rows, `stride` apart.
  void Begin(const Pass& pass, int64_t stride);
  // out[i] = what layer `layer` adds for token rows[i], whose gate is made from x[i]; both
  // [rows][hidden].
  void Run(const Pass& pass, size_t layer, const float* x, std::span<const int64_t> rows,
           float* out) const;

 private:
  struct Layer {
    Linear gate;        // [width, hidden]
    Linear projection;  // [hidden, width]
    Norm norm;
  };

  LayerInputsSpec spec_;
  int64_t hidden_ = 0;
  const TensorInfo* table_ = nullptr;  // [vocabulary, layers * width], read row by row
  Linear projection_;                  // [layers * width, hidden]
  Norm projection_norm_;
  std::vector<Layer> layers_;
};

}  // namespace cairn

#endif  // CAIRN_MODELS_LAYER_INPUTS_H_
