#include "cairn/kernels/pooled_row.h"

#include <doctest/doctest.h>

#include <cmath>

#include "cairn/kernels/recurrence_for_tests.h"

namespace cairn {
namespace {

// Rows of values with their gates behind them, and what else a row may hold.
struct Case {
  Case(int64_t count, int64_t width)
      : rows(Normal(count * (2 * width + 3), 1, 5)), bias(Normal(count * (width + 2), 2, 6)) {
    shape.count = count;
    shape.width = width;
    shape.stride = 2 * width + 3;
    shape.values = rows.data();
    shape.gates = rows.data() + width;
    shape.bias = bias.data();
    shape.bias_stride = width + 2;
  }

  Floats Run() const {
    Floats out(static_cast<size_t>(shape.width));
    PooledRow(shape, out.data());
    return out;
  }

  double Exact(int64_t channel) const {
    double sum = 0;
    double weighed = 0;
    for (int64_t r = 0; r < shape.count; ++r) {
      double gate = shape.gates[r * shape.stride + channel];
      if (shape.bias != nullptr) gate += shape.bias[r * shape.bias_stride + channel];
      const double weight = std::exp(gate);
      sum += weight;
      weighed += weight * shape.values[r * shape.stride + channel];
    }
    return weighed / sum;
  }

  Floats rows;
  Floats bias;
  RowsToPool shape;
};

}  // namespace

TEST_CASE("each channel of a pooled row is a mean by its own softmax, on every instruction set") {
  for (const int64_t count : {1, 2, 4, 16, 100}) {
    for (const int64_t width : {1, 15, 16, 48, 100}) {
      CAPTURE(count);
      CAPTURE(width);
      Case pool(count, width);
      for (const bool biased : {true, false}) {
        if (!biased) pool.shape.bias = nullptr;
        const Floats expected = pool.Run();
        for (int64_t c = 0; c < width; ++c) {
          CHECK(std::abs(expected[static_cast<size_t>(c)] - pool.Exact(c)) < 1e-5);
        }
        OnEachTarget([&] { CHECK(SameBits(pool.Run(), expected)); });
      }
    }
  }
}

TEST_CASE("one row is its own pool, and gates of any size are weighed") {
  Case one(1, 21);
  CHECK(SameBits(one.Run(), Floats(one.rows.begin(), one.rows.begin() + 21)));
  Case far(3, 8);
  far.shape.bias = nullptr;
  for (size_t c = 0; c < 8; ++c) {
    far.rows[c + 8] = -1e30f;
    far.rows[c + 8 + 19] = 1e30f;
    far.rows[c + 8 + 38] = 0;
  }
  CHECK(SameBits(far.Run(), Floats(far.rows.begin() + 19, far.rows.begin() + 27)));
}

}  // namespace cairn
