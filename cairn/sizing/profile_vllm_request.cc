// Blocks that one request needs of each group (v1/kv_cache_interface.py, config/vllm.py; read in
// 0.11 to 0.33).
#include <algorithm>

#include "cairn/sizing/profile_frameworks.h"
#include "cairn/sizing/profile_vllm.h"

namespace cairn {

namespace {

using Kind = LayerCache::Kind;

}  // namespace

int64_t InFlightTokens(const ProfileQuestion& question) {
  constexpr int64_t kBatchedTokens = 8192;
  const int64_t batched = question.max_num_batched_tokens.value_or(kBatchedTokens);
  if (question.concurrent_batches) return batched * *question.concurrent_batches;
  // One step to 0.25; then as many as run at the same time (config/vllm.py).
  if (!question.version.AtLeast(0, 26)) return batched;
  const bool two = question.async_scheduling.value_or(true) && question.pp == 1;
  return batched * (two ? 2 : question.pp);
}

int64_t BlocksOfRequest(const VllmGroup& group, int64_t tokens, const ProfileQuestion& question) {
  switch (group.kind) {
    case Kind::kSliding:
    case Kind::kCompressed:
      return CeilDiv(std::min(group.window - 1 + InFlightTokens(question), tokens),
                     group.block_tokens) +
             1;
    case Kind::kChunked:
      return CeilDiv(std::min(group.window + InFlightTokens(question), tokens), group.block_tokens);
    case Kind::kState:
      break;
    case Kind::kFull:
    case Kind::kLatent:
    case Kind::kIndex:
      return CeilDiv(CeilDiv(tokens, question.dcp), group.block_tokens);
  }
  const std::string mode = VllmMambaMode(question);
  const int64_t drafted =
      question.version.AtLeast(0, 16) ? question.num_speculative_tokens : int64_t{0};
  if (mode == "all") {
    return CeilDiv(tokens, group.block_tokens) + (question.version.AtLeast(0, 24) ? drafted : 0);
  }
  if (mode == "none" || !question.version.AtLeast(0, 14)) return 1 + drafted;
  const bool keeps = group.prefill_checkpoints && question.version.AtLeast(0, 30);
  return 2 + drafted + question.prefill_checkpoints.value_or(keeps ? 1 : 0);
}

}  // namespace cairn
