// DeepSeek V4 in vLLM: compressed entries, windows and compressor states in one pool
// (v1/core/kv_cache_utils.py, read in 0.22 to 0.33; checked against starts of 0.22, 0.24 and 0.27).
#include <algorithm>
#include <map>
#include <utility>

#include "cairn/sizing/profile_frameworks.h"
#include "cairn/sizing/profile_vllm.h"

namespace cairn {
namespace {

using Kind = LayerCache::Kind;

constexpr int64_t kBlockTokens = 256;
constexpr int64_t kWindowBlock = 64;
constexpr int64_t kRotated = 64;   // channels kept in BF16
constexpr int64_t kRowScales = 8;  // FP8 scales of a row, padded
constexpr int64_t kPageAlignment = 576;
constexpr int64_t kCompressorRows = 8;  // of a block, for a compressor without overlap

int64_t Page(int64_t rows, int64_t row_bytes) { return RoundUp(rows * row_bytes, kPageAlignment); }

int64_t EntryBytes(const LayerCache& cache) {
  return cache.key_width - kRotated + 2 * kRotated + kRowScales;
}
int64_t IndexBytes(const LayerCache& cache) {
  return cache.value_width + 4 * CeilDiv(cache.value_width, 128);
}

// Pages of equal size in a group.
using PageCounts = std::map<int64_t, int64_t>;

struct Pages {
  VllmGroup group;
  PageCounts counts = {};  // by page bytes

