#include "cairn/kernels/mean_of_rows.h"

#include <algorithm>

#include "cairn/base/check.h"
#include "cairn/kernels/attention_tile.h"
#include "cairn/kernels/ops.h"
#include "cairn/kernels/row_attention_tile.h"

namespace cairn {

void MeanOfRows(const StoredRows& rows, int64_t first, int64_t count, float* room, float* out) {
  std::fill_n(out, rows.width, 0.0f);
  for (int64_t r = first; r < first + count; ++r) {
    const int64_t block = r / kTileRows - rows.first_block;
    CAIRN_DCHECK(block >= 0 && block < static_cast<int64_t>(rows.blocks.size()));
    const std::byte* tile = rows.blocks[static_cast<size_t>(block)] + rows.offset;
    const auto row = static_cast<int>(r % kTileRows);
    AddTo(out, RowAsFloats(rows.codec, tile, row, rows.width, room), rows.width);
  }
  Scale(out, 1.0f / static_cast<float>(count), rows.width);
}

}  // namespace cairn
