#include "cairn/engine/token_chooser.h"

#include <algorithm>
#include <cmath>

namespace cairn {
namespace {

SamplingOptions WithSeed(SamplingOptions options, int32_t answer) {
  options.seed += static_cast<uint64_t>(answer);
  return options;
}

float At(std::span<const float> row, TokenId token) {
  return row[static_cast<size_t>(token.value())];
}

// Makes a log probability of a logit: what it is below the largest, less ln of the sum of all. One
// after the other, so that large logits leave something.
struct Logprob {
  explicit Logprob(std::span<const float> logits)
      : largest(static_cast<double>(*std::ranges::max_element(logits))) {
    double sum = 0;
    for (const float logit : logits) sum += std::exp(static_cast<double>(logit) - largest);
    log_of_sum = std::log(sum);
  }
  float operator()(float logit) const {
    return static_cast<float>(static_cast<double>(logit) - largest - log_of_sum);
  }

  double largest;
  double log_of_sum = 0;
};

}  // namespace

TokenChooser::TokenChooser(const GenerationRequest& request, int32_t answer)
    : request_(request),
      sampler_(WithSeed(request.sampling, answer)),
      constraint_(request.constraint == nullptr ? nullptr : request.constraint->Clone()) {}

TokenChooser::Choice TokenChooser::Choose(std::span<const float> logits,
                                          std::span<const TokenId> history, Scratch& scratch) {
  std::span<const float> scores = logits;
  if (!request_.logit_bias.empty() || constraint_ != nullptr) {
    scratch.scores.assign(logits.begin(), logits.end());
    for (const auto& [token, bias] : request_.logit_bias) {
      scratch.scores[static_cast<size_t>(token.value())] += bias;
    }
    if (constraint_ != nullptr) constraint_->Restrict(scratch.scores);
    scores = scratch.scores;
  }
  Choice choice;
  choice.token = sampler_.Sample(scores, history);
  choice.possible = At(scores, choice.token) > -INFINITY;
  if (request_.wants_logprobs || request_.top_logprobs > 0) AddLogprobs(logits, choice, scratch);
  return choice;
}

void TokenChooser::AddLogprobs(std::span<const float> logits, Choice& choice,
                               Scratch& scratch) const {
  const Logprob logprob(logits);
  choice.logprob = logprob(At(logits, choice.token));
  if (request_.top_logprobs == 0) return;
  scratch.likeliest.clear();
  for (const ScoredToken& token : scratch.likely.Find(logits, {}, request_.top_logprobs)) {
    scratch.likeliest.push_back({.token = TokenId(token.id), .logprob = logprob(token.logit)});
  }
  choice.likeliest = scratch.likeliest;
}

void TokenChooser::Accept(TokenId token) {
  if (constraint_ != nullptr) constraint_->Accept(token);
}

}  // namespace cairn
