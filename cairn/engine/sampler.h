// Sampler: logits to the next token, seeded and reproducible.
//
// Order of the steps as in llama.cpp: repetition penalty, top-k, top-p, min-p, temperature, draw.
// Temperature 0 takes the likeliest token (the lowest id of equal ones). Only the K likeliest
// tokens are ever sorted. Thread-compatible.
#ifndef CAIRN_ENGINE_SAMPLER_H_
#define CAIRN_ENGINE_SAMPLER_H_

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "cairn/base/ids.h"
#include "cairn/base/status.h"

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
  struct Candidate {
    int32_t id;
    float logit;
  };

  void Penalise(std::span<const TokenId> history);
  void KeepLikeliest(int64_t count);
  TokenId Draw();
  double NextUniform();

  SamplingOptions options_;
  uint64_t random_state_;
  std::vector<Candidate> candidates_;
  std::vector<double> weights_;
};

}  // namespace cairn

#endif  // CAIRN_ENGINE_SAMPLER_H_
