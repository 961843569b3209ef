#include "cairn/engine/pooled_rows.h"

#include "cairn/base/check.h"

namespace cairn {

void PooledRows::Add(std::span<const float> row) {
  sums_.resize(row.size());
  for (size_t i = 0; i < row.size(); ++i) sums_[i] += static_cast<double>(row[i]);
  ++rows_;
}

std::vector<float> PooledRows::Pooled() const {
  CAIRN_CHECK(rows_ > 0);
  std::vector<float> pooled;
  pooled.reserve(sums_.size());
  for (const double sum : sums_)
    pooled.push_back(static_cast<float>(sum / static_cast<double>(rows_)));
  return pooled;
}

}  // namespace cairn
