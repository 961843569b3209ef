// The inner calls of MatMul: some stripes of one matrix times all tokens. Not for other folders.
// Thread-safe for disjoint stripes.
#ifndef CAIRN_KERNELS_MATMUL_STRIPES_H_
#define CAIRN_KERNELS_MATMUL_STRIPES_H_

#include <cstddef>
#include <cstdint>

#include "cairn/kernels/packed_matrix.h"
#include "cairn/kernels/quantize.h"

namespace cairn {

// Where products go: out[t * stride + o], plus bias[o] where bias isn't null.
struct ProductOut {
  float* out;
  int64_t stride;
  const float* bias;
};

struct StripeRange {
  int64_t first;
  int64_t end;
};

// With more tokens than this, the codes of a stripe are unpacked once, into a panel.
inline constexpr int64_t kMaxStreamedTokens = 8;
// Stripes whose panels a thread keeps at once.
inline constexpr int64_t kPanelStripes = 4;
// Scratch for IntegerStripes.
int64_t PanelBytes(const PackedMatrix& matrix);

// REQUIRES: matrix.IsInteger(); `panels` has room for kPanelStripes x PanelBytes(matrix).
void IntegerStripes(const PackedMatrix& matrix, const QuantizedRows& x, const ProductOut& out,
                    StripeRange range, std::byte* panels);

struct FloatRows {
  const float* rows;
  int64_t tokens;
  int64_t stride;
};

// REQUIRES: !matrix.IsInteger().
void FloatStripes(const PackedMatrix& matrix, const FloatRows& x, const ProductOut& out,
                  StripeRange range);

}  // namespace cairn

#endif  // CAIRN_KERNELS_MATMUL_STRIPES_H_
