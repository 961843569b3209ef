#include "cairn/kernels/matmul.h"

#include <doctest/doctest.h>
#include <malloc.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "cairn/base/work_log.h"
#include "cairn/kernels/dequantize.h"
#include "cairn/kernels/matmul_reference.h"
#include "cairn/kernels/matmul_test_weights.h"
#include "cairn/kernels/targets.h"
#include "cairn/kernels/targets_for_tests.h"
#include "hwy/highway.h"
#include "hwy/targets.h"

namespace cairn {
namespace {

struct Weights {
  DType dtype;
  int64_t rows;
  int64_t columns;
  std::vector<std::byte> bytes;

  Weights(DType dtype_in, int64_t rows_in, int64_t columns_in)
      : dtype(dtype_in),
        rows(rows_in),
        columns(columns_in),
        bytes(RandomWeights(dtype, rows, columns, static_cast<uint32_t>(dtype))) {}
  std::span<const std::byte> Row(int64_t row) const {
    const int64_t row_bytes = static_cast<int64_t>(bytes.size()) / rows;
    return std::span(bytes).subspan(row * row_bytes, row_bytes);
  }
  PackedMatrix Pack(ThreadPool& pool) const {
    return PackedMatrix::Pack(dtype, bytes, rows, columns, pool);
  }
};

bool SameBits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

std::vector<float> Reference(const Weights& weights, const std::vector<float>& x, int64_t tokens,
                             ActivationPrecision precision) {
  std::vector<float> y;
  for (int64_t t = 0; t < tokens; ++t) {
    for (int64_t o = 0; o < weights.rows; ++o) {
      y.push_back(DotReference(weights.dtype, weights.Row(o), x.data() + t * weights.columns,
                               weights.columns, precision));
    }
  }
  return y;
}

std::vector<float> Product(const PackedMatrix& matrix, const std::vector<float>& x, int64_t tokens,
                           ActivationPrecision precision, ThreadPool& pool) {
  Activations activations;
  activations.Set(x.data(), tokens, matrix.columns(), matrix.columns());
  std::vector<float> y(static_cast<size_t>(tokens * matrix.rows()));
  const MatMulTask task = {
      .matrix = &matrix, .out = y.data(), .stride = matrix.rows(), .precision = precision};
  MatMul(activations, std::span(&task, 1), pool);
  return y;
}

// Runs `body` once for each instruction set that was compiled and that this machine has.
template <class Body>
void ForEachTarget(Body body) {
  for (const int64_t target : TargetsForTests()) {
    hwy::SetSupportedTargetsForTest(target);
    CAPTURE(std::string(hwy::TargetName(target)));
    body();
  }
  hwy::SetSupportedTargetsForTest(0);
}

constexpr auto kPrecisions = {ActivationPrecision::k8, ActivationPrecision::k16};

}  // namespace

TEST_CASE("every format, number of tokens and instruction set gives the reference's bits") {
  ThreadPool pool(2);
  for (int i = 0; i <= static_cast<int>(DType::kIQ4_NL); ++i) {
    // 37 rows end inside a stripe.
    const Weights weights(static_cast<DType>(i), 37, 512);
    CAPTURE(std::string(InfoOf(weights.dtype).name));
    const PackedMatrix matrix = weights.Pack(pool);
    CHECK_EQ(matrix.rows(), 37);
    CHECK_EQ(matrix.stripes(), 3);
    const auto x = RandomFloats(40 * weights.columns, 1);
    for (const auto precision : kPrecisions) {
      const auto expected = Reference(weights, x, 40, precision);
      ForEachTarget([&] {
        for (const int64_t tokens : {1, 2, 3, 4, 5, 7, 8, 9, 13, 16, 17, 25, 33, 40}) {
          CAPTURE(tokens);
          const auto y = Product(matrix, x, tokens, precision, pool);
          CHECK(SameBits(y, {expected.begin(), expected.begin() + tokens * weights.rows}));
        }
      });
    }
  }
}

TEST_CASE("float formats take any number of columns") {
  ThreadPool pool(1);
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16}) {
    for (const int64_t columns : {1, 7, 64, 96, 100}) {
      const Weights weights(dtype, 19, columns);
      const auto x = RandomFloats(11 * columns, 2);
      const auto expected = Reference(weights, x, 11, ActivationPrecision::k8);
      ForEachTarget([&] {
        CHECK(
            SameBits(Product(weights.Pack(pool), x, 11, ActivationPrecision::k8, pool), expected));
      });
    }
  }
}

