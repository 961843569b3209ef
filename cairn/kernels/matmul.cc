#include "cairn/kernels/matmul.h"

#include <algorithm>
#include <utility>

#include "cairn/base/check.h"
#include "cairn/base/work_log.h"
#include "cairn/kernels/matmul_stripes.h"

namespace cairn {
namespace {

// So many elements are quantized faster than threads are woken.
constexpr int64_t kQuantizedAlone = 8192;

// Rough speed of one thread, to cut work into units; results don't depend on it.
constexpr double kBytesPerNanosecond = 20;
constexpr double kIntegerOperationsPerNanosecond = 400;
constexpr double kFloatOperationsPerNanosecond = 150;
// Units are small enough to balance threads, and large enough that claiming one (about 0.1 us)
// doesn't count.
constexpr int kUnitsPerThread = 8;
constexpr double kShortestUnit_ns = 1000;
constexpr double kLongestUnit_ns = 100000;

// Of one stripe of a matrix.
double Duration_ns(const PackedMatrix& matrix, const Activations& x,
                   ActivationPrecision precision) {
  double operations = 2.0 * kStripe * static_cast<double>(x.columns() * x.tokens());
  if (precision == ActivationPrecision::k16) operations *= 2;
  const double speed =
      matrix.IsInteger() ? kIntegerOperationsPerNanosecond : kFloatOperationsPerNanosecond;
  return std::max(static_cast<double>(matrix.stripe_bytes()) / kBytesPerNanosecond,
                  operations / speed);
}

// How tasks are cut into the indices of one parallel loop: each task into units of stripes.
class Units {
 public:
  Units(const Activations& x, std::span<const MatMulTask> tasks, int threads)
      : x_(x), tasks_(tasks) {
    double total_ns = 0;
    for (const MatMulTask& task : tasks) {
      total_ns += static_cast<double>(task.matrix->stripes()) *
                  Duration_ns(*task.matrix, x, task.precision);
    }
    unit_ns_ =
        std::clamp(total_ns / (threads * kUnitsPerThread), kShortestUnit_ns, kLongestUnit_ns);
    for (const MatMulTask& task : tasks) count_ += CountOf(task);
  }

  int64_t count() const { return count_; }

  // The task and stripes of a unit.
  std::pair<const MatMulTask*, StripeRange> At(int64_t unit) const {
    for (const MatMulTask& task : tasks_) {
      const int64_t count = CountOf(task);
      if (unit < count) {
        const int64_t stripes = StripesOf(task);
        return {&task, {unit * stripes, std::min((unit + 1) * stripes, task.matrix->stripes())}};
      }
      unit -= count;
    }
    CAIRN_CHECK(false);
  }

 private:
  int64_t StripesOf(const MatMulTask& task) const {
    const auto stripes =
        static_cast<int64_t>(unit_ns_ / Duration_ns(*task.matrix, x_, task.precision));
    return std::clamp<int64_t>(stripes, 1, task.matrix->stripes());
  }
  int64_t CountOf(const MatMulTask& task) const {
    const int64_t stripes = StripesOf(task);
    return (task.matrix->stripes() + stripes - 1) / stripes;
  }

  const Activations& x_;
  std::span<const MatMulTask> tasks_;
  double unit_ns_ = 0;
  int64_t count_ = 0;
};

void NoteProducts(const Activations& x, std::span<const MatMulTask> tasks, WorkDone& done) {
  for (const MatMulTask& task : tasks) {
    const PackedMatrix& matrix = *task.matrix;
    const int64_t operations = 2 * matrix.rows() * matrix.columns() * x.tokens();
    const Arithmetic arithmetic = matrix.IsInteger() ? Arithmetic::kInt8 : Arithmetic::kF32;
    const bool twice = matrix.IsInteger() && task.precision == ActivationPrecision::k16;
    done.operations[arithmetic] += operations;
    done.executed[arithmetic] += twice ? 2 * operations : operations;
    done.weight_bytes += matrix.bytes();
  }
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

  static ClaimRanges& Claims(Activations& x) { return x.claims_; }

  static void Run(Activations& x, const MatMulTask& task, StripeRange range, int thread) {
    const PackedMatrix& matrix = *task.matrix;
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
  const WorkScope work(pool, WorkKind::kMatrixProduct);
  if (work.done() != nullptr) NoteProducts(x, tasks, *work.done());
  MatMulAccess::Prepare(x, tasks, pool);
  const int active = pool.ActiveThreads();
  const Units units(x, tasks, active);
  ClaimRanges& claims = MatMulAccess::Claims(x);
  claims.Reset(units.count(), pool.threads(), active);
  auto run = [&](int64_t /*index*/, int thread) {
    const auto [task, range] = units.At(claims.Claim(thread));
    MatMulAccess::Run(x, *task, range, thread);
  };
  pool.ParallelFor(units.count(), run);
}

}  // namespace cairn
