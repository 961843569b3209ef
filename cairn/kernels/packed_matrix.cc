#include "cairn/kernels/packed_matrix.h"

#include <algorithm>

#include "cairn/base/check.h"
#include "cairn/base/thread_pool.h"
#include "cairn/kernels/dequantize.h"
#include "cairn/kernels/pack_arena.h"
#include "cairn/kernels/pack_stripe.h"

namespace cairn {
namespace {

// Stripes to one index of the parallel loop: enough work to outweigh claiming it.
constexpr int64_t kStripesPerUnit = 4;

int64_t PaddedStripeBytes(DType dtype, int64_t columns) {
  const std::optional<BlockScheme> scheme = BlockSchemeOf(dtype);
  const int64_t bytes =
      scheme ? StripeBytes(*scheme, columns) : columns * kStripe * InfoOf(dtype).block_bytes;
  return (bytes + kStripeAlignment - 1) / kStripeAlignment * kStripeAlignment;
}

}  // namespace

PackedMatrix PackedMatrix::Pack(DType dtype, std::span<const std::byte> source, int64_t rows,
                                int64_t columns, ThreadPool& pool, PackArena* arena) {
  CAIRN_CHECK(IsWeightFormat(dtype) && rows > 0 && columns > 0);
  const int64_t row_bytes = BytesOf(dtype, ElementCount(columns)).value();
  CAIRN_CHECK(static_cast<int64_t>(source.size()) / rows >= row_bytes);
  PackedMatrix matrix;
  matrix.rows_ = rows;
  matrix.columns_ = columns;
  matrix.dtype_ = dtype;
  matrix.stripe_bytes_ = PaddedStripeBytes(dtype, columns);
  if (arena == nullptr) {
    matrix.own_ = AlignedBuffer(static_cast<size_t>(matrix.bytes()));
    matrix.own_.PreferHugePages();
    matrix.data_ = matrix.own_.data();
  } else {
    matrix.data_ = arena->Allocate(matrix.bytes());
  }
  auto pack = [&](int64_t unit, int /*thread*/) {
    const int64_t end = std::min((unit + 1) * kStripesPerUnit, matrix.stripes());
    for (int64_t stripe = unit * kStripesPerUnit; stripe < end; ++stripe) {
      const int64_t first = stripe * kStripe;
      const int lanes = static_cast<int>(std::min<int64_t>(kStripe, rows - first));
      PackStripe(dtype,
                 {.rows = source.data() + first * row_bytes,
                  .row_bytes = row_bytes,
                  .lanes = lanes,
                  .columns = columns},
                 matrix.data_ + stripe * matrix.stripe_bytes_, matrix.stripe_bytes_);
    }
  };
  pool.ParallelFor((matrix.stripes() + kStripesPerUnit - 1) / kStripesPerUnit, pack);
  return matrix;
}

}  // namespace cairn
