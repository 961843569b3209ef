// Norm: one normalisation of a model with its weights as they are to be used.
//
// Immutable after loading; thread-safe.
#ifndef CAIRN_MODELS_NORM_H_
#define CAIRN_MODELS_NORM_H_

#include <cstdint>
#include <vector>

#include "cairn/spec/model_spec.h"

namespace cairn {

struct Norm {
  NormKind kind = NormKind::kRms;
  double epsilon = 0;
  std::vector<float> weight;  // empty: there is no norm
  std::vector<float> bias;    // empty: none

  bool empty() const { return weight.empty(); }
  int64_t width() const { return static_cast<int64_t>(weight.size()); }
  // One vector of width() channels; `out` may be `x`.
  void Apply(const float* x, float* out) const;
  // `count` vectors one behind the other, in place.
  void ApplyToHeads(float* x, int64_t count) const;
};

// Divides by the root mean square and nothing else.
Norm UnitNorm(int64_t width, double epsilon);

}  // namespace cairn

#endif  // CAIRN_MODELS_NORM_H_
