// Matrix products in the one arithmetic order.
//
// y[t][o] is a function of row t of x and row o of w alone: the same bits for any number of tokens
// in the call, any thread count, any split into calls and any instruction set. Integer formats
// quantize x per token (quantize.h); products of a group are exact integers, and groups are added
// in the order of k. Float formats are one chain of fused multiply-adds over k. matmul_reference.h
// spells both out. Thread safety: calls on one ThreadPool come from one thread at a time.
#ifndef CAIRN_KERNELS_MATMUL_H_
#define CAIRN_KERNELS_MATMUL_H_

#include <array>
#include <cstdint>
#include <span>

#include "cairn/base/aligned_buffer.h"
#include "cairn/base/claim_ranges.h"
#include "cairn/base/thread_pool.h"
#include "cairn/kernels/packed_matrix.h"
#include "cairn/kernels/quantize.h"

namespace cairn {

// How finely x is quantized for a product with an integer matrix: int8 codes, or 16 bits in two
// planes, which takes twice the operations but no more memory traffic of weights.
enum class ActivationPrecision : uint8_t { k8, k16 };
inline constexpr int kActivationPrecisions = 2;

// The rows of x in the forms that kernels read. Reused from call to call: grows to the largest
// tokens x columns seen, then allocates nothing.
class Activations {
 public:
  // Keeps a reference to `rows` (tokens x columns floats, row stride `stride`) until the next Set.
  // Quantizes only when a product with an integer matrix asks for it, once.
  void Set(const float* rows, int64_t tokens, int64_t columns, int64_t stride);

  int64_t tokens() const { return tokens_; }
  int64_t columns() const { return columns_; }

 private:
  friend class MatMulAccess;
  const float* rows_ = nullptr;
  int64_t tokens_ = 0;
  int64_t columns_ = 0;
  int64_t stride_ = 0;
  std::array<bool, kActivationPrecisions> is_quantized_ = {};
  std::array<QuantizedRows, kActivationPrecisions> quantized_;
  AlignedBuffer panels_;  // panel_bytes_ of scratch for each thread
  int64_t panel_bytes_ = 0;
  ClaimRanges claims_;
};

// out[t * stride + o] = product, for all rows o of the matrix (plus bias[o] where bias isn't null).
struct MatMulTask {
  const PackedMatrix* matrix = nullptr;
  const float* bias = nullptr;
  float* out = nullptr;
  int64_t stride = 0;
  ActivationPrecision precision = ActivationPrecision::k8;
};

// Runs all tasks on the same x in one parallel region. REQUIRES: columns() of each matrix == x's.
void MatMul(Activations& x, std::span<const MatMulTask> tasks, ThreadPool& pool);

}  // namespace cairn

#endif  // CAIRN_KERNELS_MATMUL_H_
