#include "cairn/state/block_rows.h"

#include <algorithm>
#include <cstring>
#include <variant>

#include "cairn/base/check.h"
#include "cairn/base/dtype.h"
#include "cairn/kernels/quantized_block.h"

namespace cairn {
namespace {

// Codecs whose neighbours lie side by side.
bool InPairs(const Rows& rows) {
  return rows.codec == DType::kBF16 || rows.codec == DType::kF8E4M3;
}

// Codes of a head lie behind the scales of its rows.
template <class Visit>
void ForEachLineWithScales(const Rows& rows, Visit visit_cell_bytes) {
  constexpr int64_t kWordBytes = 4;
  const DTypeInfo& codec = InfoOf(rows.codec);
  const int64_t code_bytes = RowBytesOf(rows.codec, rows.width).value() - codec.row_bytes;
  const bool whole = rows.order == RowOrder::kRowMajor;
  const int64_t cell_bytes = whole ? code_bytes : kWordBytes;
  for (int64_t h = 0; h < rows.heads; ++h) {
    visit_cell_bytes(codec.row_bytes);
    for (int64_t i = 0; i < code_bytes; i += cell_bytes) visit_cell_bytes(cell_bytes);
  }
}

// A line is kRowsPerBlock cells side by side, one a row: a head's rows themselves, or in a
// transposed tile one channel's elements (in bf16 and fp8 those of two channels) or one part of a
// block (cairn/kernels/state_block.h); the rows' scales, or words of their codes
// (cairn/kernels/lloyd_max.h). Values in bf16 and fp8 have no lines: VisitPairedRows.
template <class Visit>
void ForEachLine(const Rows& rows, Visit visit_cell_bytes) {
  const DTypeInfo& codec = InfoOf(rows.codec);
  if (codec.row_bytes > 0) return ForEachLineWithScales(rows, visit_cell_bytes);
  if (rows.order == RowOrder::kRowMajor) {
    for (int64_t h = 0; h < rows.heads; ++h) {
      visit_cell_bytes(RowBytesOf(rows.codec, rows.width).value());
    }
    return;
  }
  if (InPairs(rows)) {
    for (int64_t h = 0; h < rows.heads; ++h) {
      for (int64_t c = 0; c + 1 < rows.width; c += 2) visit_cell_bytes(2 * codec.block_bytes);
      if (rows.width % 2 != 0) visit_cell_bytes(codec.block_bytes);
    }
    return;
  }
  const int64_t blocks = rows.heads * rows.width / codec.block_elements;
  for (int64_t b = 0; b < blocks; ++b) {
    if (codec.block_elements == 1) {
      visit_cell_bytes(codec.block_bytes);
      continue;
    }
    const SmallBlockLayout block = *SmallBlockLayoutOf(rows.codec);
    visit_cell_bytes(2);
    if (block.minimum >= 0) visit_cell_bytes(2);
    if (block.fifth_bits >= 0) visit_cell_bytes(4);
    for (int64_t i = block.codes; i < codec.block_bytes; i += 4) visit_cell_bytes(4);
  }
}

// Rows from first_row of values in bf16 or fp8, where two rows' elements lie side by side.
template <class Visit>
void VisitPairedRows(const Rows& rows, int64_t first_row, int64_t offset, Visit visit) {
  const int64_t element = InfoOf(rows.codec).block_bytes;
  const int64_t pair_bytes = 2 * rows.width * element;
  for (int64_t h = 0; h < rows.heads; ++h) {
    const int64_t head = offset + h * pair_bytes * (kRowsPerBlock / 2);
    int64_t pair = first_row / 2;
    if (first_row % 2 != 0) {
      for (int64_t c = 0; c < rows.width; ++c) {
        visit(head + pair * pair_bytes + (2 * c + 1) * element, element);
      }
      ++pair;
    }
    visit(head + pair * pair_bytes, (kRowsPerBlock / 2 - pair) * pair_bytes);
  }
}

// Calls visit(offset, bytes) for each contiguous piece of rows [first_row, kRowsPerBlock).
template <class Visit>
void ForEachPieceFrom(const StateLayout& layout, const BlockClass& block_class, int64_t first_row,
                      Visit visit) {
  CAIRN_CHECK(first_row >= 0 && first_row <= kRowsPerBlock);
  for (const RowsSlot& slot : block_class.slots) {
    const LayerState& layer = layout.spec().layers[static_cast<size_t>(slot.layer.value())];
    const Rows& rows = std::get<Rows>(layer.components[static_cast<size_t>(slot.component)]);
    int64_t offset = slot.offset.value();
    if (InPairs(rows) && rows.order == RowOrder::kRowMajor) {
      VisitPairedRows(rows, first_row, offset, visit);
      continue;
    }
    ForEachLine(rows, [&](int64_t cell_bytes) {
      visit(offset + cell_bytes * first_row, cell_bytes * (kRowsPerBlock - first_row));
      offset += cell_bytes * kRowsPerBlock;
    });
    CAIRN_DCHECK(offset == (slot.offset + slot.bytes).value());
  }
}

// Calls visit(offset, bytes) for each piece of one row of the first head.
template <class Visit>
void ForEachCellOf(const Rows& rows, int64_t row, Visit visit) {
  if (InPairs(rows) && rows.order == RowOrder::kRowMajor) {
    const int64_t element = InfoOf(rows.codec).block_bytes;
    const int64_t pair = row / 2 * (2 * rows.width * element);
    for (int64_t c = 0; c < rows.width; ++c) {
      visit(pair + (2 * c + row % 2) * element, element);
    }
    return;
  }
  Rows one = rows;
  one.heads = 1;
  int64_t offset = 0;
  ForEachLine(one, [&](int64_t cell_bytes) {
    visit(offset + cell_bytes * row, cell_bytes);
    offset += cell_bytes * kRowsPerBlock;
  });
}

}  // namespace

void GatherHeadRow(const Rows& rows, const std::byte* tile, int64_t row, std::byte* to) {
  ForEachCellOf(rows, row, [&](int64_t offset, int64_t bytes) {
    std::memcpy(to, tile + offset, static_cast<size_t>(bytes));
    to += bytes;
  });
}

void ScatterHeadRow(const Rows& rows, const std::byte* from, int64_t row, std::byte* tile) {
  ForEachCellOf(rows, row, [&](int64_t offset, int64_t bytes) {
    std::memcpy(tile + offset, from, static_cast<size_t>(bytes));
    from += bytes;
  });
}

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
