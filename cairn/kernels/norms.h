// Norms of recurrent mixers and of the models around them, beside ops.h's RMSNorm.
//
// Each works on one token's vector and gives the same bits for the same vector, whatever the
// instruction set. Thread-safe.
#ifndef CAIRN_KERNELS_NORMS_H_
#define CAIRN_KERNELS_NORMS_H_

#include <cstdint>

namespace cairn {

// Each of `heads` vectors of `width`: x * scale / sqrt(sum(x^2) + epsilon).
struct L2NormShape {
  int64_t heads = 0;
  int64_t width = 0;
  double epsilon = 0;
  float scale = 1;
};
void L2NormHeads(const L2NormShape& shape, float* x);

enum class GateActivation : uint8_t { kNone, kSilu, kSigmoid };
enum class GateOrder : uint8_t { kAfterNorm, kBeforeNorm };

// Each of `groups` vectors of `width`: with r(x) = x / sqrt(mean(x^2) + epsilon),
//   after:  r(x) * weight * activation(gate);  before: r(x * activation(gate)) * weight.
struct GatedNorm {
  int64_t groups = 0;
  int64_t width = 0;
  double epsilon = 0;
  const float* weight = nullptr;  // null: ones
  int64_t weight_stride = 0;      // 0: the groups share `width` weights; else floats between theirs
  GateActivation activation = GateActivation::kSilu;
  GateOrder order = GateOrder::kAfterNorm;
};
// In place. `gate` is not read for kNone.
void GatedRmsNorm(const GatedNorm& norm, const float* gate, float* x);

// Each of `groups` vectors of `width`: (x - mean) / sqrt(variance + epsilon) * weight + bias, with
// weights and biases for every element. One group: LayerNorm. `out` may be `x`.
struct GroupNormShape {
  int64_t groups = 1;
  int64_t width = 0;
  double epsilon = 0;
  const float* weight = nullptr;
  const float* bias = nullptr;  // null: none
};
void GroupNorm(const GroupNormShape& norm, const float* x, float* out);

}  // namespace cairn

#endif  // CAIRN_KERNELS_NORMS_H_
