// The gated MLP: down(activation(gate x) * up x). Thread safety: one call at a time.
#ifndef CAIRN_MODELS_MLP_H_
#define CAIRN_MODELS_MLP_H_

#include <cstdint>

#include "cairn/kernels/matmul.h"
#include "cairn/models/decoder_weights.h"

namespace cairn {

class GatedMlp {
 public:
  explicit GatedMlp(ThreadPool& pool) : pool_(pool) {}

  // out[t] = mlp(normed[t]), both [tokens][hidden].
  void Run(const GatedMlpSpec& spec, const MlpWeights& weights, const float* normed, int64_t tokens,
           int64_t hidden, float* out);

 private:
  ThreadPool& pool_;
  Activations activations_;
  Activations inner_;
  AlignedBuffer gate_;
  AlignedBuffer up_;
};

}  // namespace cairn

#endif  // CAIRN_MODELS_MLP_H_
