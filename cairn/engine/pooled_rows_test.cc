#include "cairn/engine/pooled_rows.h"

#include <doctest/doctest.h>

namespace cairn {

TEST_CASE("a mean wants every row, the last token's state only where the text ends") {
  const PooledRows mean(Pooling::kMean);
  CHECK(mean.Wanted(7, false) == 7);
  CHECK(mean.Wanted(7, true) == 7);
  const PooledRows last(Pooling::kLast);
  CHECK(last.Wanted(7, false) == 0);
  CHECK(last.Wanted(7, true) == 1);
}

TEST_CASE("rows are summed in double and in order, and forgotten when they are read anew") {
  PooledRows rows(Pooling::kMean);
  rows.Add(std::vector<float>{9, 9});
  rows.Clear();
  // In float the small one would be lost.
  for (const float x : {0x1p30f, 1.0f, -0x1p30f, 1.0f}) rows.Add(std::vector<float>{x, 2 * x});
  CHECK(rows.Pooled() == std::vector<float>{0.5f, 1.0f});
}

}  // namespace cairn
