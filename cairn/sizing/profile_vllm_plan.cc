// From the caches of a model's layers to groups and blocks
// (v1/core/kv_cache_utils.py, platforms/interface.py; read in 0.9.2 to 0.33).
#include <algorithm>
#include <numeric>
#include <utility>

#include "cairn/sizing/profile_frameworks.h"
#include "cairn/sizing/profile_vllm.h"

namespace cairn {
namespace {

using Kind = LayerCache::Kind;

// Layers of equal spec, as the grouping sees them.
struct Bucket {
  Kind kind = Kind::kFull;
  int64_t window = 0;
  int64_t block_tokens = 0;
  int64_t page_bytes = 0;
  bool checkpoints = false;
  LayerCache shape = {};  // of a layer; its number aside
  std::vector<LayerIndex> layers = {};

  bool SameSpec(const Bucket& other) const {
    return kind == other.kind && window == other.window && block_tokens == other.block_tokens &&
           page_bytes == other.page_bytes && shape == other.shape;
  }
  // Every layer needs a slot for each token of the sequence.
  bool KeepsAll() const {
    return kind == Kind::kFull || kind == Kind::kLatent || kind == Kind::kIndex;
  }
};

constexpr int64_t kBlock = 16;
constexpr int64_t kLatentBlock = 64;
constexpr int64_t kLatentAlignmentNow = 128;
constexpr int64_t kMaxPageBytes = int64_t{1} << 44;

bool Has(const std::vector<LayerCache>& caches, Kind kind) {
  return std::ranges::any_of(caches, [kind](const LayerCache& c) { return c.kind == kind; });
}

int64_t DefaultBlock(const std::vector<LayerCache>& caches) {
  return Has(caches, Kind::kLatent) ? kLatentBlock : kBlock;
}

// The alignment of a hybrid's block: what the attention kernel divides a block into.
int64_t KernelBlock(const std::vector<LayerCache>& caches, const ProfileQuestion& question) {
  if (question.kernel_block) return *question.kernel_block;
  if (!Has(caches, Kind::kLatent)) return kBlock;
  return question.version.AtLeast(0, 20) ? kLatentAlignmentNow : kLatentBlock;
}

struct HybridBlock {
  int64_t tokens = 0;
  int64_t page_bytes = 0;
  int64_t state_bytes = 0;
};

// The smallest block whose attention page holds the largest state; states are padded to the page.
Result<HybridBlock> AlignHybrid(const std::vector<LayerCache>& caches,
                                const ProfileQuestion& question) {
  HybridBlock block;
  int64_t row_bytes = 0;
  for (const LayerCache& cache : caches) {
    if (cache.kind == Kind::kState) {
      CAIRN_ASSIGN(const int64_t bytes, VllmStateBytes(cache, question));
      block.state_bytes = std::max(block.state_bytes, bytes);
    } else if (cache.kind != Kind::kIndex && row_bytes == 0) {
      CAIRN_ASSIGN(row_bytes, VllmRowBytes(cache, question));
    }
  }
  if (row_bytes == 0) {  // states alone: a request has one block
    block.tokens = question.max_model_len.value_or(kBlock);
    block.page_bytes = block.state_bytes;
    return block;
  }
  const int64_t unit = KernelBlock(caches, question);
  const int64_t alignment = RoundUp(std::max(unit, question.block_size.value_or(1)), unit);
  block.tokens = alignment * CeilDiv(block.state_bytes, alignment * row_bytes);
  block.page_bytes = Saturated(block.tokens, row_bytes);
  return block;
}

void AddToBuckets(Bucket bucket, LayerIndex layer, std::vector<Bucket>& buckets) {
  for (Bucket& known : buckets) {
    if (!known.SameSpec(bucket)) continue;
    known.layers.push_back(layer);
    return;
  }
  bucket.layers.push_back(layer);
  buckets.push_back(std::move(bucket));
}

// Models without states may keep their first and last two layers in their own type.
bool KeepsModelType(const ProfileQuestion& question, const std::vector<LayerCache>& caches,
                    size_t at) {
  constexpr size_t kBoundary = 2;
  return question.kv_dtype.starts_with("turboquant") && !Has(caches, Kind::kState) &&
         (at < kBoundary || at + kBoundary >= caches.size());
}

Result<std::vector<Bucket>> BucketsOf(const std::vector<LayerCache>& caches,
                                      const ProfileQuestion& question,
                                      const std::optional<HybridBlock>& hybrid) {
  const VllmEra era = EraOf(question.version);
  const bool charges_full =
      era == VllmEra::kV0 || era == VllmEra::kV1Early || !question.hybrid_manager.value_or(true);
  const bool any_full = Has(caches, Kind::kFull);
  const std::string mode = VllmMambaMode(question);
  const int64_t block =
      hybrid ? hybrid->tokens : question.block_size.value_or(DefaultBlock(caches));
  ProfileQuestion unpacked = question;
  unpacked.kv_dtype = "auto";
  std::vector<Bucket> buckets;
  for (size_t i = 0; i < caches.size(); ++i) {
    const LayerCache& cache = caches[i];
    Bucket bucket = {.kind = cache.kind, .window = cache.window, .block_tokens = block};
    if (cache.kind == Kind::kState) {
      bucket.page_bytes = hybrid->page_bytes;
      bucket.checkpoints = cache.state == LayerCache::StateKind::kMamba2;
      if (mode == "none") bucket.block_tokens = question.max_model_len.value_or(block);
    } else {
      CAIRN_ASSIGN(const int64_t row_bytes,
                   VllmRowBytes(cache, KeepsModelType(question, caches, i) ? unpacked : question));
      bucket.page_bytes = Saturated(block, row_bytes);
    }
    const bool windowed = cache.kind == Kind::kSliding || cache.kind == Kind::kChunked;
    if (windowed && charges_full && any_full) {
      bucket.kind = Kind::kFull;
      bucket.window = 0;
    }
    bucket.shape = cache;
    bucket.shape.kind = bucket.kind;
    bucket.shape.window = bucket.window;
    bucket.shape.layer = LayerIndex(0);
    bucket.shape.draft = false;
    AddToBuckets(std::move(bucket), cache.layer, buckets);
  }
  return buckets;
}

// unify_kv_cache_spec_page_size: smaller pages get longer blocks, or are padded.
Status UnifyPages(const ProfileQuestion& question, std::vector<Bucket>& buckets, VllmPlan& plan) {
  int64_t largest = 0;
  for (const Bucket& bucket : buckets) largest = std::max(largest, bucket.page_bytes);
  for (Bucket& bucket : buckets) {
    if (bucket.page_bytes == largest) continue;
    if (largest % bucket.page_bytes == 0) {
      if (bucket.kind != Kind::kState) bucket.block_tokens *= largest / bucket.page_bytes;
    } else if (!question.version.AtLeast(0, 20)) {
      return Fail(ErrorCode::kUnsupported,
                  "vllm {} refuses this model: its pages of {} and {} bytes can't be unified",
                  question.version.text, bucket.page_bytes, largest);
    } else {
      plan.notes.push_back(fmt::format("{} pages of {} bytes are padded to {}", NameOf(bucket.kind),
                                       bucket.page_bytes, largest));
    }
    bucket.page_bytes = largest;
  }
  return {};
}

VllmGroup GroupFrom(const Bucket& bucket) {
  return {.kind = bucket.kind,
          .window = bucket.window,
          .block_tokens = bucket.block_tokens,
          .page_bytes = bucket.page_bytes,
          .prefill_checkpoints = bucket.checkpoints};
}

// _get_kv_cache_groups_uniform_page_size: layer i of a bucket goes to its group i mod groups.
void FormGroups(const std::vector<Bucket>& buckets, VllmPlan& plan) {
  size_t smallest = buckets.front().layers.size();
  size_t most = smallest;
  for (const Bucket& bucket : buckets) {
    smallest = std::min(smallest, bucket.layers.size());
    most = std::max(most, bucket.layers.size());
  }
  // Close numbers are padded to the larger one: 12 and 13 layers make two groups, not three.
  const size_t size = 2 * most < 3 * smallest ? most : smallest;
  plan.group_layers = static_cast<int64_t>(size);
  for (const Bucket& bucket : buckets) {
    const size_t layers = bucket.layers.size();
    const size_t groups = (layers + size - 1) / size;
    if (const size_t padding = groups * size - layers; padding > 0) {
      plan.padding_layers += static_cast<int64_t>(padding);
      plan.lines.push_back(
          fmt::format("Add {} padding layers, may waste at most {:.2f}% KV cache memory", padding,
                      100.0 * static_cast<double>(padding) / static_cast<double>(layers)));
    }
    for (size_t first = 0; first < groups; ++first) {
      VllmGroup group = GroupFrom(bucket);
      for (size_t i = first; i < layers; i += groups) group.layers.push_back(bucket.layers[i]);
      group.padding_layers = static_cast<int64_t>(size - group.layers.size());
      plan.groups.push_back(std::move(group));
    }
  }
}

// One group of layers that need equally many slots; a block is the sum of their pages.
void FormOneGroup(const std::vector<Bucket>& buckets, VllmPlan& plan) {
  plan.uniform = true;
  VllmGroup group = GroupFrom(buckets.front());
  std::vector<std::pair<LayerIndex, int64_t>> pages;
  for (const Bucket& bucket : buckets) {
    for (const LayerIndex layer : bucket.layers) pages.emplace_back(layer, bucket.page_bytes);
  }
  std::ranges::sort(pages);
  group.page_bytes = 0;
  for (const auto& [layer, bytes] : pages) {
    group.layers.push_back(layer);
    group.layer_pages.push_back(bytes);
    group.page_bytes = SaturatedSum(group.page_bytes, bytes);
  }
  plan.group_layers = static_cast<int64_t>(pages.size());
  plan.groups.push_back(std::move(group));
}

void DescribeHybrid(const HybridBlock& block, VllmPlan& plan) {
  const double more = static_cast<double>(block.page_bytes - block.state_bytes);
  plan.attention_block = block.tokens;
  plan.mamba_pad_percent = 100.0 * more / static_cast<double>(block.state_bytes);
  plan.lines.push_back(fmt::format(
      "Setting attention block size to {} tokens to ensure that attention page size is >= mamba "
      "page size.",
      block.tokens));
  if (block.page_bytes > block.state_bytes) {
    plan.lines.push_back(
        fmt::format("Padding mamba page size by {:.2f}% to ensure that mamba page "
                    "size and attention page size are exactly equal.",
                    *plan.mamba_pad_percent));
  }
}

}  // namespace

Result<VllmPlan> PlanVllm(const ModelSpec& model, const ProfileQuestion& question) {
  CAIRN_ASSIGN(const std::vector<LayerCache> caches,
               CachesOfRank(model, question.tp,
                            {.prediction_layers = question.mtp_layers,
                             .drafter_layers = question.draft_layers,
                             .kv_heads = question.draft_kv_heads,
                             .head_dim = question.draft_head_dim,
                             .window = question.draft_window}));
  if (caches.empty()) {
    return Fail(ErrorCode::kUnsupported, "no layer of this model keeps a cache");
  }
  if (Has(caches, Kind::kCompressed)) return PlanVllmCompressed(caches, question);
  VllmPlan plan;
  std::optional<HybridBlock> hybrid;
  if (Has(caches, Kind::kState)) {
    CAIRN_ASSIGN(hybrid, AlignHybrid(caches, question));
    DescribeHybrid(*hybrid, plan);
  }
  CAIRN_ASSIGN(std::vector<Bucket> buckets, BucketsOf(caches, question, hybrid));
  for (const Bucket& bucket : buckets) {
    if (bucket.page_bytes <= 0 || bucket.page_bytes > kMaxPageBytes) {
      return Fail(ErrorCode::kUnsupported, "a page of one layer would take {} bytes",
                  bucket.page_bytes);
    }
  }
  const bool all_rows = std::ranges::all_of(buckets, &Bucket::KeepsAll);
  if (buckets.size() == 1 || all_rows) {
    FormOneGroup(buckets, plan);
  } else {
    CAIRN_TRY(UnifyPages(question, buckets, plan));
    FormGroups(buckets, plan);
  }
  CAIRN_TRY(CountStages(static_cast<int64_t>(model.layers.size()), question, plan));
  return plan;
}

}  // namespace cairn
