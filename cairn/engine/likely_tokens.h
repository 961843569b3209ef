// The likeliest of many tokens: one pass over the logits, no copy of them and no sort of more than
// was asked for.
//
// Likelier is the larger logit and, of equal ones, the lower id, so that no result depends on how
// it was found. A NaN counts as minus infinity. Some tokens may have another score than their
// logit: what a repetition penalty changes.
#ifndef CAIRN_ENGINE_LIKELY_TOKENS_H_
#define CAIRN_ENGINE_LIKELY_TOKENS_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace cairn {

struct ScoredToken {
  int32_t id;
  float logit;
};

// `changed` are scores to use in place of logits, by rising id, each inside the vocabulary.
// REQUIRES: logits aren't empty. Pure; thread-safe.
int32_t LikeliestToken(std::span<const float> logits, std::span<const ScoredToken> changed);

// Finds the `count` likeliest; keeps its memory from call to call. Thread-compatible.
class LikelyTokens {
 public:
  // Sorted, likeliest first, at most the whole vocabulary; valid until the next call.
  // REQUIRES: count > 0; `changed` as above.
  std::span<const ScoredToken> Find(std::span<const float> logits,
                                    std::span<const ScoredToken> changed, int64_t count);

 private:
  void Offer(const ScoredToken& token);
  void Prune();

  std::vector<ScoredToken> found_;  // of those seen, the likeliest and perhaps some more
  size_t count_ = 0;
  size_t most_ = 0;      // of found_
  float threshold_ = 0;  // what a later token must pass, once `full_`
  bool full_ = false;
};

}  // namespace cairn

#endif  // CAIRN_ENGINE_LIKELY_TOKENS_H_
