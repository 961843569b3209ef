#include "cairn/models/residual.h"

#include <algorithm>

namespace cairn {

void KeepRows(float* data, int64_t width, std::span<const int64_t> rows) {
  for (size_t i = 0; i < rows.size(); ++i) {
    const auto to = static_cast<int64_t>(i);
    if (rows[i] != to) std::copy_n(data + rows[i] * width, width, data + to * width);
  }
}

}  // namespace cairn
