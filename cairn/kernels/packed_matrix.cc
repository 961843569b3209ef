#include "cairn/kernels/packed_matrix.h"

#include <algorithm>

#include "cairn/base/check.h"
#include "cairn/base/env.h"
#include "cairn/base/thread_pool.h"
#include "cairn/kernels/dequantize.h"
#include "cairn/kernels/pack_arena.h"
#include "cairn/kernels/pack_stripe.h"

namespace cairn {
namespace {

// Stripes to one index of the parallel loop: enough work to outweigh claiming it.
constexpr int64_t kStripesPerUnit = 4;
// Source bytes that are brought, packed and dropped at once: some of the largest pages, and far
// less than any model.
constexpr int64_t kWindowBytes = int64_t{4} << 20;

int64_t PaddedStripeBytes(DType dtype, int64_t columns) {
  const std::optional<BlockScheme> scheme = BlockSchemeOf(dtype);
  const int64_t bytes =
      scheme ? StripeBytes(*scheme, columns) : columns * kStripe * InfoOf(dtype).block_bytes;
  return (bytes + kStripeAlignment - 1) / kStripeAlignment * kStripeAlignment;
}

}  // namespace

// Stripes [first, end), whose rows `source` holds, on all threads.
void PackedMatrix::PackStripes(std::span<const std::byte> source, int64_t first, int64_t end,
                               ThreadPool& pool) {
  const int64_t row_bytes = BytesOf(dtype_, ElementCount(columns_)).value();
  auto pack = [&](int64_t unit, int /*thread*/) {
    const int64_t unit_first = first + unit * kStripesPerUnit;
    const int64_t unit_end = std::min(unit_first + kStripesPerUnit, end);
    for (int64_t stripe = unit_first; stripe < unit_end; ++stripe) {
      const int lanes = static_cast<int>(std::min<int64_t>(kStripe, rows_ - stripe * kStripe));
      PackStripe(dtype_,
                 {.rows = source.data() + (stripe - first) * kStripe * row_bytes,
                  .row_bytes = row_bytes,
                  .lanes = lanes,
                  .columns = columns_},
                 data_ + stripe * stripe_bytes_, stripe_bytes_);
    }
  };
  pool.ParallelFor((end - first + kStripesPerUnit - 1) / kStripesPerUnit, pack);
}

PackedMatrix PackedMatrix::Pack(DType dtype, std::span<const std::byte> source, int64_t rows,
                                int64_t columns, ThreadPool& pool, PackArena* arena,
                                const MappedFile* file) {
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
  const int64_t stripe_rows_bytes = kStripe * row_bytes;
  const int64_t window = std::max<int64_t>(kWindowBytes / stripe_rows_bytes, kStripesPerUnit);
  // The rows of stripes [first, first + window).
  const auto rows_of = [&](int64_t first) {
    const int64_t begin = std::min(first * kStripe, rows) * row_bytes;
    const int64_t end = std::min((first + window) * kStripe, rows) * row_bytes;
    return source.subspan(static_cast<size_t>(begin), static_cast<size_t>(end - begin));
  };
  for (int64_t first = 0; first < matrix.stripes(); first += window) {
    const std::span<const std::byte> part = rows_of(first);
    if (file != nullptr) {
      file->Populate(part);
      file->WillNeed(rows_of(first + window));
    }
    matrix.PackStripes(part, first, std::min(first + window, matrix.stripes()), pool);
    if (file != nullptr) file->DropPages(part);
  }
  return matrix;
}

}  // namespace cairn