TEST_CASE("a block format takes one group of columns and one row") {
  ThreadPool pool(1);
  const Weights weights(DType::kQ4_1, 1, 32);
  const auto x = RandomFloats(32 * 20, 3);
  for (const int64_t tokens : {1, 20}) {
    CHECK(SameBits(Product(weights.Pack(pool), x, tokens, ActivationPrecision::k8, pool),
                   Reference(weights, x, tokens, ActivationPrecision::k8)));
  }
}

TEST_CASE("several tasks, biases and row strides change no bit") {
  ThreadPool pool(2);
  const Weights first(DType::kQ4_K, 48, 256);
  const Weights second(DType::kF32, 5, 256);
  const PackedMatrix matrices[] = {first.Pack(pool), second.Pack(pool)};
  constexpr int64_t kTokens = 21;
  constexpr int64_t kStride = 300;
  auto x = RandomFloats(kTokens * kStride, 4);
  const auto bias = RandomFloats(48, 5);
  std::vector<float> out(kTokens * 60, -1.0f);
  Activations activations;
  activations.Set(x.data(), kTokens, 256, kStride);
  const MatMulTask tasks[] = {
      {.matrix = &matrices[0], .bias = bias.data(), .out = out.data(), .stride = 60},
      {.matrix = &matrices[1], .out = out.data() + 50, .stride = 60}};
  MatMul(activations, tasks, pool);
  for (int64_t t = 0; t < kTokens; ++t) {
    for (int64_t o = 0; o < 48; ++o) {
      const float dot = DotReference(first.dtype, first.Row(o), x.data() + t * kStride, 256,
                                     ActivationPrecision::k8);
      CHECK_EQ(out[t * 60 + o], dot + bias[o]);
    }
    for (int64_t o = 0; o < 5; ++o) {
      CHECK_EQ(out[t * 60 + 50 + o],
               DotReference(second.dtype, second.Row(o), x.data() + t * kStride, 256,
                            ActivationPrecision::k8));
    }
    // Nothing else is written.
    CHECK_EQ(out[t * 60 + 48], -1.0f);
    CHECK_EQ(out[t * 60 + 55], -1.0f);
  }
}

TEST_CASE("products are close to those of the dequantized weights") {
  ThreadPool pool(1);
  for (int i = 0; i <= static_cast<int>(DType::kIQ4_NL); ++i) {
    const Weights weights(static_cast<DType>(i), 16, 1024);
    CAPTURE(std::string(InfoOf(weights.dtype).name));
    const auto x = RandomFloats(weights.columns, 6);
    std::vector<float> row(static_cast<size_t>(weights.columns));
    for (const auto precision : kPrecisions) {
      const auto y = Product(weights.Pack(pool), x, 1, precision, pool);
      for (int64_t o = 0; o < weights.rows; ++o) {
        DequantizeRow(weights.dtype, weights.Row(o), row.data(), weights.columns);
        double exact = 0;
        double square = 0;
        for (int64_t k = 0; k < weights.columns; ++k) {
          exact += static_cast<double>(row[k]) * x[k];
          square += static_cast<double>(row[k]) * row[k] * x[k] * x[k];
        }
        const double bound = precision == ActivationPrecision::k8 ? 0.05 : 0.0005;
        CHECK_LT(std::fabs(y[o] - exact), bound * std::sqrt(square));
      }
    }
  }
}

