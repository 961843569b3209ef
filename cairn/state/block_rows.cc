#include "cairn/state/block_rows.h"

#include <algorithm>
#include <cstring>
#include <variant>

#include "cairn/base/check.h"
#include "cairn/base/dtype.h"

namespace cairn {
namespace {

// Calls visit(offset, bytes) for each contiguous piece of rows [first_row, kRowsPerBlock).
template <class Visit>
void ForEachPieceFrom(const StateLayout& layout, const BlockClass& block_class, int64_t first_row,
                      Visit visit) {
  CAIRN_CHECK(first_row >= 0 && first_row <= kRowsPerBlock);
  for (const RowsSlot& slot : block_class.slots) {
    const LayerState& layer = layout.spec().layers[static_cast<size_t>(slot.layer.value())];
    const Rows& rows = std::get<Rows>(layer.components[static_cast<size_t>(slot.component)]);
    // Lines of kRowsPerBlock cells: a cell is a head's row, or one of its channels if transposed.
    const bool transposed = rows.order == RowOrder::kTransposedTiles;
    const int64_t lines = transposed ? rows.heads * rows.width : rows.heads;
    const int64_t line_bytes = slot.bytes.value() / lines;
    const int64_t skipped = line_bytes / kRowsPerBlock * first_row;
    for (int64_t i = 0; i < lines; ++i) {
      visit(slot.offset.value() + i * line_bytes + skipped, line_bytes - skipped);
    }
  }
}

}  // namespace

void ZeroRowsFrom(const StateLayout& layout, const BlockClass& block_class, int64_t first_row,
                  std::byte* block) {
  ForEachPieceFrom(layout, block_class, first_row, [&](int64_t offset, int64_t bytes) {
    std::memset(block + offset, 0, static_cast<size_t>(bytes));
  });
}

bool RowsAreZeroFrom(const StateLayout& layout, const BlockClass& block_class, int64_t first_row,
                     const std::byte* block) {
  bool zero = true;
  ForEachPieceFrom(layout, block_class, first_row, [&](int64_t offset, int64_t bytes) {
    zero = zero && std::all_of(block + offset, block + offset + bytes,
                               [](std::byte b) { return b == std::byte{0}; });
  });
  return zero;
}

}  // namespace cairn
