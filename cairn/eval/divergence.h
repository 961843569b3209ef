// How far a row of logits is from the reference's row for the same token.
//
// KL(reference || other) = sum p (log p - log q) over the whole vocabulary. Equal rows give exactly
// 0; what is below 1e-7 may be rounding. Thread-safe where const.
#ifndef CAIRN_EVAL_DIVERGENCE_H_
#define CAIRN_EVAL_DIVERGENCE_H_

#include <cstdint>
#include <span>
#include <vector>

#include "cairn/base/ids.h"

namespace cairn {

// The token with the largest logit, the lowest id of equal ones. REQUIRES: not empty.
TokenId LikeliestOf(std::span<const float> logits);
// In nats.
double NegativeLogProbability(std::span<const float> logits, TokenId token);
// By how much the likeliest token's log probability is above the second's. REQUIRES: two tokens.
double LeadOf(std::span<const float> logits);

struct TokenDivergence {
  double kl = 0;
  double nats = 0;  // -log of the probability that the other row gives to the token that came
  bool same_likeliest = false;
};

// Rows of a reference with what every comparison needs of them; reused from chunk to chunk.
class ReferenceRows {
 public:
  explicit ReferenceRows(int64_t vocabulary) : vocabulary_(vocabulary) {}

  // Makes room for `rows` rows; what was there is forgotten.
  void Resize(int64_t rows);
  // Different rows may be set by several threads. `next` is the token that came; returns its nats.
  double Set(int64_t row, std::span<const float> logits, TokenId next);
  TokenDivergence Compare(int64_t row, std::span<const float> logits) const;

 private:
  size_t Begin(int64_t row) const { return static_cast<size_t>(row * vocabulary_); }

  int64_t vocabulary_;
  std::vector<float> logits_;
  std::vector<float> probabilities_;
  std::vector<double> normalisers_;  // log of the sum of exp(logit)
  std::vector<TokenId> likeliest_;
  std::vector<TokenId> next_;
};

}  // namespace cairn

#endif  // CAIRN_EVAL_DIVERGENCE_H_
