#include "cairn/engine/step_cost.h"

#include <algorithm>
#include <limits>

namespace cairn {
namespace {

// How much the newest step counts: a few steps later little is left of an older one.
constexpr double kNewest = 0.25;
// Clocks are coarse; a cost is never nothing.
constexpr double kLeastUs = 1e-3;

void Follow(double& value, double sample) {
  sample = std::max(sample, kLeastUs);
  value = value == 0 ? sample : value + kNewest * (sample - value);
}

}  // namespace

void StepCost::Observe(int64_t answer_tokens, int64_t prompt_tokens, int64_t us) {
  const auto answers = static_cast<double>(answer_tokens);
  const auto prompt = static_cast<double>(prompt_tokens);
  const auto time = static_cast<double>(us);
  if (answer_tokens + prompt_tokens == 0) return;
  if (prompt_tokens == 0) {
    Follow(alone_us_, time / answers);
    return Follow(answer_us_, time / answers);
  }
  if (answer_tokens == 0) return Follow(prompt_us_, time / prompt);
  last_beside_ = prompt_tokens;
  if (answer_us_ == 0 && prompt_us_ == 0) {
    answer_us_ = prompt_us_ = std::max(time / (answers + prompt), kLeastUs);
  } else if (prompt_us_ == 0) {
    Follow(prompt_us_, (time - answer_us_ * answers) / prompt);
  } else if (answer_us_ == 0) {
    Follow(answer_us_, (time - prompt_us_ * prompt) / answers);
  } else {
    // One number can't say which of the two was wrong: both, by the same factor.
    const double factor = time / (answer_us_ * answers + prompt_us_ * prompt);
    Follow(answer_us_, answer_us_ * factor);
    Follow(prompt_us_, prompt_us_ * factor);
  }
}

int64_t StepCost::PromptTokens(int64_t answer_tokens) const {
  constexpr double kNoLimit = std::numeric_limits<double>::infinity();
  const auto answers = static_cast<double>(answer_tokens);
  double limit = target_us_ > 0 ? static_cast<double>(target_us_) : kNoLimit;
  // What mixed steps teach of an answer's cost moves with the prompt's; this must not.
  const double alone_us = alone_us_ > 0 ? alone_us_ : answer_us_;
  if (gap_ > 0) limit = std::min(limit, gap_ * alone_us * answers);
  if (limit == kNoLimit || answer_tokens == 0) return std::numeric_limits<int64_t>::max();
  if (prompt_us_ == 0) return kLeastPromptTokens;
  const double left = limit - answer_us_ * answers;
  const auto most = static_cast<double>(2 * std::max(last_beside_, kLeastPromptTokens));
  const double tokens = std::min(left / prompt_us_, most);
  return std::max(kLeastPromptTokens, static_cast<int64_t>(tokens));
}

double StepCost::PromptTokenUs(int64_t answer_tokens, int64_t prompt_tokens, int64_t us) const {
  if (prompt_tokens == 0) return 0;
  const double answer_us = answer_us_ * static_cast<double>(answer_tokens);
  const double prompt_us = prompt_us_ * static_cast<double>(prompt_tokens);
  const auto all = static_cast<double>(answer_tokens + prompt_tokens);
  if (answer_us_ == 0 || prompt_us_ == 0) return static_cast<double>(us) / all;
  const double share = prompt_us / (answer_us + prompt_us);
  return static_cast<double>(us) * share / static_cast<double>(prompt_tokens);
}

}  // namespace cairn
