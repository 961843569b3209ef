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

struct IntegerProduct {
  const PackedMatrix& matrix;
  const QuantizedRows& x;
  ProductOut out;
};

// Straight from the packed form, unpacking a group of a stripe for each tile of tokens.
// REQUIRES: matrix.IsInteger().
void StreamStripes(const IntegerProduct& product, StripeRange range);

// More tokens than this should use panels.
inline constexpr int64_t kMaxStreamedTokens = 8;
// Stripes whose panels a thread keeps at once: each tile of x is read once for all of them.
inline constexpr int64_t kPanelStripes = 4;
int64_t PanelBytes(const PackedMatrix& matrix);

// Unpacks stripes into panels first. REQUIRES: matrix.IsInteger(), more than 8 tokens, `panels` has
// room for kPanelStripes * PanelBytes(matrix).
void PanelStripes(const IntegerProduct& product, StripeRange range, std::byte* panels);

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
