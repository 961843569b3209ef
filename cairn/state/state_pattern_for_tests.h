// Bytes that a test writes into state instead of a model, and what blocks must then contain.
//
// A row's bytes are a function of its last token, the Fixed components' one of all tokens. Tokens
// are stamps, unique for every write, so that no two rows look alike. Only for tests and fuzzers.
#ifndef CAIRN_STATE_STATE_PATTERN_FOR_TESTS_H_
#define CAIRN_STATE_STATE_PATTERN_FOR_TESTS_H_

#include <cstddef>
#include <cstdint>
#include <variant>
#include <vector>

#include "cairn/base/dtype.h"
#include "cairn/kernels/quantized_block.h"
#include "cairn/spec/state_layout.h"
#include "cairn/state/state_view.h"

namespace cairn {

using Stamp = uint64_t;

inline std::byte PatternByte(Stamp stamp, int64_t slot, int64_t index) {
  uint64_t x = stamp * 0x9E3779B97F4A7C15u + static_cast<uint64_t>(slot * 8191 + index);
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  return static_cast<std::byte>((x >> 32) | 1);  // never zero: an unwritten byte is seen
}

// Where byte `i` of head `h` of row `row` lies in a component's part of a block.
inline int64_t PlaceOfByte(const Rows& rows, int64_t h, int64_t row, int64_t i) {
  const int64_t head_bytes = RowBytesOf(rows.codec, rows.width).value();
  const DTypeInfo& codec = InfoOf(rows.codec);
  const int64_t head = h * head_bytes * kRowsPerBlock;
  if (codec.row_bytes > 0) {
    // Scales are cells of a byte; behind them lie whole rows of codes, or cells of four bytes.
    if (i == 0) return head + row;
    const int64_t cell = rows.order == RowOrder::kRowMajor ? head_bytes - 1 : 4;
    return head + kRowsPerBlock + ((i - 1) / cell * kRowsPerBlock + row) * cell + (i - 1) % cell;
  }
  const int64_t part = i / codec.block_bytes;  // element, or block of elements
  const int64_t byte = i % codec.block_bytes;
  const bool in_pairs = rows.codec == DType::kBF16 || rows.codec == DType::kF8E4M3;
  if (rows.order == RowOrder::kRowMajor) {
    if (!in_pairs) return head + row * head_bytes + i;
    return head + ((row / 2 * rows.width + part) * 2 + row % 2) * codec.block_bytes + byte;
  }
  const int64_t start = head + part * kRowsPerBlock * codec.block_bytes;
  if (codec.block_elements > 1) {
    // Scales and minimums are cells of two bytes, fifth bits and codes cells of four.
    const SmallBlockLayout block = *SmallBlockLayoutOf(rows.codec);
    const bool small = byte < (block.fifth_bits >= 0 ? block.fifth_bits : block.codes);
    const int64_t cell = small ? 2 : 4;
    const int64_t from = small ? 0 : block.codes % 4;
    return start + from * kRowsPerBlock + ((byte - from) / cell * kRowsPerBlock + row) * cell +
           (byte - from) % cell;
  }
  const bool paired = in_pairs && (part % 2 != 0 || part + 1 < rows.width);
  if (!paired) return start + row * codec.block_bytes + byte;
  return head + ((part / 2 * kRowsPerBlock + row) * 2 + part % 2) * codec.block_bytes + byte;
}

// Writes row `row` of a block as a model would: all heads and channels of all slots.
inline void WriteRow(const StateLayout& layout, const BlockClass& block_class, int64_t row,
                     Stamp stamp, std::byte* block) {
  for (size_t s = 0; s < block_class.slots.size(); ++s) {
    const RowsSlot& slot = block_class.slots[s];
    const auto& layer = layout.spec().layers[static_cast<size_t>(slot.layer.value())];
    const Rows& rows = std::get<Rows>(layer.components[static_cast<size_t>(slot.component)]);
    const int64_t head_bytes = RowBytesOf(rows.codec, rows.width).value();
    for (int64_t h = 0; h < rows.heads; ++h) {
      for (int64_t i = 0; i < head_bytes; ++i) {
        block[slot.offset.value() + PlaceOfByte(rows, h, row, i)] =
            PatternByte(stamp, static_cast<int64_t>(s), h * head_bytes + i);
      }
    }
  }
}

// The Fixed components after `stamps`: a function of all of them, zero before the first.
inline void WriteFixed(const StateLayout& layout, const std::vector<Stamp>& stamps, std::byte* to) {
  Stamp chain = 0;
  for (const Stamp stamp : stamps) chain = chain * 31 + stamp;
  for (int64_t i = 0; i < layout.fixed_bytes().value(); ++i) {
    to[i] = stamps.empty() ? std::byte{0} : PatternByte(chain, 0, i);
  }
}

// Writes tokens [before, stamps.size()) through the view, as a forward call would.
inline void WriteTokens(const StateLayout& layout, const SequenceView& view,
                        const std::vector<Stamp>& stamps) {
  for (size_t c = 0; c < layout.classes().size(); ++c) {
    const BlockClass& block_class = layout.classes()[c];
    for (auto t = view.tokens_before.value(); t < static_cast<int64_t>(stamps.size()); ++t) {
      const int64_t row = block_class.RowsCompleted(TokenCount(t));
      if (block_class.RowsCompleted(TokenCount(t + 1)) == row) continue;
      std::byte* block = view.tables[c].Block(row / kRowsPerBlock);
      WriteRow(layout, block_class, row % kRowsPerBlock, stamps[static_cast<size_t>(t)], block);
    }
  }
  if (view.fixed != nullptr) WriteFixed(layout, stamps, view.fixed);
}

// The bytes that a block must have in any sequence with these tokens.
inline std::vector<std::byte> BlockImage(const StateLayout& layout, const BlockClass& block_class,
                                         int64_t logical, const std::vector<Stamp>& stamps) {
  std::vector<std::byte> image(static_cast<size_t>(block_class.block_bytes.value()));
  const int64_t per_row = block_class.tokens_per_row.value();
  for (int64_t r = 0; r < kRowsPerBlock; ++r) {
    const int64_t row = logical * kRowsPerBlock + r;
    if (row >= block_class.RowsCompleted(TokenCount(std::ssize(stamps)))) break;
    const auto last_token = static_cast<size_t>((row + 1) * per_row - 1);
    WriteRow(layout, block_class, r, stamps[last_token], image.data());
  }
  return image;
}

}  // namespace cairn

#endif  // CAIRN_STATE_STATE_PATTERN_FOR_TESTS_H_