TEST_CASE("values that are no numbers reach their own token only") {
  ThreadPool pool(1);
  const Weights weights(DType::kQ4_1, 16, 64);
  const PackedMatrix matrix = weights.Pack(pool);
  for (const int64_t tokens : {3, 20}) {
    auto x = RandomFloats(tokens * 64, 7);
    const auto expected = Reference(weights, x, tokens, ActivationPrecision::k8);
    x[70] = std::numeric_limits<float>::quiet_NaN();
    x[64 * 2 + 3] = std::numeric_limits<float>::infinity();
    ForEachTarget([&] {
      const auto y = Product(matrix, x, tokens, ActivationPrecision::k8, pool);
      for (int64_t o = 0; o < 16; ++o) {
        CHECK_EQ(y[o], expected[o]);
        CHECK(std::isnan(y[16 + o]));
        CHECK(std::isnan(y[32 + o]));
        if (tokens > 3) CHECK_EQ(y[48 + o], expected[48 + o]);
      }
    });
  }
}

TEST_CASE("a second product of the same or a smaller size allocates nothing") {
  ThreadPool pool(2);
  const Weights weights(DType::kQ4_K, 64, 256);
  const PackedMatrix matrix = weights.Pack(pool);
  const auto x = RandomFloats(40 * 256, 9);
  std::vector<float> y(40 * 64);
  Activations activations;
  const auto multiply = [&](int64_t tokens) {
    activations.Set(x.data(), tokens, 256, 256);
    for (const auto precision : kPrecisions) {
      const MatMulTask task = {
          .matrix = &matrix, .out = y.data(), .stride = 64, .precision = precision};
      MatMul(activations, std::span(&task, 1), pool);
    }
  };
  multiply(40);
  const auto before = mallinfo2();
  for (const int64_t tokens : {40, 1, 17, 8}) multiply(tokens);
  const auto after = mallinfo2();
  CHECK_EQ(before.uordblks, after.uordblks);
  CHECK_EQ(before.hblks, after.hblks);
}

TEST_CASE("a product notes its operations, how many of them were done, and the weights it read") {
  ThreadPool pool(1);
  const PackedMatrix integers = Weights(DType::kQ8_0, 20, 64).Pack(pool);
  const PackedMatrix floats = Weights(DType::kF16, 20, 64).Pack(pool);
  const auto x = RandomFloats(3 * 64, 8);
  std::vector<float> y(3 * 20);
  Activations activations;
  activations.Set(x.data(), 3, 64, 64);
  MatMulTask task = {.matrix = &integers, .out = y.data(), .stride = 20};
  WorkLog log;
  pool.set_work_log(&log);
  MatMul(activations, std::span(&task, 1), pool);
  task.precision = ActivationPrecision::k16;
  MatMul(activations, std::span(&task, 1), pool);
  task.matrix = &floats;
  MatMul(activations, std::span(&task, 1), pool);
  const WorkDone& done = log[WorkKind::kMatrixProduct];
  const int64_t operations = 2 * 3 * 20 * 64;
  CHECK_EQ(done.calls, 3);
  CHECK_EQ(done.operations[Arithmetic::kInt8], 2 * operations);
  CHECK_EQ(done.executed[Arithmetic::kInt8], 3 * operations);
  CHECK_EQ(done.executed[Arithmetic::kF32], operations);
  CHECK_EQ(done.weight_bytes, 2 * integers.bytes() + floats.bytes());
}

TEST_CASE(
    "a matrix of another width, or a format that isn't one of weights, is a broken invariant") {
  ThreadPool pool(1);
  const Weights weights(DType::kQ8_0, 16, 64);
  const PackedMatrix matrix = weights.Pack(pool);
  const auto x = RandomFloats(96, 8);
  std::vector<float> y(16);
  Activations activations;
  activations.Set(x.data(), 1, 96, 96);
  const MatMulTask task = {.matrix = &matrix, .out = y.data(), .stride = 16};
  CHECK_THROWS(MatMul(activations, std::span(&task, 1), pool));
  CHECK_THROWS(PackedMatrix::Pack(DType::kI32, weights.bytes, 1, 32, pool));
  CHECK_THROWS(PackedMatrix::Pack(DType::kQ8_0, weights.bytes, 17, 64, pool));
}

}  // namespace cairn
