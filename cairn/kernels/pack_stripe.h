// One stripe of a PackedMatrix: up to 16 rows of stored weights in the layout of packed_matrix.h.
// Thread-safe.
#ifndef CAIRN_KERNELS_PACK_STRIPE_H_
#define CAIRN_KERNELS_PACK_STRIPE_H_

#include <cstddef>
#include <cstdint>

#include "cairn/base/dtype.h"

namespace cairn {

struct StripeSource {
  const std::byte* rows;  // the first row
  int64_t row_bytes;
  int lanes;  // rows there are; the lanes above become zero
  int64_t columns;
};

// Writes all `stripe_bytes` bytes of `stripe`.
void PackStripe(DType dtype, const StripeSource& source, std::byte* stripe, int64_t stripe_bytes);

}  // namespace cairn

#endif  // CAIRN_KERNELS_PACK_STRIPE_H_
