#include "cairn/sizing/profile_vllm_start.h"

#include <algorithm>

#include "cairn/sizing/profile_frameworks.h"

namespace cairn {

VllmEra EraOf(const FrameworkVersion& version) {
  if (version.AtLeast(0, 27)) return VllmEra::kCounted;
  if (version.AtLeast(0, 21)) return VllmEra::kWeighted;
  if (version.AtLeast(0, 9, 2)) return VllmEra::kGrouped;
  return version.AtLeast(0, 8) ? VllmEra::kV1Early : VllmEra::kV0;
}

std::string_view NameOf(VllmEra era) {
  switch (era) {
    case VllmEra::kV0:
      return "vllm to 0.7 (tokens = blocks x block size)";
    case VllmEra::kV1Early:
      return "vllm 0.8 to 0.9.1 (tokens = blocks x block size)";
    case VllmEra::kGrouped:
      return "vllm 0.9.2 to 0.20 (tokens = blocks // groups x smallest block)";
    case VllmEra::kWeighted:
      return "vllm 0.21 to 0.26 (tokens = concurrency x max_model_len)";
    case VllmEra::kCounted:
      return "vllm from 0.27 (tokens = blocks / blocks of a request x max_model_len)";
  }
  return "";
}

// get_max_concurrency_for_kv_cache_config: by counted blocks, or by bytes over the first group's.
int64_t RequestBlocks(const VllmStart& start, int64_t tokens) {
  int64_t counted = 0;
  int64_t weighted = 0;
  for (const VllmGroup& group : start.plan.groups) {
    const int64_t blocks = BlocksOfRequest(group, tokens, start.question);
    counted += blocks;
    weighted = SaturatedSum(weighted, Saturated(blocks, group.page_bytes));
  }
  if (start.era == VllmEra::kCounted) return counted;
  return CeilDiv(weighted, start.plan.groups.front().page_bytes);
}

int64_t CountedBlocks(const VllmStart& start, int64_t tokens) {
  int64_t counted = 0;
  for (const VllmGroup& group : start.plan.groups) {
    counted += BlocksOfRequest(group, tokens, start.question);
  }
  return counted;
}

int64_t NeededBytes(const VllmStart& start, int64_t tokens) {
  return Saturated(CountedBlocks(start, tokens), start.plan.needed_bytes_per_block);
}

// Block 0 is the null block; from 0.27 the check leaves it out.
int64_t BytesForRequests(const VllmStart& start, int64_t available) {
  return start.era == VllmEra::kCounted ? available - start.plan.bytes_per_block : available;
}

// The longest request that fits, 0 if none does.
int64_t LongestThatFits(const VllmStart& start, int64_t available, int64_t most) {
  const int64_t bytes = BytesForRequests(start, available);
  int64_t fits = 0;
  int64_t low = 1;
  int64_t high = most;
  while (low <= high) {
    const int64_t middle = low + (high - low) / 2;
    if (NeededBytes(start, middle) <= bytes) {
      fits = middle;
      low = middle + 1;
    } else {
      high = middle - 1;
    }
  }
  return fits;
}

}  // namespace cairn
