// Sampler: logits to the next token, seeded and reproducible.
//
// Order of the steps as in llama.cpp: repetition penalty, top-k, top-p, min-p, temperature, draw.
// Temperature 0 takes the likeliest token (the lowest id of equal ones). Of the K likeliest tokens
// (likely_tokens.h) alone is there ever a copy; the logits are read once. After the first call
// nothing is allocated. Thread-compatible.
#ifndef CAIRN_ENGINE_SAMPLER_H_
#define CAIRN_ENGINE_SAMPLER_H_

#include <cstdint>
#include <span>
#include <vector>

#include "cairn/base/ids.h"
#include "cairn/base/status.h"
#include "cairn/engine/likely_tokens.h"

namespace cairn {

struct SamplingOptions {
  double temperature = 0.8;
  int64_t top_k = 40;  // 0: all
  double top_p = 0.95;
  double min_p = 0.05;
  double repetition_penalty = 1.0;  // 1: none
  int64_t repetition_window = 64;   // how many last tokens are penalised; 0: none, -1: all
  uint64_t seed = 0;
};

// kInvalidArgument with the option's name and range.
Status CheckSamplingOptions(const SamplingOptions& options);

class Sampler {
 public:
  // REQUIRES: CheckSamplingOptions(options).
  explicit Sampler(const SamplingOptions& options);

  // `history` are the tokens so far, prompt included.
  TokenId Sample(std::span<const float> logits, std::span<const TokenId> history);

 private:
  void Penalise(std::span<const float> logits, std::span<const TokenId> history);
  // REQUIRES: sorted, likeliest first.
  TokenId Draw(std::span<const ScoredToken> candidates);
  double NextUniform();

  SamplingOptions options_;
  uint64_t random_state_;
  std::vector<ScoredToken> penalised_;  // by id
  LikelyTokens likely_;
  std::vector<double> weights_;
};

}  // namespace cairn

#endif  // CAIRN_ENGINE_SAMPLER_H_
