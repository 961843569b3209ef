#include "cairn/engine/sampler.h"

#include <algorithm>
#include <cmath>

#include "cairn/base/check.h"

namespace cairn {
namespace {

// Likelier first; of equal logits the lower id, so that no result depends on the sort.
constexpr auto kLikelier = [](const auto& a, const auto& b) {
  return a.logit > b.logit || (a.logit == b.logit && a.id < b.id);
};

}  // namespace

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

void Sampler::Penalise(std::span<const TokenId> history) {
  if (options_.repetition_penalty == 1.0 || options_.repetition_window == 0) return;
  const auto window = static_cast<size_t>(options_.repetition_window);
  if (options_.repetition_window > 0 && history.size() > window) history = history.last(window);
  std::vector<TokenId> seen(history.begin(), history.end());
  std::ranges::sort(seen);
  const auto repeated = std::ranges::unique(seen);
  seen.erase(repeated.begin(), repeated.end());
  const auto penalty = static_cast<float>(options_.repetition_penalty);
  for (const TokenId id : seen) {
    if (id.value() < 0 || static_cast<size_t>(id.value()) >= candidates_.size()) continue;
    float& logit = candidates_[static_cast<size_t>(id.value())].logit;
    logit = logit > 0 ? logit / penalty : logit * penalty;
  }
}

void Sampler::KeepLikeliest(int64_t count) {
  const auto keep = std::min(candidates_.size(), static_cast<size_t>(count));
  std::partial_sort(candidates_.begin(), candidates_.begin() + static_cast<ptrdiff_t>(keep),
                    candidates_.end(), kLikelier);
  candidates_.resize(keep);
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

// `candidates_` is sorted, likeliest first.
TokenId Sampler::Draw() {
  const float largest = candidates_.front().logit;
  weights_.clear();
  double total = 0;
  for (const Candidate& c : candidates_) {
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
    const double logit = candidates_[i].logit - static_cast<double>(largest);
    weights_[i] = std::exp(logit / options_.temperature);
    sum += weights_[i];
  }
  double left = NextUniform() * sum;
  for (size_t i = 0; i + 1 < keep; ++i) {
    left -= weights_[i];
    if (left < 0) return TokenId(candidates_[i].id);
  }
  return TokenId(candidates_[keep - 1].id);
}

TokenId Sampler::Sample(std::span<const float> logits, std::span<const TokenId> history) {
  CAIRN_CHECK(!logits.empty());
  candidates_.clear();
  for (size_t i = 0; i < logits.size(); ++i) {
    // A NaN compares false to everything and would break the order.
    const float logit = std::isnan(logits[i]) ? -INFINITY : logits[i];
    candidates_.push_back({static_cast<int32_t>(i), logit});
  }
  Penalise(history);
  if (options_.temperature == 0) {
    return TokenId(std::ranges::min_element(candidates_, kLikelier)->id);
  }
  KeepLikeliest(options_.top_k == 0 ? static_cast<int64_t>(candidates_.size()) : options_.top_k);
  return Draw();
}

}  // namespace cairn
