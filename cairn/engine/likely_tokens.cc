#include "cairn/engine/likely_tokens.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "cairn/base/check.h"

namespace cairn {
namespace {

constexpr auto kLikelier = [](const ScoredToken& a, const ScoredToken& b) {
  return a.logit > b.logit || (a.logit == b.logit && a.id < b.id);
};

// Logits whose largest is found before any of them is looked at alone: first of a long block, then,
// if that may hold something, of a short one.
constexpr int32_t kLongBlock = 256;
// So many maxima side by side make a loop that compilers turn into vectors.
constexpr int32_t kShortBlock = 32;
// Found tokens above the wanted number that are kept before the unlikely ones are dropped.
constexpr size_t kSlackMin = 64;

// NaN compares false to everything and never is the largest.
template <int32_t block>
float LargestOf(const float* logits) {
  constexpr size_t kLanes = kShortBlock;
  std::array<float, kLanes> largest;
  largest.fill(-INFINITY);
  for (int32_t i = 0; i < block; i += kShortBlock) {
    for (size_t lane = 0; lane < kLanes; ++lane) {
      const float logit = logits[static_cast<size_t>(i) + lane];
      largest[lane] = logit > largest[lane] ? logit : largest[lane];
    }
  }
  for (size_t half = kLanes / 2; half > 0; half /= 2) {
    for (size_t lane = 0; lane < half; ++lane) {
      largest[lane] = largest[lane + half] > largest[lane] ? largest[lane + half] : largest[lane];
    }
  }
  return largest[0];
}

// Calls one(token) by rising id for those of [first, end) that may pass `threshold`, which `one`
// may raise.
template <class One>
void ForLarger(const float* logits, int32_t first, int32_t end, const float& threshold, One one) {
  while (first < end) {
    if (end - first >= kLongBlock && !(LargestOf<kLongBlock>(logits + first) > threshold)) {
      first += kLongBlock;
      continue;
    }
    const int32_t long_end = std::min(end, first + kLongBlock);
    while (first < long_end) {
      const int32_t short_end = std::min(long_end, first + kShortBlock);
      if (short_end - first < kShortBlock || LargestOf<kShortBlock>(logits + first) > threshold) {
        for (int32_t id = first; id < short_end; ++id) one({id, logits[id]});
      }
      first = short_end;
    }
  }
}

float ScoreOf(float logit) { return std::isnan(logit) ? -INFINITY : logit; }

// Calls range(first, end) for the ids between the changed ones and one(token) for each of those,
// all by rising id.
template <class Range, class One>
void WalkById(std::span<const float> logits, std::span<const ScoredToken> changed, Range range,
              One one) {
  int32_t next = 0;
  for (const ScoredToken& token : changed) {
    range(next, token.id);
    one(token);
    next = token.id + 1;
  }
  range(next, static_cast<int32_t>(logits.size()));
}

}  // namespace

int32_t LikeliestToken(std::span<const float> logits, std::span<const ScoredToken> changed) {
  CAIRN_CHECK(!logits.empty());
  // By rising id a later token must be larger; token 0 wins where all are minus infinity.
  ScoredToken best = {0, -INFINITY};
  const auto one = [&best](const ScoredToken& token) {
    if (token.logit > best.logit) best = token;
  };
  const auto range = [&](int32_t first, int32_t end) {
    ForLarger(logits.data(), first, end, best.logit, one);
  };
  WalkById(logits, changed, range, one);
  return best.id;
}

void LikelyTokens::Prune() {
  const auto kth = found_.begin() + static_cast<ptrdiff_t>(count_) - 1;
  std::nth_element(found_.begin(), kth, found_.end(), kLikelier);
  found_.resize(count_);
  threshold_ = found_.back().logit;
  full_ = true;
}

void LikelyTokens::Offer(const ScoredToken& token) {
  // By rising id an equal logit comes too late.
  if (full_ && !(token.logit > threshold_)) return;
  found_.push_back({token.id, ScoreOf(token.logit)});
  if (found_.size() == most_) Prune();
}

std::span<const ScoredToken> LikelyTokens::Find(std::span<const float> logits,
                                                std::span<const ScoredToken> changed,
                                                int64_t count) {
  CAIRN_CHECK(count > 0);
  count_ = std::min(logits.size(), static_cast<size_t>(count));
  full_ = false;
  found_.clear();
  // With a share of the count as slack, dropping costs a few steps for each token that was kept.
  most_ = count_ + std::max(kSlackMin, count_ / 4);
  found_.reserve(std::min(most_, logits.size()));
  const auto one = [this](const ScoredToken& token) { Offer(token); };
  const auto range = [&](int32_t first, int32_t end) {
    // What fills the first places need not be large.
    for (; first < end && !full_; ++first) one({first, logits[static_cast<size_t>(first)]});
    ForLarger(logits.data(), first, end, threshold_, one);
  };
  WalkById(logits, changed, range, one);
  if (found_.size() > count_) Prune();
  std::ranges::sort(found_, kLikelier);
  return found_;
}

}  // namespace cairn
