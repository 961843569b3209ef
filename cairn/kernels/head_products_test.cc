#include "cairn/kernels/head_products.h"

#include <doctest/doctest.h>

#include <cmath>
#include <random>
#include <vector>

#include "cairn/kernels/matmul_test_weights.h"
#include "cairn/kernels/state_rows.h"
#include "cairn/kernels/targets_for_tests.h"
#include "hwy/base.h"
#include "hwy/targets.h"

namespace cairn {
namespace {

float Stored(DType dtype, float value) {
  if (dtype == DType::kF16) return hwy::F32FromF16(hwy::F16FromF32(value));
  if (dtype == DType::kBF16) return hwy::F32FromBF16(hwy::BF16FromF32(value));
  return value;
}

struct Sizes {
  int64_t heads;
  int64_t columns;
  int64_t rows;
  int64_t tokens;
};

// Vectors lie apart from each other, as parts of wider ones do.
constexpr int64_t kGap = 3;

class Case {
 public:
  Case(DType dtype, const Sizes& sizes)
      : sizes_(sizes), matrices_(dtype, sizes.heads, sizes.columns, sizes.rows) {
    weights_ = RandomFloats(sizes.heads * sizes.columns * sizes.rows, 31);
    for (float& w : weights_) w = Stored(dtype, w);
    x_ = RandomFloats(sizes.tokens * sizes.heads * (sizes.columns + kGap), 32);
    std::vector<float> row(static_cast<size_t>(sizes.columns));
    for (int64_t h = 0; h < sizes.heads; ++h) {
      if (h % 2 == 0) {
        for (int64_t k = 0; k < sizes.columns; ++k) matrices_.SetColumn(h, k, &Weight(h, k, 0));
        continue;
      }
      for (int64_t o = 0; o < sizes.rows; ++o) {
        for (int64_t k = 0; k < sizes.columns; ++k) row[static_cast<size_t>(k)] = Weight(h, k, o);
        matrices_.SetRow(h, o, row.data());
      }
    }
  }

  // One behind the other, with a gap of NaN between heads.
  std::vector<float> Run(int64_t tokens_at_once, int threads) {
    const int64_t width = sizes_.rows + kGap;
    std::vector<float> y(static_cast<size_t>(sizes_.tokens * sizes_.heads * width), -7.0f);
    ThreadPool pool(threads);
    const int64_t x_stride = sizes_.heads * (sizes_.columns + kGap);
    for (int64_t t = 0; t < sizes_.tokens; t += tokens_at_once) {
      HeadProducts(matrices_, {x_.data() + t * x_stride, x_stride, sizes_.columns + kGap},
                   std::min(tokens_at_once, sizes_.tokens - t),
                   {y.data() + t * sizes_.heads * width, sizes_.heads * width, width}, pool);
    }
    return y;
  }

  // One chain of fused multiply-adds for each number.
  std::vector<float> Expected() const {
    const int64_t width = sizes_.rows + kGap;
    std::vector<float> y(static_cast<size_t>(sizes_.tokens * sizes_.heads * width), -7.0f);
    for (int64_t i = 0; i < sizes_.tokens * sizes_.heads; ++i) {
      for (int64_t o = 0; o < sizes_.rows; ++o) {
        float sum = 0;
        for (int64_t k = 0; k < sizes_.columns; ++k) {
          sum = std::fma(x_[static_cast<size_t>(i * (sizes_.columns + kGap) + k)],
                         Weight(i % sizes_.heads, k, o), sum);
        }
        y[static_cast<size_t>(i * width + o)] = sum;
      }
    }
    return y;
  }

 private:
  const float& Weight(int64_t head, int64_t column, int64_t row) const {
    return weights_[static_cast<size_t>((head * sizes_.columns + column) * sizes_.rows + row)];
  }

  Sizes sizes_;
  HeadMatrices matrices_;
  std::vector<float> weights_;
  std::vector<float> x_;
};

}  // namespace

TEST_CASE("heads' products are chains over the columns, whatever the split, and write no further") {
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16}) {
    for (const Sizes& sizes :
         {Sizes{4, 24, 24, 9}, Sizes{3, 7, 5, 2}, Sizes{2, 64, 200, 5}, Sizes{5, 33, 130, 40}}) {
      Case c(dtype, sizes);
      const std::vector<float> expected = c.Expected();
      for (const int64_t target : TargetsForTests()) {
        hwy::SetSupportedTargetsForTest(target);
        for (const int64_t tokens : {int64_t{1}, int64_t{3}, sizes.tokens}) {
          for (const int threads : {1, 2}) CHECK(c.Run(tokens, threads) == expected);
        }
      }
      hwy::SetSupportedTargetsForTest(0);
    }
  }
}

}  // namespace cairn
