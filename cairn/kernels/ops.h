// The small operations between matrix products: norms, rotation, activations, caps.
//
// Each works on one token's vector and gives the same bits for the same vector, whatever else is in
// the batch and whatever the instruction set. Widths are any positive number. Thread-safe.
#ifndef CAIRN_KERNELS_OPS_H_
#define CAIRN_KERNELS_OPS_H_

#include <cstdint>

namespace cairn {

// out[i] = x[i] / sqrt(mean(x^2) + epsilon) * weight[i]. `out` may be `x`.
void RmsNorm(const float* x, const float* weight, double epsilon, int64_t width, float* out);

// What `weight` . RmsNorm(x) is, the norm being without a weight.
float NormedDot(const float* x, const float* weight, double epsilon, int64_t width);

// The same as RmsNorm for `heads` vectors of `width`, one behind the other, with one weight.
void RmsNormHeads(float* x, const float* weight, double epsilon, int64_t heads, int64_t width);

// Turns the leading 2 * pairs channels of each of `heads` heads of `width` channels by the angles
// whose cosines and sines are given (`pairs` of each).
void RotateHalfSplit(float* x, const float* cosines, const float* sines, int64_t pairs,
                     int64_t heads, int64_t width);
void RotateInterleaved(float* x, const float* cosines, const float* sines, int64_t pairs,
                       int64_t heads, int64_t width);

// gate[i] = activation(gate[i]) * up[i]
void SiluTimes(float* gate, const float* up, int64_t width);
void GeluTanhTimes(float* gate, const float* up, int64_t width);
void GeluErfTimes(float* gate, const float* up, int64_t width);
// Gate clamped from above, up from both sides, to `limit`:
// gate[i] = (up[i] + offset) * gate[i] * sigmoid(alpha * gate[i])
void ClippedSiluTimes(float* gate, const float* up, float limit, float alpha, float offset,
                      int64_t width);
// gate[i] = bent(up[i], up_limit) * bent(gate[i], limit) * sigmoid(gate[i]), where bent(x, l) is
// l * tanh(x / l); up stays as it is where up_limit is 0.
void SituTimes(float* gate, const float* up, float limit, float up_limit, int64_t width);
// gate[i] = sigmoid(gate[i]) * x[i]
void SigmoidTimes(float* gate, const float* x, int64_t width);

// x[i] += y[i]
void AddTo(float* x, const float* y, int64_t width);

// x[i] += factor * y[i]
void AddScaled(float* x, const float* y, float factor, int64_t width);

// x[i] *= factor
void Scale(float* x, float factor, int64_t width);

// x[i] = cap * tanh(x[i] / cap)
void SoftCap(float* x, float cap, int64_t width);

// log(sum(exp(x))) in double precision, summed from index 0 upwards.
double LogSumExp(const float* x, int64_t width);

}  // namespace cairn

#endif  // CAIRN_KERNELS_OPS_H_
