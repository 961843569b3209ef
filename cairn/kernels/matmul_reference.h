// The definition of the matrix products: scalar, slow, and what every kernel must equal bit for
// bit.
#ifndef CAIRN_KERNELS_MATMUL_REFERENCE_H_
#define CAIRN_KERNELS_MATMUL_REFERENCE_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "cairn/base/dtype.h"
#include "cairn/kernels/matmul.h"

namespace cairn {

// A group of 32 quantized values of x, as quantize.h says: x = scale * code.
struct ReferenceGroup {
  float scale;
  int32_t codes[kQuantGroup];
};
ReferenceGroup QuantizeReference(const float* x, ActivationPrecision precision);

// x . row, for one stored row of weights.
float DotReference(DType dtype, std::span<const std::byte> row, const float* x, int64_t columns,
                   ActivationPrecision precision);

}  // namespace cairn

#endif  // CAIRN_KERNELS_MATMUL_REFERENCE_H_
