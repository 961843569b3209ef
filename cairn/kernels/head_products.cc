#include "cairn/kernels/head_products.h"

#include <algorithm>
#include <cstring>

#include "cairn/base/work_log.h"
#include "cairn/kernels/state_rows.h"
#include "cairn/kernels/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cairn/kernels/head_products.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"

#include "cairn/kernels/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace cairn::HWY_NAMESPACE {
namespace {

constexpr FloatTag d;
constexpr int kTokensAtOnce = kParts == 1 ? 4 : 2;

// kVectors vectors of outputs of kTokens tokens; the last may be partly beyond the rows.
template <class T, int kTokens, int kVectors>
HWY_INLINE void ProductBlock(const T* HWY_RESTRICT weights, int64_t stride, int64_t columns,
                             const float* HWY_RESTRICT x, int64_t x_stride, float* HWY_RESTRICT y,
                             int64_t y_stride, int64_t rows_left) {
  FloatVector sums[kTokens][kVectors];
  for (int t = 0; t < kTokens; ++t)
    for (int v = 0; v < kVectors; ++v) sums[t][v] = hn::Zero(d);
  for (int64_t k = 0; k < columns; ++k) {
    FloatVector weight[kVectors];
    for (int v = 0; v < kVectors; ++v) {
      weight[v] = LoadAsFloat(d, weights + k * stride + v * kWidth);
    }
    for (int t = 0; t < kTokens; ++t) {
      const FloatVector factor = hn::Set(d, x[t * x_stride + k]);
      for (int v = 0; v < kVectors; ++v) sums[t][v] = hn::MulAdd(factor, weight[v], sums[t][v]);
    }
  }
  for (int t = 0; t < kTokens; ++t) {
    for (int v = 0; v < kVectors; ++v) {
      const int64_t left = rows_left - v * kWidth;
      float* to = y + t * y_stride + v * kWidth;
      if (left >= kWidth) {
        hn::StoreU(sums[t][v], d, to);
      } else if (left > 0) {
        hn::StoreN(sums[t][v], d, to, static_cast<size_t>(left));
      }
    }
  }
}

// `count` rows of outputs, up to 64, from row `first`.
template <class T, int kTokens>
HWY_INLINE void ProductRows(const T* weights, int64_t stride, int64_t columns, const float* x,
                            int64_t x_stride, float* y, int64_t y_stride, int64_t first,
                            int64_t count) {
  constexpr int kVectors = 4;
  for (int64_t o = first; o < first + count;) {
    const int64_t left = first + count - o;
    if (left >= kVectors * kWidth) {
      ProductBlock<T, kTokens, kVectors>(weights + o, stride, columns, x, x_stride, y + o, y_stride,
                                         left);
      o += kVectors * kWidth;
    } else {
      ProductBlock<T, kTokens, 1>(weights + o, stride, columns, x, x_stride, y + o, y_stride, left);
      o += kWidth;
    }
  }
}

template <class T>
void ProductT(const std::byte* weights, int64_t stride, int64_t columns, const float* x,
              int64_t x_stride, float* y, int64_t y_stride, int64_t tokens, int64_t first,
              int64_t count) {
  const T* w = reinterpret_cast<const T*>(weights);
  int64_t t = 0;
  for (; t + kTokensAtOnce <= tokens; t += kTokensAtOnce) {
    ProductRows<T, kTokensAtOnce>(w, stride, columns, x + t * x_stride, x_stride, y + t * y_stride,
                                  y_stride, first, count);
  }
  for (; t < tokens; ++t) {
    ProductRows<T, 1>(w, stride, columns, x + t * x_stride, x_stride, y + t * y_stride, y_stride,
                      first, count);
  }
}

void Product(DType dtype, const std::byte* weights, int64_t stride, int64_t columns, const float* x,
             int64_t x_stride, float* y, int64_t y_stride, int64_t tokens, int64_t first,
             int64_t count) {
  switch (dtype) {
    case DType::kF16:
      return ProductT<hwy::float16_t>(weights, stride, columns, x, x_stride, y, y_stride, tokens,
                                      first, count);
    case DType::kBF16:
      return ProductT<hwy::bfloat16_t>(weights, stride, columns, x, x_stride, y, y_stride, tokens,
                                       first, count);
    default:
      return ProductT<float>(weights, stride, columns, x, x_stride, y, y_stride, tokens, first,
                             count);
  }
}

}  // namespace
// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace cairn::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cairn {

