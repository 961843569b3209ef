#include "cairn/engine/sampler.h"

#include <algorithm>
#include <cmath>

#include "cairn/base/check.h"

namespace cairn {

Status CheckSamplingOptions(const SamplingOptions& options) {
  const auto check = [](bool good, const char* name, double value, const char* range) -> Status {
    if (good) return {};
    return Fail(ErrorCode::kInvalidArgument, "{} {} is out of range: it must be {}", name, value,
                range);
  };
  CAIRN_TRY(check(options.temperature >= 0 && std::isfinite(options.temperature), "--temp",
                  options.temperature, "0 or more"));
  CAIRN_TRY(check(options.top_k >= 0, "--top-k", static_cast<double>(options.top_k), "0 or more"));
  CAIRN_TRY(check(options.top_p > 0 && options.top_p <= 1, "--top-p", options.top_p,
                  "above 0 and at most 1"));
  CAIRN_TRY(check(options.min_p >= 0 && options.min_p <= 1, "--min-p", options.min_p, "in [0, 1]"));
  CAIRN_TRY(check(options.repetition_penalty > 0 && std::isfinite(options.repetition_penalty),
                  "--repeat-penalty", options.repetition_penalty, "above 0"));
  CAIRN_TRY(check(options.repetition_window >= -1, "--repeat-last-n",
                  static_cast<double>(options.repetition_window), "-1 or more"));
  return {};
}

Sampler::Sampler(const SamplingOptions& options) : options_(options), random_state_(options.seed) {
  CAIRN_CHECK(CheckSamplingOptions(options).has_value());
}

void Sampler::Penalise(std::span<const float> logits, std::span<const TokenId> history) {
  penalised_.clear();
  if (options_.repetition_penalty == 1.0 || options_.repetition_window == 0) return;
  const auto window = static_cast<size_t>(options_.repetition_window);
  if (options_.repetition_window > 0) {
    if (history.size() > window) history = history.last(window);
    penalised_.reserve(std::min(window, logits.size()));
  }
  for (const TokenId id : history) {
    if (id.value() < 0 || static_cast<size_t>(id.value()) >= logits.size()) continue;
    penalised_.push_back({id.value(), logits[static_cast<size_t>(id.value())]});
  }
  std::ranges::sort(penalised_, {}, &ScoredToken::id);
  const auto repeated = std::ranges::unique(penalised_, {}, &ScoredToken::id);
  penalised_.erase(repeated.begin(), repeated.end());
  const auto penalty = static_cast<float>(options_.repetition_penalty);
  for (ScoredToken& token : penalised_) {
    token.logit = token.logit > 0 ? token.logit / penalty : token.logit * penalty;
  }
}

// SplitMix64 (Steele, Lea, Flood 2014): 53 of its bits in [0, 1).
double Sampler::NextUniform() {
  random_state_ += 0x9E3779B97F4A7C15u;
  uint64_t z = random_state_;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  z ^= z >> 31;
  return static_cast<double>(z >> 11) * 0x1.0p-53;
}

TokenId Sampler::Draw(std::span<const ScoredToken> candidates) {
  const float largest = candidates.front().logit;
  weights_.clear();
  weights_.reserve(candidates.size());
  double total = 0;
  for (const ScoredToken& c : candidates) {
    weights_.push_back(std::exp(static_cast<double>(c.logit) - largest));
    total += weights_.back();
  }
  // top-p: the shortest head that holds the share; min-p: what is likely enough beside the best.
  size_t keep = 0;
  double held = 0;
  while (keep < weights_.size() && (keep == 0 || held < options_.top_p * total) &&
         weights_[keep] >= options_.min_p) {
    held += weights_[keep++];
  }
  keep = std::max<size_t>(keep, 1);
  double sum = 0;
  for (size_t i = 0; i < keep; ++i) {
    const double logit = candidates[i].logit - static_cast<double>(largest);
    weights_[i] = std::exp(logit / options_.temperature);
    sum += weights_[i];
  }
  double left = NextUniform() * sum;
  for (size_t i = 0; i + 1 < keep; ++i) {
    left -= weights_[i];
    if (left < 0) return TokenId(candidates[i].id);
  }
  return TokenId(candidates[keep - 1].id);
}

TokenId Sampler::Sample(std::span<const float> logits, std::span<const TokenId> history) {
  CAIRN_CHECK(!logits.empty());
  Penalise(logits, history);
  if (options_.temperature == 0) return TokenId(LikeliestToken(logits, penalised_));
  const auto all = static_cast<int64_t>(logits.size());
  return Draw(likely_.Find(logits, penalised_, options_.top_k == 0 ? all : options_.top_k));
}

}  // namespace cairn
