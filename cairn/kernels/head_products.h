// One small matrix for each head, applied to that head's part of every token's vector: what latent
// attention absorbs into its queries and takes out of its results.
//
// y[t][h][o] = sum_k w[h][k][o] x[t][h][k], one chain of fused multiply-adds over k from 0 upwards:
// the same bits for any number of tokens and threads. Weights of 16 bits stay as they are, others
// become floats. HeadMatrices: immutable once filled; thread-safe. HeadProducts: one call at a time
// on one pool.
#ifndef CAIRN_KERNELS_HEAD_PRODUCTS_H_
#define CAIRN_KERNELS_HEAD_PRODUCTS_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "cairn/base/aligned_buffer.h"
#include "cairn/base/dtype.h"
#include "cairn/base/thread_pool.h"

namespace cairn {

class HeadMatrices {
 public:
  HeadMatrices() = default;
  HeadMatrices(DType source, int64_t heads, int64_t columns, int64_t rows);

  int64_t heads() const { return heads_; }
  int64_t columns() const { return columns_; }
  int64_t rows() const { return rows_; }
  DType dtype() const { return dtype_; }
  int64_t bytes() const;
  const std::byte* Head(int64_t head) const;

  // w[head][column][*] and w[head][*][row], from floats that the source's type holds exactly.
  void SetColumn(int64_t head, int64_t column, const float* values);
  void SetRow(int64_t head, int64_t row, const float* values);

 private:
  void Set(int64_t index, float value);

  AlignedBuffer data_;  // [head][column][row], rows rounded up to 16
  int64_t heads_ = 0;
  int64_t columns_ = 0;
  int64_t rows_ = 0;
  int64_t stride_ = 0;  // from column to column
  DType dtype_ = DType::kF32;
};

// Where heads' vectors lie: head h of token t at data + t * token_stride + h * head_stride.
struct HeadVectors {
  float* data = nullptr;
  int64_t token_stride = 0;
  int64_t head_stride = 0;
};

void HeadProducts(const HeadMatrices& matrices, const HeadVectors& x, int64_t tokens,
                  const HeadVectors& y, ThreadPool& pool);

}  // namespace cairn

#endif  // CAIRN_KERNELS_HEAD_PRODUCTS_H_
