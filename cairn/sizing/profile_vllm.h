// The blocks of vLLM's cache: how layers are grouped, padded and counted, version by version.
//
// One pool of equal blocks serves all groups; each group has its own block table. A plan says what
// a block is; profile_vllm_report.cc turns it into the numbers and lines that a start prints.
#ifndef CAIRN_SIZING_PROFILE_VLLM_H_
#define CAIRN_SIZING_PROFILE_VLLM_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cairn/sizing/profile.h"
#include "cairn/sizing/profile_geometry.h"

namespace cairn {

// What changed the printed numbers.
enum class VllmEra : uint8_t {
  kV0,        // to 0.7: blocks are printed, windows are charged as full attention
  kV1Early,   // 0.8 to 0.9.1: tokens = blocks x block size
  kGrouped,   // 0.9.2 to 0.20: tokens = blocks // groups x smallest block
  kWeighted,  // 0.21 to 0.26: tokens = concurrency x max_model_len, weighted by bytes
  kCounted,   // from 0.27: the same from counted blocks; block 0 is reserved
};
VllmEra EraOf(const FrameworkVersion& version);
std::string_view NameOf(VllmEra era);

// Layers that share one block table.
struct VllmGroup {
  LayerCache::Kind kind = LayerCache::Kind::kFull;
  int64_t window = 0;  // of sliding and chunked
  int64_t block_tokens = 0;
  int64_t page_bytes = 0;  // one block of one layer; the sum where a group's layers differ
  std::vector<int64_t> layer_pages = {};
  std::vector<LayerIndex> layers = {};
  int64_t padding_layers = 0;
  bool prefill_checkpoints = false;  // of a state that keeps one more block for them
};

struct VllmPlan {
  std::vector<VllmGroup> groups;
  bool uniform = false;                    // one group; a block is the sum of its pages
  std::optional<int64_t> attention_block;  // of models with states: after alignment
  std::optional<double> mamba_pad_percent;
  int64_t group_layers = 0;  // of a full group, padding included
  int64_t padding_layers = 0;
  int64_t bytes_per_block = 0;                 // on the stage with the most
  std::vector<int64_t> stage_bytes_per_block;  // one for each pipeline stage
  int64_t whole_bytes_per_block = 0;           // of all layers together
  int64_t needed_bytes_per_block = 0;          // as the check "does a request fit" counts it
  std::vector<std::string> lines;              // printed while planning
  std::vector<std::string> notes;
  std::vector<std::string> warnings;
};

// Bytes of a token's row in one layer on the rank: rows, latent rows and index keys.
Result<int64_t> VllmRowBytes(const LayerCache& cache, const ProfileQuestion& question);

// Bytes of one request's state in one layer, before any padding.
Result<int64_t> VllmStateBytes(const LayerCache& cache, const ProfileQuestion& question);

// none, align or all.
std::string VllmMambaMode(const ProfileQuestion& question);

Result<VllmPlan> PlanVllm(const ModelSpec& model, const ProfileQuestion& question);

// The groups of DeepSeek V4, whose pages have several sizes.
Result<VllmPlan> PlanVllmCompressed(const std::vector<LayerCache>& caches,
                                    const ProfileQuestion& question);

// Fills in what a block takes on each stage of the plan's layers.
Status CountStages(int64_t layers, const ProfileQuestion& question, VllmPlan& plan);

// Blocks of the group that a request of `tokens` tokens needs.
int64_t BlocksOfRequest(const VllmGroup& group, int64_t tokens, const ProfileQuestion& question);
// Tokens that may be in flight beyond a window.
int64_t InFlightTokens(const ProfileQuestion& question);

}  // namespace cairn

#endif  // CAIRN_SIZING_PROFILE_VLLM_H_