HWY_EXPORT(Product);

namespace {

constexpr int64_t kStrideRows = 16;
// What one index of the parallel loop computes: of one head, for so many tokens.
constexpr int64_t kRowsAtOnce = 128;
constexpr int64_t kTokensPerPart = 32;

int64_t ElementBytes(DType dtype) { return BytesOf(dtype, ElementCount(1)).value(); }
int64_t Parts(int64_t total, int64_t part) { return (total + part - 1) / part; }

}  // namespace

HeadMatrices::HeadMatrices(DType source, int64_t heads, int64_t columns, int64_t rows)
    : heads_(heads),
      columns_(columns),
      rows_(rows),
      stride_(Parts(rows, kStrideRows) * kStrideRows),
      dtype_(source == DType::kF16 || source == DType::kBF16 ? source : DType::kF32) {
  data_.Reserve(static_cast<size_t>(bytes()));
  std::memset(data_.data(), 0, static_cast<size_t>(bytes()));
}

int64_t HeadMatrices::bytes() const { return heads_ * columns_ * stride_ * ElementBytes(dtype_); }

const std::byte* HeadMatrices::Head(int64_t head) const {
  return data_.data() + head * columns_ * stride_ * ElementBytes(dtype_);
}

void HeadMatrices::Set(int64_t index, float value) {
  StoreFloats(dtype_, &value, 1, data_.data() + index * ElementBytes(dtype_));
}

void HeadMatrices::SetColumn(int64_t head, int64_t column, const float* values) {
  for (int64_t o = 0; o < rows_; ++o) Set((head * columns_ + column) * stride_ + o, values[o]);
}

void HeadMatrices::SetRow(int64_t head, int64_t row, const float* values) {
  for (int64_t k = 0; k < columns_; ++k) Set((head * columns_ + k) * stride_ + row, values[k]);
}

void HeadProducts(const HeadMatrices& matrices, const HeadVectors& x, int64_t tokens,
                  const HeadVectors& y, ThreadPool& pool) {
  const WorkScope work(pool, WorkKind::kMatrixProduct);
  if (WorkDone* done = work.done()) {
    const int64_t operations = 2 * tokens * matrices.heads() * matrices.columns() * matrices.rows();
    done->weight_bytes += matrices.bytes();
    done->operations[Arithmetic::kF32] += operations;
    done->executed[Arithmetic::kF32] += operations;
  }
  const int64_t row_parts = Parts(matrices.rows(), kRowsAtOnce);
  const int64_t token_parts = Parts(tokens, kTokensPerPart);
  const int64_t stride = Parts(matrices.rows(), kStrideRows) * kStrideRows;
  auto body = [&](int64_t index, int /*thread*/) {
    const int64_t first = index % row_parts * kRowsAtOnce;
    const int64_t token = index / row_parts % token_parts * kTokensPerPart;
    const int64_t head = index / row_parts / token_parts;
    HWY_DYNAMIC_DISPATCH(Product)
    (matrices.dtype(), matrices.Head(head), stride, matrices.columns(),
     x.data + token * x.token_stride + head * x.head_stride, x.token_stride,
     y.data + token * y.token_stride + head * y.head_stride, y.token_stride,
     std::min(kTokensPerPart, tokens - token), first,
     std::min(kRowsAtOnce, matrices.rows() - first));
  };
  pool.ParallelFor(matrices.heads() * token_parts * row_parts, body);
}

}  // namespace cairn
#endif  // HWY_ONCE
