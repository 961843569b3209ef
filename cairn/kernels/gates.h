// Element-wise functions around recurrences: gates, step widths and decay factors.
//
// Each gives the same bits for the same numbers, whatever stands beside them and whatever the
// instruction set. `out` may be the first input. Thread-safe.
#ifndef CAIRN_KERNELS_GATES_H_
#define CAIRN_KERNELS_GATES_H_

#include <cstdint>

namespace cairn {

void Exp(const float* x, int64_t width, float* out);  // finite for x up to 88, clamped above
void ExpMinusOne(const float* x, int64_t width, float* out);
void Sigmoid(const float* x, int64_t width, float* out);
void Silu(const float* x, int64_t width, float* out);
void ReluSquared(const float* x, int64_t width, float* out);  // max(x, 0)^2

// log(1 + exp(x))
void Softplus(const float* x, int64_t width, float* out);

// x[i] *= sigmoid(gate[i]) and x[i] *= silu(gate[i])
void TimesSigmoid(float* x, const float* gate, int64_t width);
void TimesSilu(float* x, const float* gate, int64_t width);

// -exp(x): decay rates from a stored A_log.
void NegativeExp(const float* x, int64_t width, float* out);

// Step widths of Mamba and of gated delta rules: clamp(softplus(x + bias), low, high).
struct StepLimits {
  float low = 0;
  float high = 3.4e38f;
};
void StepWidths(const float* x, const float* bias, StepLimits limits, int64_t width, float* out);

// exp(rates[i] * steps[i]), rates being negative.
void DecayFactors(const float* steps, const float* rates, int64_t width, float* out);

// The same for `heads` rows of `width` steps, one behind the other, with one rate each.
void DecayFactorsOfHeads(const float* steps, const float* rates, int64_t heads, int64_t width,
                         float* out);

// Bounded decays of KDA's later forms: exp(bound * sigmoid(slopes[head] * (x + bias))), bound being
// negative and slopes exp(A_log). `x` and `bias` are `heads` rows of `width`; no bias: null.
struct BoundedDecay {
  const float* bias = nullptr;
  const float* slopes = nullptr;
  float bound = 0;
  int64_t heads = 0;
  int64_t width = 0;
};
void BoundedDecayFactors(const BoundedDecay& decay, const float* x, float* out);

}  // namespace cairn

#endif  // CAIRN_KERNELS_GATES_H_
