// PackedMatrix: a weight matrix rearranged for the matrix-product kernels.
//
// y[t][o] = sum_k w[o][k] x[t][k]. Output features lie in SIMD lanes, 16 to a stripe; a stripe walks
// k from 0 upwards in groups. Integer formats keep codes, scale and minimum (or zero point) per group
// and represent the source's dequantized weights exactly, up to the rounding stated in the .cc;
// float formats keep their floats. Rows beyond `rows` in the last stripe are zero.
// Immutable after Pack; thread-safe.
#ifndef CAIRN_KERNELS_PACKED_MATRIX_H_
#define CAIRN_KERNELS_PACKED_MATRIX_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "cairn/base/aligned_buffer.h"
#include "cairn/base/dtype.h"

namespace cairn {

class ThreadPool;

// Output features to a stripe.
inline constexpr int kStripe = 16;

enum class PackedFormat : uint8_t {
  kF32,
  kF16,
  kBF16,
  kU4Min,    // 4-bit codes c in groups of 32: w = scale * c + minimum (Q4_1, Q4_K)
  kU4Zero,   // 4-bit codes: w = scale * (c - 8) (Q4_0)
  kU8Zero,   // bytes c in groups of 32: w = scale * (c - 128) (Q8_0, Q5_0, IQ4_NL)
  kU8Min,    // bytes: w = scale * c + minimum (Q5_1, Q5_K)
  kU8Zero16, // as kU8Zero with groups of 16 (Q6_K, Q3_K)
  kU8Min16,  // as kU8Min with groups of 16 (Q2_K)
};

class PackedMatrix {
 public:
  PackedMatrix() = default;
  // `source` holds rows x columns elements of `dtype`, row after row.
  // REQUIRES: dtype is a weight format (kF32 .. kIQ4_NL), its block divides columns, source.size()
  // fits, rows > 0, columns > 0.
  static PackedMatrix Pack(DType dtype, std::span<const std::byte> source, int64_t rows,
                           int64_t columns, ThreadPool& pool);

  int64_t rows() const { return rows_; }
  int64_t columns() const { return columns_; }
  PackedFormat format() const { return format_; }
  bool IsInteger() const { return format_ >= PackedFormat::kU4Min; }
  const std::byte* Stripe(int64_t stripe) const { return data_.data() + stripe * stripe_bytes_; }
  int64_t stripes() const { return (rows_ + kStripe - 1) / kStripe; }
  int64_t bytes() const { return static_cast<int64_t>(data_.size()); }

 private:
  AlignedBuffer data_;
  int64_t rows_ = 0;
  int64_t columns_ = 0;
  int64_t stripe_bytes_ = 0;
  PackedFormat format_ = PackedFormat::kF32;
};

}  // namespace cairn

#endif  // CAIRN_KERNELS_PACKED_MATRIX_H_
