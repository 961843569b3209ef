#include "cairn/engine/step_cost.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace cairn {
namespace {

// How much the newest step counts: a few steps later little is left of an older one.
constexpr double kNewest = 0.25;
// Of the answers' time in a step: a prompt whose layers are shared out has at least so much, where
// its least tokens would take longer.
constexpr double kLeastShare = 0.25;
// A slice may be longer than there is room for by this part of a layer: rounding down alone would
// waste most of a step where two layers nearly fit.
constexpr double kPartOfLayer = 0.25;
// Clocks are coarse; a cost is never nothing.
constexpr double kLeastUs = 1e-3;

constexpr double kNoLimit = std::numeric_limits<double>::infinity();

void Follow(double& value, double sample) {
  sample = std::max(sample, kLeastUs);
  value = value == 0 ? sample : value + kNewest * (sample - value);
}

}  // namespace

void StepCost::Observe(int64_t answer_tokens, double prompt_tokens, int64_t us) {
  const auto answers = static_cast<double>(answer_tokens);
  const auto time = static_cast<double>(us);
  if (answer_tokens == 0 && prompt_tokens == 0) return;
  if (prompt_tokens == 0) {
    Follow(alone_us_, time / answers);
    return Follow(answer_us_, time / answers);
  }
  if (answer_tokens == 0) return Follow(prompt_us_, time / prompt_tokens);
  last_beside_ = prompt_tokens;
  if (answer_us_ == 0 && prompt_us_ == 0) {
    answer_us_ = prompt_us_ = std::max(time / (answers + prompt_tokens), kLeastUs);
  } else if (prompt_us_ == 0) {
    Follow(prompt_us_, (time - answer_us_ * answers) / prompt_tokens);
  } else if (answer_us_ == 0) {
    Follow(answer_us_, (time - prompt_us_ * prompt_tokens) / answers);
  } else {
    // One number can't say which of the two was wrong: both, by the same factor.
    const double factor = time / (answer_us_ * answers + prompt_us_ * prompt_tokens);
    Follow(answer_us_, answer_us_ * factor);
    Follow(prompt_us_, prompt_us_ * factor);
  }
}

double StepCost::TimeLeft(int64_t answer_tokens) const {
  const auto answers = static_cast<double>(answer_tokens);
  double limit = target_us_ > 0 ? static_cast<double>(target_us_) : kNoLimit;
  // What mixed steps teach of an answer's cost moves with the prompt's; this must not.
  const double alone_us = alone_us_ > 0 ? alone_us_ : answer_us_;
  if (gap_ > 0) limit = std::min(limit, gap_ * alone_us * answers);
  if (answer_tokens == 0) return kNoLimit;
  return limit - answer_us_ * answers;
}

int64_t StepCost::PromptTokens(int64_t answer_tokens) const {
  const double left = TimeLeft(answer_tokens);
  if (left == kNoLimit) return std::numeric_limits<int64_t>::max();
  if (prompt_us_ == 0) return kLeastPromptTokens;
  constexpr auto kLeast = static_cast<double>(kLeastPromptTokens);
  const double tokens = std::min(left / prompt_us_, 2 * std::max(last_beside_, kLeast));
  return std::max(kLeastPromptTokens, static_cast<int64_t>(tokens));
}

double StepCost::Room(int64_t answer_tokens) const {
  constexpr auto kLeast = static_cast<double>(kLeastPromptTokens);
  const double left = TimeLeft(answer_tokens);
  if (left == kNoLimit) return kNoLimit;
  if (prompt_us_ == 0 || answer_us_ == 0) return kLeast;
  const double share = kLeastShare * answer_us_ * static_cast<double>(answer_tokens);
  const double time = std::max(left, std::min(share, kLeast * prompt_us_));
  return std::min(time / prompt_us_, 2 * std::max(last_beside_, kLeast));
}

int64_t StepCost::Counted(int64_t tokens) { return std::max(tokens, kLeastPieceTokens); }

int64_t StepCost::PieceTokens(double room, int64_t layers, int64_t left) {
  const double layer_tokens = room * static_cast<double>(layers);
  const auto slice = static_cast<int64_t>(std::ceil(layer_tokens / kMostPieceTokens));
  const int64_t steps = layers / std::clamp<int64_t>(slice, 1, layers);
  const auto tokens = static_cast<int64_t>(room * static_cast<double>(steps));
  const int64_t most = std::clamp(tokens, kLeastPieceTokens, kMostPieceTokens);
  // Pieces alike: a last one of a few tokens would cost as much as one of many.
  const int64_t pieces = (left + most - 1) / most;
  return (left + pieces - 1) / pieces;
}

int64_t StepCost::SliceLayers(double room, int64_t tokens, int64_t layers, int64_t left) {
  const double fit = room * static_cast<double>(layers) / static_cast<double>(Counted(tokens));
  if (fit + kPartOfLayer >= static_cast<double>(left)) return left;
  const int64_t most = std::max<int64_t>(1, static_cast<int64_t>(fit + kPartOfLayer));
  const int64_t steps = (left + most - 1) / most;
  return (left + steps - 1) / steps;
}

double StepCost::PromptTokenUs(int64_t answer_tokens, double prompt_tokens, int64_t us) const {
  if (prompt_tokens == 0) return 0;
  const double answer_us = answer_us_ * static_cast<double>(answer_tokens);
  const double prompt_us = prompt_us_ * prompt_tokens;
  const double all = static_cast<double>(answer_tokens) + prompt_tokens;
  if (answer_us_ == 0 || prompt_us_ == 0) return static_cast<double>(us) / all;
  const double share = prompt_us / (answer_us + prompt_us);
  return static_cast<double>(us) * share / prompt_tokens;
}

}  // namespace cairn
