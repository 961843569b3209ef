// What a call of Attention computes in which pieces, and where the rows of a piece's tiles lie.
//
// Pieces change no bit of any output; they only say which rows are computed together and by which
// thread. Thread-safe.
#ifndef CAIRN_KERNELS_ATTENTION_PLAN_H_
#define CAIRN_KERNELS_ATTENTION_PLAN_H_

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "cairn/kernels/attention.h"
#include "cairn/kernels/attention_tile.h"

namespace cairn {

// First position that the query at `position` sees of the head's rows.
inline int64_t FirstVisible(const AttentionShape& shape, const AttentionSpan& span, int64_t kv_head,
                            int64_t position) {
  const int64_t first = shape.FirstVisible(position);
  if (span.first_rows.empty()) return first;
  return std::max<int64_t>(first, span.first_rows[static_cast<size_t>(kv_head)]);
}

// The most tokens of an item.
int64_t TokensPerItem(const AttentionShape& shape);

// Fills items and merges; returns how many partial rows the merges need.
int64_t PlanItems(const AttentionShape& shape, std::span<const AttentionSpan> spans, int threads,
                  std::vector<AttentionItem>& items, std::vector<AttentionMerge>& merges);

// Groups of a tile that are read in one form, one behind the other.
struct GroupRun {
  int first;
  int end;
  bool exact;
};

// use(GroupRun) for the runs of the groups with keys [first_key, end_key) of the tile at `base`, as
// the query at `position` reads them.
template <class Use>
void ForRuns(const AttentionShape& shape, int64_t base, int64_t first_key, int64_t end_key,
             int64_t position, const Use& use) {
  const int64_t first_exact = shape.FirstExact(position);
  const auto end = static_cast<int>((end_key - base + kTileRows - 1) / kTileRows);
  const auto is_exact = [&](int group) {
    const int64_t key = base + int64_t{group} * kTileRows;
    return key < shape.exact.first || key >= first_exact;
  };
  GroupRun run = {static_cast<int>((first_key - base) / kTileRows), 0, false};
  while (run.first < end) {
    run.exact = is_exact(run.first);
    run.end = run.first + 1;
    while (run.end < end && is_exact(run.end) == run.exact) ++run.end;
    use(run);
    run.first = run.end;
  }
}

// The tiles at `offset` of the span's blocks with keys [first_key, end_key) of the tile at `base`.
TilePointers PointersOf(const AttentionSpan& span, int64_t base, int64_t first_key, int64_t end_key,
                        int64_t offset);
// The groups of an exact run; `recent` and `first` are offsets in the blocks of either kind.
TilePointers ExactPointers(const AttentionShape& shape, const ExactRows& rows, int64_t base,
                           const GroupRun& run, int64_t recent, int64_t first);

}  // namespace cairn

#endif  // CAIRN_KERNELS_ATTENTION_PLAN_H_
