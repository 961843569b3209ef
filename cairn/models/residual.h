// Residual: the stream that runs through the layers, and how their branches read from it and are
// added to it.
//
// One kind for each ResidualSpec. The plain one has one stream of `hidden` floats a token; others
// keep several, scale them, or add what a layer knows of a token besides. Thread safety: one pass
// at a time.
#ifndef CAIRN_MODELS_RESIDUAL_H_
#define CAIRN_MODELS_RESIDUAL_H_

#include <cstdint>
#include <memory>
#include <span>

#include "cairn/models/part.h"

namespace cairn {

// What a layer adds to the residual of all tokens before its branches read it.
class Ngrams {
 public:
  virtual ~Ngrams() = default;
  virtual void Run(const Pass& pass) = 0;
};

// A layer's parts; null: the layer has none.
struct LayerParts {
  std::unique_ptr<Mixer> mixer;
  std::unique_ptr<FeedForward> feed_forward;
  std::unique_ptr<Ngrams> ngrams;  // residuals of gated streams alone run them
};

struct ModelBuild {
  PartLoader loader;  // outside of the layers
  TensorLoader& tensors;
  const ModelSpec& model;

  PartLoader Layer(size_t layer) const {
    return {tensors, LayerIndex(static_cast<int32_t>(layer))};
  }
};

class Residual {
 public:
  virtual ~Residual() = default;

  // Floats of a token.
  virtual int64_t width() const = 0;
  // pass.residual holds the scaled embeddings, width() apart, each in the first `hidden` floats.
  virtual void Begin(const Pass& /*pass*/) {}
  // pass.residual holds all tokens; afterwards its first rows.size() rows hold those of `rows`.
  // Less than all are asked for after the last layer, where only some tokens need logits; all of
  // them leave their state.
  virtual void RunLayer(const Pass& pass, size_t layer, LayerParts& parts,
                        std::span<const int64_t> rows) = 0;
  // out[i], of `hidden` floats, is what the head reads of row first + i of pass.residual, which the
  // last layer left. The pass is over: its batch is not to be looked at.
  virtual void Finish(const Pass& pass, int64_t first, int64_t count, float* out) = 0;
};

// Moves the chosen rows of `width` floats to the front, in order.
void KeepRows(float* data, int64_t width, std::span<const int64_t> rows);

}  // namespace cairn

#endif  // CAIRN_MODELS_RESIDUAL_H_
