#include "cairn/eval/divergence.h"

#include <algorithm>
#include <cmath>

#include "cairn/base/check.h"

namespace cairn {
namespace {

// Exponentials in single precision, sums in double: what comes out is right to about 1e-7.
double LogSumOf(std::span<const float> logits, float largest) {
  double sum = 0;
  for (const float logit : logits) sum += std::exp(logit - largest);
  return static_cast<double>(largest) + std::log(sum);
}

double At(std::span<const float> logits, TokenId token) {
  return static_cast<double>(logits[static_cast<size_t>(token.value())]);
}

float LargestOf(std::span<const float> logits) {
  float largest = logits.front();
  for (const float logit : logits) largest = std::max(largest, logit);
  return largest;
}

}  // namespace

TokenId LikeliestOf(std::span<const float> logits) {
  CAIRN_CHECK(!logits.empty());
  const auto at = std::ranges::find(logits, LargestOf(logits));
  return TokenId(static_cast<int32_t>(at == logits.end() ? 0 : at - logits.begin()));
}

double NegativeLogProbability(std::span<const float> logits, TokenId token) {
  return LogSumOf(logits, LargestOf(logits)) - At(logits, token);
}

double LeadOf(std::span<const float> logits) {
  CAIRN_CHECK(logits.size() >= 2);
  float first = std::max(logits[0], logits[1]);
  float second = std::min(logits[0], logits[1]);
  for (const float logit : logits.subspan(2)) {
    second = std::max(second, std::min(logit, first));
    first = std::max(logit, first);
  }
  return static_cast<double>(first) - static_cast<double>(second);
}

void ReferenceRows::Resize(int64_t rows) {
  logits_.resize(Begin(rows));
  probabilities_.resize(Begin(rows));
  normalisers_.resize(static_cast<size_t>(rows));
  likeliest_.resize(static_cast<size_t>(rows));
  next_.resize(static_cast<size_t>(rows));
}

double ReferenceRows::Set(int64_t row, std::span<const float> logits, TokenId next) {
  CAIRN_CHECK(static_cast<int64_t>(logits.size()) == vocabulary_);
  const auto at = static_cast<size_t>(row);
  std::ranges::copy(logits, logits_.begin() + static_cast<ptrdiff_t>(Begin(row)));
  likeliest_[at] = LikeliestOf(logits);
  next_[at] = next;
  normalisers_[at] = LogSumOf(logits, static_cast<float>(At(logits, likeliest_[at])));
  const auto normaliser = static_cast<float>(normalisers_[at]);
  std::ranges::transform(logits, probabilities_.begin() + static_cast<ptrdiff_t>(Begin(row)),
                         [&](float logit) { return std::exp(logit - normaliser); });
  return normalisers_[at] - At(logits, next);
}

TokenDivergence ReferenceRows::Compare(int64_t row, std::span<const float> logits) const {
  CAIRN_CHECK(static_cast<int64_t>(logits.size()) == vocabulary_);
  const auto at = static_cast<size_t>(row);
  const float* reference = logits_.data() + Begin(row);
  const float* probability = probabilities_.data() + Begin(row);
  const TokenId likeliest = LikeliestOf(logits);
  const double normaliser = LogSumOf(logits, static_cast<float>(At(logits, likeliest)));
  // Differences of log probabilities, not of logits: p's rounding then weighs small numbers.
  const double shift = normaliser - normalisers_[at];
  double kl = 0;
  for (size_t i = 0; i < logits.size(); ++i) {
    const double difference = static_cast<double>(reference[i]) - static_cast<double>(logits[i]);
    kl += static_cast<double>(probability[i]) * (difference + shift);
  }
  return {std::max(kl, 0.0), normaliser - At(logits, next_[at]), likeliest_[at] == likeliest};
}

}  // namespace cairn
