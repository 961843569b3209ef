// Pipeline stages: what a block takes on each (distributed/utils.py and v1/core/kv_cache_utils.py).
//
// Groups are formed for the whole model; a stage keeps those layers of a group that it has.
#include <algorithm>

#include "cairn/sizing/profile_frameworks.h"
#include "cairn/sizing/profile_vllm.h"

namespace cairn {
namespace {

// First layers of the stages and the end of the last; drafts belong to the last stage.
Result<std::vector<int64_t>> StageBounds(int64_t layers, const ProfileQuestion& question) {
  const auto fail = [&] {
    return Fail(ErrorCode::kInvalidArgument,
                "stage_layers must be {} numbers that add up to the model's {} layers", question.pp,
                layers);
  };
  std::vector<int64_t> bounds = {0};
  if (!question.stage_layers.empty()) {
    if (question.stage_layers.size() != static_cast<size_t>(question.pp)) return fail();
    for (const int64_t stage : question.stage_layers) bounds.push_back(bounds.back() + stage);
    if (bounds.back() != layers) return fail();
    return bounds;
  }
  if (question.pp > layers) {
    return Fail(ErrorCode::kInvalidArgument, "pp {}: the model has {} layers", question.pp, layers);
  }
  // distributed/utils.py: what is left over goes to the stages before the last.
  const int64_t left = layers % question.pp;
  for (int64_t stage = 0; stage < question.pp; ++stage) {
    const int64_t from_end = question.pp - 1 - stage;
    bounds.push_back(bounds.back() + layers / question.pp +
                     (from_end >= 1 && from_end <= left ? 1 : 0));
  }
  return bounds;
}

int64_t StageBytes(const VllmPlan& plan, int64_t first, int64_t end) {
  const auto inside = [&](LayerIndex layer) {
    return layer.value() >= first && layer.value() < end;
  };
  int64_t most = 0;
  for (const VllmGroup& group : plan.groups) {
    if (plan.uniform) {
      for (size_t i = 0; i < group.layers.size(); ++i) {
        if (inside(group.layers[i])) most = SaturatedSum(most, group.layer_pages[i]);
      }
      continue;
    }
    most = std::max(most, Saturated(std::ranges::count_if(group.layers, inside), group.page_bytes));
  }
  return most;
}

}  // namespace

Status CountStages(int64_t layers, const ProfileQuestion& question, VllmPlan& plan) {
  CAIRN_ASSIGN(std::vector<int64_t> bounds, StageBounds(layers, question));
  bounds.back() = INT64_MAX;
  for (size_t stage = 0; stage + 1 < bounds.size(); ++stage) {
    plan.stage_bytes_per_block.push_back(StageBytes(plan, bounds[stage], bounds[stage + 1]));
  }
  plan.bytes_per_block = std::ranges::max(plan.stage_bytes_per_block);
  plan.whole_bytes_per_block = StageBytes(plan, 0, INT64_MAX);
  // Before 0.16 the check counted all layers on each stage.
  plan.needed_bytes_per_block =
      question.version.AtLeast(0, 16) ? plan.bytes_per_block : plan.whole_bytes_per_block;
  if (question.pp > 1 && !question.version.AtLeast(0, 16)) {
    plan.warnings.emplace_back(
        "before 0.16 the check whether a request fits counts all layers on each pipeline stage, so "
        "it refuses models that fit");
  }
  return {};
}

}  // namespace cairn
