// Mixer and FeedForward: the parts that a layer is made of.
//
// A kind of mixer or network is a class in a file of its own, a row in parts.h and one in the visit
// of parts.cc. A part loads its own weights, knows where its state lies, and computes the same bits
// for a token however the batch is cut: recurrences go token by token. Parts own no working memory
// (Workspace has it) and change nothing but the state. Thread safety: one pass at a time.
#ifndef CAIRN_MODELS_PART_H_
#define CAIRN_MODELS_PART_H_

#include <cstdint>
#include <span>

#include "cairn/models/key_standards.h"
#include "cairn/models/pass.h"
#include "cairn/models/rope_table.h"
#include "cairn/models/tensor_loader.h"
#include "cairn/spec/model_spec.h"
#include "cairn/spec/state_layout.h"

namespace cairn {

class Mixer {
 public:
  virtual ~Mixer() = default;

  // Writes the state of all tokens, and to out[i] what the mixer makes of token rows[i]; `normed`
  // is [tokens][hidden], `out` [rows][hidden]. `rows` is ascending, and may be empty.
  virtual void Run(const Pass& pass, const float* normed, std::span<const int64_t> rows,
                   float* out) = 0;
};

class FeedForward {
 public:
  virtual ~FeedForward() = default;

  // out[i] = what the network makes of normed[i], the input of token rows[i]; both [rows][hidden].
  virtual void Run(const Pass& pass, const float* normed, std::span<const int64_t> rows,
                   float* out) = 0;
  // It keeps state, so it must see all tokens, even after the last layer's mixer.
  virtual bool KeepsState() const { return false; }
};

// What a part is made from: the tensors of its layer, its place among the layers.
struct LayerBuild {
  PartLoader loader;
  const ModelSpec& model;
  const StateLayout& layout;
  LayerIndex layer;
  RopeTables& ropes;
  const KeyStandards& standards;

  const LayerSpec& spec() const { return model.layers[static_cast<size_t>(layer.value())]; }
};

}  // namespace cairn

#endif  // CAIRN_MODELS_PART_H_
