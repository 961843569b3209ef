// TokenChooser: the next token of one answer, and how likely the model found it.
//
// Order: the request's bias, the constraint, the sampler. Log probabilities are of the model's own
// logits, before all of these, and summed by rising id: the same bits wherever the row stood in a
// batch. After the first call nothing is allocated. Thread-compatible.
#ifndef CAIRN_ENGINE_TOKEN_CHOOSER_H_
#define CAIRN_ENGINE_TOKEN_CHOOSER_H_

#include <memory>
#include <span>
#include <vector>

#include "cairn/base/ids.h"
#include "cairn/engine/engine.h"
#include "cairn/engine/likely_tokens.h"
#include "cairn/engine/sampler.h"

namespace cairn {

class TokenChooser {
 public:
  struct Choice {
    TokenId token;
    bool possible = true;                     // false: bias and constraint left no token
    float logprob = 0;                        // if wanted
    std::span<const TokenLogprob> likeliest;  // if wanted; valid until the next call
  };
  // Working memory, one for any number of choosers.
  struct Scratch {
    std::vector<float> scores;
    std::vector<TokenLogprob> likeliest;
    LikelyTokens likely;
  };

  // `request` must outlive the chooser; its constraint is cloned.
  TokenChooser(const GenerationRequest& request, int32_t answer);

  // `history` are the tokens so far, prompt included.
  Choice Choose(std::span<const float> logits, std::span<const TokenId> history, Scratch& scratch);
  // The token is the answer's next one.
  void Accept(TokenId token);

 private:
  void AddLogprobs(std::span<const float> logits, Choice& choice, Scratch& scratch) const;

  const GenerationRequest& request_;
  Sampler sampler_;
  std::unique_ptr<TokenConstraint> constraint_;
};

}  // namespace cairn

#endif  // CAIRN_ENGINE_TOKEN_CHOOSER_H_
