#include "cairn/models/norm.h"

#include <cmath>

#include "cairn/kernels/ops.h"

namespace cairn {
namespace {

// Sums in double precision from channel 0 upwards.
void LayerNorm(const Norm& norm, const float* x, float* out) {
  const size_t width = norm.weight.size();
  double sum = 0;
  for (size_t i = 0; i < width; ++i) sum += x[i];
  const double mean = sum / static_cast<double>(width);
  double squares = 0;
  for (size_t i = 0; i < width; ++i) squares += (x[i] - mean) * (x[i] - mean);
  const double scale = 1 / std::sqrt(squares / static_cast<double>(width) + norm.epsilon);
  for (size_t i = 0; i < width; ++i) {
    const auto normed = static_cast<float>((x[i] - mean) * scale);
    out[i] = normed * norm.weight[i] + (norm.bias.empty() ? 0.0f : norm.bias[i]);
  }
}

}  // namespace

void Norm::Apply(const float* x, float* out) const {
  switch (kind) {
    case NormKind::kRms:
      RmsNorm(x, weight.data(), epsilon, width(), out);
      return;
    case NormKind::kLayer:
      LayerNorm(*this, x, out);
      return;
  }
}

void Norm::ApplyToHeads(float* x, int64_t count) const {
  for (int64_t i = 0; i < count; ++i) Apply(x + i * width(), x + i * width());
}

Norm UnitNorm(int64_t width, double epsilon) {
  Norm norm;
  norm.epsilon = epsilon;
  norm.weight.assign(static_cast<size_t>(width), 1.0f);
  return norm;
}

}  // namespace cairn