  void Add(int64_t page, LayerIndex layer) {
    ++counts[page];
    group.page_bytes += page;
    if (group.layers.empty() || group.layers.back() != layer) group.layers.push_back(layer);
  }
  int64_t Tuples() const {
    int64_t most = 0;
    for (const auto& [page, count] : counts) most = std::max(most, count);
    return most;
  }
};

Pages EntryGroup(const std::vector<LayerCache>& caches) {
  Pages pages = {.group = {.kind = Kind::kFull, .block_tokens = kBlockTokens}};
  for (const LayerCache& cache : caches) {
    if (cache.ratio == 0) continue;
    const int64_t rows = CeilDiv(kBlockTokens, cache.ratio);
    pages.Add(Page(rows, EntryBytes(cache)), cache.layer);
    if (cache.value_width > 0) pages.Add(Page(rows, IndexBytes(cache)), cache.layer);
  }
  return pages;
}

// Floats of the open entries: two vectors, twice where entries overlap.
Pages CompressorGroup(const std::vector<LayerCache>& caches, int64_t ratio,
                      const PageCounts& entry_pages) {
  const auto padded = [&](int64_t page) {
    const auto fitting = entry_pages.lower_bound(page);
    return fitting == entry_pages.end() ? page : fitting->first;
  };
  Pages pages;
  for (const LayerCache& cache : caches) {
    if (cache.ratio != ratio) continue;
    const int64_t overlap = cache.value_width > 0 ? 2 : 1;
    const int64_t rows = kCompressorRows / overlap;
    pages.group.kind = Kind::kCompressed;
    pages.group.window = overlap * ratio;
    pages.group.block_tokens = rows;
    pages.Add(padded(Page(rows, overlap * cache.key_width * 2 * 4)), cache.layer);
    if (cache.value_width > 0) {
      pages.Add(padded(Page(rows, overlap * cache.value_width * 2 * 4)), cache.layer);
    }
  }
  return pages;
}

// _approximate_gcd: the tuple count that pads the least, at least the first group's.
int64_t TupleCount(const std::vector<int64_t>& counts) {
  int64_t best = counts.front();
  int64_t least = INT64_MAX;
  for (int64_t tuples = counts.front(); tuples <= std::ranges::max(counts); ++tuples) {
    int64_t padding = 0;
    for (const int64_t count : counts) padding += RoundUp(count, tuples) - count;
    if (padding <= least) best = tuples;
    least = std::min(least, padding);
  }
  return best;
}

// Every layer's window, in as many groups as the tuples make necessary.
std::vector<Pages> WindowGroups(const std::vector<LayerCache>& caches, int64_t tuples) {
  const size_t groups = static_cast<size_t>(
      CeilDiv(static_cast<int64_t>(caches.size()), std::max<int64_t>(tuples, 1)));
  std::vector<Pages> windows(
      groups, Pages{.group = {.kind = Kind::kSliding, .block_tokens = kWindowBlock}});
  for (size_t i = 0; i < caches.size(); ++i) {
    Pages& pages = windows[i % groups];
    pages.group.window = caches[i].window;
    pages.Add(Page(kWindowBlock, EntryBytes(caches[i])), caches[i].layer);
  }
  return windows;
}

struct BlockBytes {
  int64_t tuples = 0;   // every tuple has a page of each size
  int64_t packed = 0;   // of each size as many pages as the group with the most of them
  int64_t largest = 0;  // the largest group
};

BlockBytes CountBytes(const std::vector<Pages>& groups) {
  PageCounts most;
  int64_t tuples = 0;
  BlockBytes bytes;
  for (const Pages& pages : groups) {
    tuples = std::max(tuples, pages.Tuples());
    bytes.largest = std::max(bytes.largest, pages.group.page_bytes);
    for (const auto& [page, count] : pages.counts) most[page] = std::max(most[page], count);
  }
  for (const auto& [page, count] : most) {
    bytes.tuples += page * tuples;
    bytes.packed += page * count;
  }
  return bytes;
}

}  // namespace

Result<VllmPlan> PlanVllmCompressed(const std::vector<LayerCache>& caches,
                                    const ProfileQuestion& question) {
  const auto other = [](const LayerCache& c) {
    return c.kind != Kind::kCompressed || c.key_width <= kRotated;
  };
  if (std::ranges::any_of(caches, other) || question.pp > 1 || question.mtp_layers > 0 ||
      question.draft_layers > 0) {
    return Fail(ErrorCode::kUnsupported,
                "vllm's plan for compressed attention is known without pipeline stages, prediction "
                "and draft layers only");
  }
  std::vector<Pages> groups = {EntryGroup(caches)};
  std::map<int64_t, int64_t> ratios;
  for (const LayerCache& cache : caches) {
    if (cache.ratio > 0) ++ratios[cache.ratio];
  }
  std::vector<int64_t> counts = {groups.front().Tuples(), static_cast<int64_t>(caches.size())};
  for (const auto& [ratio, layers] : ratios) counts.push_back(layers);
  if (ratios.empty()) groups.clear();
  for (Pages& window : WindowGroups(caches, TupleCount(counts))) {
    groups.push_back(std::move(window));
  }
  for (const auto& [ratio, layers] : ratios) {
    groups.push_back(CompressorGroup(caches, ratio, groups.front().counts));
  }
  const BlockBytes bytes = CountBytes(groups);
  VllmPlan plan;
  plan.bytes_per_block = !question.version.AtLeast(0, 23)   ? bytes.tuples
                         : !question.version.AtLeast(0, 27) ? bytes.packed
                                                            : bytes.largest;
  // To 0.27 the check counted whole tuples, whatever the pool did.
  plan.needed_bytes_per_block =
      question.version.AtLeast(0, 28) ? plan.bytes_per_block : bytes.tuples;
  plan.whole_bytes_per_block = plan.bytes_per_block;
  plan.stage_bytes_per_block = {plan.bytes_per_block};
  for (Pages& pages : groups) {
    plan.group_layers =
        std::max(plan.group_layers, static_cast<int64_t>(pages.group.layers.size()));
    plan.groups.push_back(std::move(pages.group));
  }
  plan.notes.emplace_back(
      "compressor states are charged for the tokens in flight; with many batched tokens they are "
      "most of what a request needs");
  return plan;
}

}  // namespace cairn
