#include "cairn/state/audit.h"

#include <vector>

#include "cairn/base/check.h"
#include "cairn/state/block_rows.h"

namespace cairn {
namespace {

// References found by walking the tables, by class and block.
class Found {
 public:
  explicit Found(const Arena& arena) : counts_(static_cast<size_t>(arena.class_count())) {
    for (size_t i = 0; i < counts_.size(); ++i) {
      const BlockCount used = arena.pool(ClassIndex(static_cast<int32_t>(i))).used();
      counts_[i].resize(static_cast<size_t>(used.value()));
    }
  }

  void Add(const BlockRef& block) {
    CAIRN_CHECK(block.has_block());
    ++counts_[static_cast<size_t>(block.block_class().value())]
             [static_cast<size_t>(block.id().value())];
  }

  void CheckEqual(const Arena& arena) const {
    for (size_t i = 0; i < counts_.size(); ++i) {
      const BlockPool& pool = arena.pool(ClassIndex(static_cast<int32_t>(i)));
      for (size_t b = 0; b < counts_[i].size(); ++b) {
        const int32_t references = pool.References(BlockId(static_cast<int32_t>(b)));
        // Free blocks have no positive count.
        CAIRN_CHECK(counts_[i][b] == (references > 0 ? references : 0));
      }
    }
  }

 private:
  std::vector<std::vector<int32_t>> counts_;
};

}  // namespace

void Audit(const StateStore& store, const KeptVisitor& kept) {
  const StateLayout& layout = store.layout_;
  const Arena& arena = *store.arena_;
  arena.Audit();
  Found found(arena);
  for (const auto& [id, sequence] : store.sequences_) {
    CAIRN_CHECK(sequence.tables.size() == layout.classes().size());
    CAIRN_CHECK(!sequence.at_rest || sequence.prepared == TokenCount(0));
    for (size_t i = 0; i < sequence.tables.size(); ++i) {
      const ClassIndex index(static_cast<int32_t>(i));
      const BlockClass& block_class = layout.classes()[i];
      const BlockTable& table = sequence.tables[i];
      const TokenCount left = store.Left(sequence, index, sequence.length);
      CAIRN_CHECK(table.range() == layout.BlocksWhileAdding(index, left, sequence.prepared));
      for (int64_t b = table.first(); b < table.end(); ++b) {
        const BlockRef& block = table.At(b);
        CAIRN_CHECK(block.block_class() == index);
        CAIRN_CHECK(block.data() == table.view().Block(b));
        found.Add(block);
      }
      const int64_t rows = block_class.RowsCompleted(left);
      if (sequence.at_rest && rows % kRowsPerBlock != 0) {
        const std::byte* open = table.At(rows / kRowsPerBlock).data();
        CAIRN_CHECK(RowsAreZeroFrom(layout, block_class, rows % kRowsPerBlock, open));
      }
    }
    CAIRN_CHECK(sequence.fixed.has_block() == store.HasFixed());
    if (store.HasFixed()) found.Add(sequence.fixed);
    const TokenCount dropped = sequence.dropped ? sequence.dropped->rows : TokenCount(0);
    CAIRN_CHECK(store.HeldBytes(id) ==
                layout.AllocatedBytesWithout(dropped, sequence.length, sequence.prepared));
  }
  if (kept) kept([&found](const BlockRef& block) { found.Add(block); });
  found.CheckEqual(arena);
}

}  // namespace cairn
