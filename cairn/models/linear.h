// Linear: a packed matrix and its bias, and the product that uses it.
#ifndef CAIRN_MODELS_LINEAR_H_
#define CAIRN_MODELS_LINEAR_H_

#include <cstdint>
#include <vector>

#include "cairn/kernels/matmul.h"
#include "cairn/kernels/packed_matrix.h"

namespace cairn {

struct Linear {
  PackedMatrix matrix;
  std::vector<float> bias;  // empty: none

  int64_t rows() const { return matrix.rows(); }
  bool empty() const { return matrix.rows() == 0; }
  const float* bias_or_null() const { return bias.empty() ? nullptr : bias.data(); }

  // Into rows of `out` that lie one behind the other.
  MatMulTask Into(float* out, ActivationPrecision precision = ActivationPrecision::k8) const {
    return {.matrix = &matrix,
            .bias = bias_or_null(),
            .out = out,
            .stride = matrix.rows(),
            .precision = precision};
  }
};

// What later tokens read again, and the head: where 8-bit activations cost the most accuracy for
// the least work (docs/adr/0006 has the measurements).
inline constexpr ActivationPrecision kFinePrecision = ActivationPrecision::k16;

}  // namespace cairn

#endif  // CAIRN_MODELS_LINEAR_H_
