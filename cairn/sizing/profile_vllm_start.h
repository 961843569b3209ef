// A start of vLLM: its plan, what the pool holds, and what requests need of it.
//
// Between profile_vllm_*.cc only. Pure functions; thread-safe.
#ifndef CAIRN_SIZING_PROFILE_VLLM_START_H_
#define CAIRN_SIZING_PROFILE_VLLM_START_H_

#include <cstdint>
#include <optional>

#include "cairn/sizing/profile_vllm.h"
#include "cairn/sizing/section.h"

namespace cairn {

// A start: the plan and what the pool holds, as far as the question tells.
struct VllmStart {
  const ProfileQuestion& question;
  const VllmPlan& plan;
  VllmEra era;
  std::optional<int64_t> available;  // bytes
  std::optional<int64_t> blocks;
};

// Blocks of a request of `tokens` tokens as the concurrency is computed with: counted, or by bytes
// over the first group's.
int64_t RequestBlocks(const VllmStart& start, int64_t tokens);
// Blocks as they are taken from the pool.
int64_t CountedBlocks(const VllmStart& start, int64_t tokens);
int64_t NeededBytes(const VllmStart& start, int64_t tokens);
// Of `available`, what the check lets one request have.
int64_t BytesForRequests(const VllmStart& start, int64_t available);
// The longest request of at most `most` tokens that fits; 0 if none does.
int64_t LongestThatFits(const VllmStart& start, int64_t available, int64_t most);

void AddPlanFields(const VllmPlan& plan, Section& section);
// Groups, and stages if there are several.
void AddTables(const VllmStart& start, Section& section);
// What one may get wrong with these numbers.
void AddAdvice(const VllmStart& start, Section& section);

}  // namespace cairn

#endif  // CAIRN_SIZING_PROFILE_VLLM_START_H_
