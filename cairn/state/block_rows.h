// The rows inside a block, as bytes: which pieces of it belong to its last rows.
//
// A block that is partly written must be zero where nothing is written, so that its bytes are a
// function of the tokens alone. Thread safety: pure functions.
#ifndef CAIRN_STATE_BLOCK_ROWS_H_
#define CAIRN_STATE_BLOCK_ROWS_H_

#include <cstddef>

#include "cairn/spec/state_layout.h"

namespace cairn {

// Zeroes rows [first_row, kRowsPerBlock) of a block of the class, counted from the block's start.
void ZeroRowsFrom(const StateLayout& layout, const BlockClass& block_class, int64_t first_row,
                  std::byte* block);

// Whether those rows are zero.
bool RowsAreZeroFrom(const StateLayout& layout, const BlockClass& block_class, int64_t first_row,
                     const std::byte* block);

// One row of one head, whose tile begins at `tile` (16 rows of RowBytesOf(codec, width)): its bytes
// one behind the other, and back. No number changes.
void GatherHeadRow(const Rows& rows, const std::byte* tile, int64_t row, std::byte* to);
void ScatterHeadRow(const Rows& rows, const std::byte* from, int64_t row, std::byte* tile);

}  // namespace cairn

#endif  // CAIRN_STATE_BLOCK_ROWS_H_
