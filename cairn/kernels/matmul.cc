#include "cairn/kernels/matmul.h"

#include <algorithm>

#include "cairn/base/check.h"
#include "cairn/kernels/matmul_stripes.h"

namespace cairn {
namespace {

// Claiming a unit costs a fraction of a microsecond; these are some microseconds of work each.
constexpr int64_t kBytesPerUnit = int64_t{64} << 10;
constexpr int64_t kOperationsPerUnit = int64_t{4} << 20;
// So many elements are quantized faster than threads are woken.
constexpr int64_t kQuantizedAlone = 8192;

// Stripes to one index of the parallel loop.
int64_t StripesPerUnit(const PackedMatrix& matrix, int64_t tokens) {
  const int64_t operations = 2 * kStripe * matrix.columns() * tokens;
  const int64_t wanted =
      std::min(kBytesPerUnit / matrix.stripe_bytes(), kOperationsPerUnit / operations);
  return std::clamp<int64_t>(wanted, 1, matrix.stripes());
}

int64_t Units(const PackedMatrix& matrix, int64_t stripes_per_unit) {
  return (matrix.stripes() + stripes_per_unit - 1) / stripes_per_unit;
}

}  // namespace

// What MatMul may do with an Activations.
class MatMulAccess {
 public:
  static void Prepare(Activations& x, std::span<const MatMulTask> tasks, ThreadPool& pool) {
    int64_t panel_bytes = 0;
    for (const MatMulTask& task : tasks) {
      CAIRN_CHECK(task.matrix->columns() == x.columns_);
      if (!task.matrix->IsInteger()) continue;
      Quantize(x, task.precision, pool);
      panel_bytes = std::max(panel_bytes, kPanelStripes * PanelBytes(*task.matrix));
    }
    if (x.tokens_ <= kMaxStreamedTokens) return;
    x.panel_bytes_ = panel_bytes;
    x.panels_.Reserve(static_cast<size_t>(panel_bytes * pool.threads()));
  }

  // Stripes of the unit-th piece of a task.
  static void RunUnit(Activations& x, const MatMulTask& task, int64_t unit, int thread) {
    const PackedMatrix& matrix = *task.matrix;
    const int64_t step = StripesPerUnit(matrix, x.tokens_);
    const StripeRange range = {unit * step, std::min((unit + 1) * step, matrix.stripes())};
    const ProductOut out = {task.out, task.stride, task.bias};
    if (!matrix.IsInteger()) {
      return FloatStripes(matrix, {x.rows_, x.tokens_, x.stride_}, out, range);
    }
    const IntegerProduct product = {matrix, x.quantized_[static_cast<size_t>(task.precision)], out};
    if (x.tokens_ <= kMaxStreamedTokens) {
      StreamStripes(product, range);
    } else {
      PanelStripes(product, range, x.panels_.data() + thread * x.panel_bytes_);
    }
  }

 private:
  static void Quantize(Activations& x, ActivationPrecision precision, ThreadPool& pool) {
    const auto index = static_cast<size_t>(precision);
    if (x.is_quantized_[index]) return;
    x.is_quantized_[index] = true;
    QuantizedRows& rows = x.quantized_[index];
    rows.Reset(x.tokens_, x.columns_, precision == ActivationPrecision::k8 ? 1 : 2);
    auto quantize = [&](int64_t tile, int /*thread*/) {
      rows.QuantizeTile(tile, x.rows_, x.stride_);
    };
    if (x.tokens_ * x.columns_ > kQuantizedAlone) {
      pool.ParallelFor(rows.tiles().count(), quantize);
    } else {
      for (int64_t tile = 0; tile < rows.tiles().count(); ++tile) quantize(tile, 0);
    }
  }
};

void Activations::Set(const float* rows, int64_t tokens, int64_t columns, int64_t stride) {
  CAIRN_CHECK(tokens >= 0 && columns > 0 && stride >= columns);
  rows_ = rows;
  tokens_ = tokens;
  columns_ = columns;
  stride_ = stride;
  is_quantized_ = {};
}

void MatMul(Activations& x, std::span<const MatMulTask> tasks, ThreadPool& pool) {
  if (x.tokens() == 0) return;
  MatMulAccess::Prepare(x, tasks, pool);
  int64_t units = 0;
  for (const MatMulTask& task : tasks) {
    units += Units(*task.matrix, StripesPerUnit(*task.matrix, x.tokens()));
  }
  auto run = [&](int64_t index, int thread) {
    for (const MatMulTask& task : tasks) {
      const int64_t count = Units(*task.matrix, StripesPerUnit(*task.matrix, x.tokens()));
      if (index < count) return MatMulAccess::RunUnit(x, task, index, thread);
      index -= count;
    }
  };
  pool.ParallelFor(units, run);
}

}  // namespace cairn
