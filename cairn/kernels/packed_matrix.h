// PackedMatrix: a weight matrix rearranged for the matrix-product kernels.
//
// y[t][o] = sum_k w[o][k] x[t][k]. Output features lie in SIMD lanes, 16 to a stripe; a stripe
// walks k from 0 upwards. The source's codes, scales and minimums are kept as they are, in another
// order: a packed matrix stands for exactly the weights that DequantizeRow names before its
// rounding. Rows beyond rows() in the last stripe are zero. Immutable after Pack; thread-safe.
//
// A stripe of floats: [column][lane]. A stripe of a block format is a row of chunks of 256 columns
// (the last may be shorter), padded to kStripeAlignment. A chunk:
//   codes, for each 32 columns: planes of 64-byte vectors, in which byte 4 * lane + b belongs to
//     column 4 * step + b, step 0 .. 7.
//       8 bits: one vector per step.
//       nibbles (codes of 4, 5, 6 bits): 4 vectors; v holds step v low and step v + 4 high.
//       pairs (2, 3 bits; the top of 6): 2 vectors; v holds step v + 2 i in bits 2 i and 2 i + 1.
//       bits (the top of 3 and 5): 1 vector, step i in bit i.
//   scales: without groups, for each 32 columns 16 half-precision scales [, 16 minimums].
//     With groups 16 scales [, 16 minimums] in half precision, then for each group 16 scale bytes
//     [, 16 minimum bytes].
// So a kernel reads one stream, in which what belongs together is close, and vectors are aligned.
#ifndef CAIRN_KERNELS_PACKED_MATRIX_H_
#define CAIRN_KERNELS_PACKED_MATRIX_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "cairn/base/aligned_buffer.h"
#include "cairn/base/dtype.h"
#include "cairn/kernels/quantized_block.h"

namespace cairn {

class MappedFile;
class PackArena;
class ThreadPool;

// Output features to a stripe.
inline constexpr int kStripe = 16;
inline constexpr int64_t kStripeAlignment = 64;
// Columns whose codes are kept together.
inline constexpr int kCodeColumns = 32;

// Columns of a chunk; a multiple of every block.
inline constexpr int kChunkColumns = 256;

// Bytes of the codes of 32 columns of a stripe.
constexpr int64_t CodeBytes(const BlockScheme& scheme) {
  return scheme.code_bits * kStripe * kCodeColumns / 8;
}

// Bytes of the scales of one block of a stripe.
constexpr int64_t ScaleBytes(const BlockScheme& scheme) {
  const int groups = scheme.has_groups ? scheme.elements / scheme.group : 0;
  return (scheme.has_minimum ? 2 : 1) * kStripe * (2 + groups);
}

// Bytes of `columns` columns of a stripe, padding aside.
constexpr int64_t StripeBytes(const BlockScheme& scheme, int64_t columns) {
  return columns / kCodeColumns * CodeBytes(scheme) +
         columns / scheme.elements * ScaleBytes(scheme);
}

class PackedMatrix {
 public:
  PackedMatrix() = default;
  // `source` holds rows x columns elements of `dtype`, row after row.
  // REQUIRES: IsWeightFormat(dtype), its block divides columns, source.size() fits, rows > 0,
  // columns > 0. With an arena the matrix lies there and must not outlive it. With `file`, which
  // the source is a part of, pages are read ahead and given back on the way: of the file hardly
  // more than a window is in memory.
  static PackedMatrix Pack(DType dtype, std::span<const std::byte> source, int64_t rows,
                           int64_t columns, ThreadPool& pool, PackArena* arena = nullptr,
                           const MappedFile* file = nullptr);

  int64_t rows() const { return rows_; }
  int64_t columns() const { return columns_; }
  // The source's format.
  DType dtype() const { return dtype_; }
  // Products quantize x, too.
  bool IsInteger() const { return BlockSchemeOf(dtype_).has_value(); }
  const std::byte* Stripe(int64_t stripe) const { return data_ + stripe * stripe_bytes_; }
  int64_t stripes() const { return (rows_ + kStripe - 1) / kStripe; }
  int64_t stripe_bytes() const { return stripe_bytes_; }
  int64_t bytes() const { return stripes() * stripe_bytes_; }

 private:
  void PackStripes(std::span<const std::byte> source, int64_t first, int64_t end, ThreadPool& pool);

  AlignedBuffer own_;  // empty with an arena
  std::byte* data_ = nullptr;
  int64_t rows_ = 0;
  int64_t columns_ = 0;
  int64_t stripe_bytes_ = 0;
  DType dtype_ = DType::kF32;
};

}  // namespace cairn

#endif  // CAIRN_KERNELS_PACKED_MATRIX_H_
