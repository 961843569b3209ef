#include "cairn/kernels/attention_plan.h"

#include <algorithm>

#include "cairn/base/check.h"

namespace cairn {
namespace {

// Query rows computed together: enough to reuse a tile of keys and values, few enough for the
// cache.
constexpr int64_t kRowsPerItem = 32;

bool HasExact(const AttentionShape& shape) { return shape.exact.keys || shape.exact.values; }

// Few tokens over a long context: an item for each segment.
void PlanSegments(const AttentionShape& shape, const AttentionSpan& span, AttentionItem item,
                  std::vector<AttentionItem>& items, std::vector<AttentionMerge>& merges,
                  int64_t& partial_rows) {
  const int64_t first_position = span.first_position + item.first_token;
  const int64_t first = FirstVisible(shape, span, item.kv_head, first_position) / kSegmentKeys;
  const int64_t segments = (first_position + item.tokens - 1) / kSegmentKeys - first + 1;
  if (segments == 1) {
    items.push_back(item);
    return;
  }
  merges.push_back(
      {item.span, item.kv_head, item.first_token, item.tokens, segments, partial_rows});
  for (int64_t i = 0; i < segments; ++i) {
    item.segment = first + i;
    item.partial = partial_rows;
    items.push_back(item);
    partial_rows += item.tokens * (shape.heads / shape.kv_heads);
  }
}

}  // namespace

int64_t TokensPerItem(const AttentionShape& shape) {
  const int64_t tokens = std::max<int64_t>(1, kRowsPerItem / (shape.heads / shape.kv_heads));
  if (!HasExact(shape)) return tokens;
  // All tokens of an item read the same rows exactly, so items end where that changes.
  return kTileRows / ((kTileRows + tokens - 1) / tokens);
}

int64_t PlanItems(const AttentionShape& shape, std::span<const AttentionSpan> spans, int threads,
                  std::vector<AttentionItem>& items, std::vector<AttentionMerge>& merges) {
  items.clear();
  merges.clear();
  const int64_t most = TokensPerItem(shape);
  int64_t partial_rows = 0;
  for (size_t s = 0; s < spans.size(); ++s) {
    const AttentionSpan& span = spans[s];
    const bool few = span.tokens <= most && threads > 1;
    for (int64_t h = 0; h < shape.kv_heads; ++h) {
      for (int64_t t = 0, count = 0; t < span.tokens; t += count) {
        count = std::min(most, span.tokens - t);
        if (HasExact(shape)) {
          count = std::min(count, kTileRows - (span.first_position + t) % kTileRows);
        }
        const AttentionItem item = {
            static_cast<int32_t>(s), static_cast<int32_t>(h), t, count, -1, 0};
        if (few) {
          PlanSegments(shape, span, item, items, merges, partial_rows);
        } else {
          items.push_back(item);
        }
      }
    }
  }
  return partial_rows;
}

TilePointers PointersOf(const AttentionSpan& span, int64_t base, int64_t first_key, int64_t end_key,
                        int64_t offset) {
  TilePointers pointers;
  pointers.first = static_cast<int>((first_key - base) / kTileRows);
  pointers.end = static_cast<int>((end_key - base + kTileRows - 1) / kTileRows);
  for (int g = pointers.first; g < pointers.end; ++g) {
    const int64_t block = base / kTileRows + g - span.first_block;
    CAIRN_DCHECK(block >= 0 && block < static_cast<int64_t>(span.blocks.size()));
    pointers.groups[static_cast<size_t>(g)] = span.blocks[static_cast<size_t>(block)] + offset;
  }
  const int64_t next = base / kTileRows + kTileGroups - span.first_block;
  if (next + kTileGroups > static_cast<int64_t>(span.blocks.size())) return pointers;
  for (int64_t g = 0; g < kTileGroups; ++g) {
    pointers.next[static_cast<size_t>(g)] = span.blocks[static_cast<size_t>(next + g)] + offset;
  }
  return pointers;
}

TilePointers ExactPointers(const AttentionShape& shape, const ExactRows& rows, int64_t base,
                           const GroupRun& run, int64_t recent, int64_t first) {
  TilePointers pointers;
  pointers.first = run.first;
  pointers.end = run.end;
  for (int g = run.first; g < run.end; ++g) {
    const int64_t block = base / kTileRows + g;
    const bool of_first = block * kTileRows < shape.exact.first;
    const int64_t index = of_first ? block : block - rows.first_recent_block;
    const std::span<std::byte* const> blocks = of_first ? rows.first : rows.recent;
    CAIRN_DCHECK(index >= 0 && index < static_cast<int64_t>(blocks.size()));
    pointers.groups[static_cast<size_t>(g)] =
        blocks[static_cast<size_t>(index)] + (of_first ? first : recent);
  }
  return pointers;
}

}  // namespace cairn
