// Matrix products in the one arithmetic order (docs/adr/0006).
//
// y[t][o] is a function of row t of x and row o of w alone: the same bits for any number of tokens
// in the call, any thread count and any split into calls. Integer formats quantize x per token in
// groups of 32 (symmetric int8, scale = max|x| / 127); group products are exact integers, group sums
// are added in the order of k. Thread safety: calls on one ThreadPool come from one thread at a time.
#ifndef CAIRN_KERNELS_MATMUL_H_
#define CAIRN_KERNELS_MATMUL_H_

#include <cstdint>
#include <span>

#include "cairn/base/aligned_buffer.h"
#include "cairn/base/thread_pool.h"
#include "cairn/kernels/packed_matrix.h"

namespace cairn {

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
  bool quantized_ = false;
  AlignedBuffer codes_;
  AlignedBuffer scales_;
};

// out[t * stride + o] = product, for all rows o of the matrix (plus bias[o] where bias isn't null).
struct MatMulTask {
  const PackedMatrix* matrix = nullptr;
  const float* bias = nullptr;
  float* out = nullptr;
  int64_t stride = 0;
};

// Runs all tasks on the same x in one parallel region. REQUIRES: columns() of each matrix == x's.
void MatMul(Activations& x, std::span<const MatMulTask> tasks, ThreadPool& pool);

}  // namespace cairn

#endif  // CAIRN_KERNELS_MATMUL_H_
